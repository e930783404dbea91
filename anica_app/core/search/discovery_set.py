"""The discoveries of a campaign, or of one block: what they subsume, what a generalisation adds (§8.1.6)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from anica_app.core.domain.abstract import AbstractBlock
from anica_app.core.search.findings import Became, FoundDiscovery, Generalised
from anica_app.core.search.generalising import GeneralisingTrace, RoundCandidate, generalise_all, minimise
from anica_app.core.search.judging import JudgedAnswers
from anica_app.core.search.panel import Driver, World

_EXAMPLES = 100
"""Random blocks by which one abstract block is found to include another."""


class DiscoverySet:
    """Discoveries in the order of their numbers.

    `subsumed` has the discovery that includes another: those form no part of the result (Algorithm 8.1,
    line 11). `excluded` are abstract blocks that shall not be discovered again.
    """

    def __init__(
        self,
        world: World,
        discoveries: Sequence[FoundDiscovery] = (),
        subsumed: dict[int, int] | None = None,
        excluded: Sequence[AbstractBlock] = (),
    ) -> None:
        self._world = world
        self.discoveries = list(discoveries)
        self.subsumed = dict(subsumed or {})
        self._excluded = tuple(excluded)
        self.generalisations = 0
        self._examples: dict[AbstractBlock, list[AbstractBlock]] = {}

    @property
    def standing(self) -> list[FoundDiscovery]:
        """The discoveries that no later one includes."""
        return [one for one in self.discoveries if one.number not in self.subsumed]

    def knows(self, abstract: AbstractBlock, kind: str) -> bool:
        """Whether a discovery of this kind, or what was excluded, subsumes the abstract block."""
        subsumes = self._world.domain.subsumes
        if any(subsumes(one, abstract) for one in self._excluded):
            return True
        return self._includer(abstract, kind) is not None

    def admit(self, candidate: RoundCandidate, traces: Sequence[GeneralisingTrace]) -> list[Generalised]:
        """Take in the generalisations of one block: those that say something new become discoveries.

        Of results that include one another only the more general becomes one; of those that mean the same,
        the one with the fewest constraints.
        """
        best = self._maximal(traces)
        ranked = sorted(traces, key=lambda trace: trace not in best)
        became = {trace.order: self._admit(candidate, trace) for trace in ranked}
        admitted = []
        for trace in traces:
            what, discovery = became[trace.order]
            admitted.append(Generalised(self.generalisations, candidate, trace, what, discovery))
            self.generalisations += 1
        return admitted

    def _admit(self, candidate: RoundCandidate, trace: GeneralisingTrace) -> tuple[Became, int | None]:
        if any(self._world.domain.subsumes(one, trace.result) for one in self._excluded):
            return Became.SUBSUMED, None
        includer = self._includer(trace.result, candidate.kind)
        if includer is None and not trace.concrete:
            includer = self._redundant(trace.result, candidate.kind)
        if includer is not None:
            same = includer.abstract == trace.result
            return (Became.DUPLICATE if same else Became.SUBSUMED), includer.number
        new = self._discovery(candidate, trace)
        if not new.concrete:
            self._subsume(new)
        self.discoveries.append(new)
        return (Became.CONCRETE if new.concrete else Became.DISCOVERY), new.number

    def _subsume(self, new: FoundDiscovery) -> None:
        for one in self.standing:
            if self._alike(one.kind, new.kind) and self.includes(new.abstract, one.abstract):
                self.subsumed[one.number] = new.number

    def _discovery(self, candidate: RoundCandidate, trace: GeneralisingTrace) -> FoundDiscovery:
        witness = candidate.witness
        return FoundDiscovery(
            number=len(self.discoveries),
            abstract=trace.result,
            kind=candidate.kind,
            code=witness.code,
            start_code=candidate.start.code,
            length=len(witness.block),
            interestingness=witness.verdict.value if trace.concrete else trace.result_check.mean,
            generality=self._world.domain.generality(trace.result),
            concrete=trace.concrete,
        )

    def includes(self, general: AbstractBlock, special: AbstractBlock) -> bool:
        """Whether the one subsumes the other, or at least every one of its random blocks.

        A rotation may fit each of them although none fits all. The blocks are the same ones every time.
        """
        subsumes = self._world.domain.subsumes
        if subsumes(general, special):
            return True
        return all(subsumes(general, example) for example in self._examples_of(special))

    def _examples_of(self, abstract: AbstractBlock) -> Iterator[AbstractBlock]:
        """What represents random blocks of an abstract block; itself where none can be sampled."""
        known = self._examples.setdefault(abstract, [])
        yield from known
        if not known or len(known) < _EXAMPLES:
            domain = self._world.domain
            text = json.dumps(domain.document(abstract), sort_keys=True)
            for number in range(len(known), _EXAMPLES):
                block = domain.sample(abstract, self._world.random("example", number, text))
                known.append(abstract if block is None else domain.represent(block))
                yield known[-1]

    def _includer(self, abstract: AbstractBlock, kind: str) -> FoundDiscovery | None:
        """The first standing discovery of this kind that subsumes the abstract block.

        A concrete one says nothing of other blocks, but is not found again with other registers.
        """
        subsumes = self._world.domain.subsumes
        for one in self.standing:
            if not self._alike(one.kind, kind):
                continue
            if one.abstract == abstract or (not one.concrete and subsumes(one.abstract, abstract)):
                return one
        return None

    def _redundant(self, abstract: AbstractBlock, kind: str) -> FoundDiscovery | None:
        """The first standing discovery of this kind that includes a result."""
        for one in self.standing:
            if self._alike(one.kind, kind) and not one.concrete and self.includes(one.abstract, abstract):
                return one
        return None

    def _maximal(self, traces: Sequence[GeneralisingTrace]) -> list[GeneralisingTrace]:
        """Those whose results no other one includes; of several that mean the same what says least."""
        kept: list[GeneralisingTrace] = []
        constraints = self._world.domain.expansions
        for trace in sorted(traces, key=lambda one: len(constraints(one.result))):
            if any(self.includes(one.result, trace.result) for one in kept):
                continue
            kept = [one for one in kept if not self.includes(trace.result, one.result)]
            kept.append(trace)
        return kept

    def _alike(self, kind: str, other: str) -> bool:
        return kind == other or not self._world.settings.kinds_apart


class BlockExplanation:
    """The generalisations of one interesting block in all orders, and what they come to.

    `shorten`: it is minimised first. `look_up` is called now and then.
    """

    def __init__(
        self,
        world: World,
        driver: Driver,
        start: JudgedAnswers,
        *,
        shorten: bool,
        look_up: Callable[[], None] = lambda: None,
    ) -> None:
        def expired() -> bool:
            look_up()
            return False

        witness = start
        if shorten:
            (found,) = driver.carry_out([minimise(world, start, ("minimise", 0))])
            witness = found or start
        self.candidate: RoundCandidate = RoundCandidate(
            0, start, witness, world.domain.represent(witness.block)
        )
        traces = generalise_all(world, driver, [self.candidate], expired)
        discovery_set: DiscoverySet = DiscoverySet(world)
        self.generalised: list[Generalised] = discovery_set.admit(self.candidate, traces[0])
        self.discoveries: list[FoundDiscovery] = discovery_set.discoveries
        self.subsumed = discovery_set.subsumed
