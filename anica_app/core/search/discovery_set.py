"""The discoveries of a campaign, or of one block: subsumption among them, and the outcome of generalisations
(§8.1.6).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from anica_app.core.domain.abstract import AbstractBlock
from anica_app.core.search.campaign_state import CampaignDiscovery, CampaignGeneralisation, Outcome
from anica_app.core.search.generalisation import GeneralisingTrace, RoundCandidate, generalise_all, minimise
from anica_app.core.search.interestingness import JudgedBlock
from anica_app.core.search.search_tasks import Driver, SearchContext

_EXAMPLES = 100
"""Random blocks that must be covered for one abstract block to cover another."""


class DiscoverySet:
    """Discoveries in the order of their numbers.

    `subsumed`: {number of a discovery: number of the one that covers it}; covered ones are not part of the
    result (Algorithm 8.1, line 11). `excluded` are abstract blocks that must not be discovered again.
    """

    def __init__(
        self,
        world: SearchContext,
        discoveries: Sequence[CampaignDiscovery] = (),
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
    def unsubsumed(self) -> list[CampaignDiscovery]:
        """The discoveries that no later one covers."""
        return [discovery for discovery in self.discoveries if discovery.number not in self.subsumed]

    def is_known(self, abstract: AbstractBlock, kind: str) -> bool:
        """Whether an excluded block or a discovery of this kind subsumes the abstract block."""
        subsumes = self._world.domain.subsumes
        if any(subsumes(excluded, abstract) for excluded in self._excluded):
            return True
        return self._includer(abstract, kind) is not None

    def admit(
        self, candidate: RoundCandidate, traces: Sequence[GeneralisingTrace]
    ) -> list[CampaignGeneralisation]:
        """Add the generalisations of one block; those with something new become discoveries.

        Of results that cover one another only the most general becomes one; of equivalent ones, that with the
        fewest constraints.
        """
        best = self._maximal(traces)
        ranked = sorted(traces, key=lambda trace: trace not in best)
        became = {trace.order: self._admit(candidate, trace) for trace in ranked}
        admitted = []
        for trace in traces:
            outcome, discovery = became[trace.order]
            number, self.generalisations = self.generalisations, self.generalisations + 1
            admitted.append(CampaignGeneralisation(number, candidate, trace, outcome, discovery))
        return admitted

    def _admit(self, candidate: RoundCandidate, trace: GeneralisingTrace) -> tuple[Outcome, int | None]:
        """Add a result unless a discovery includes it; the outcome, and the number of the discovery."""
        if any(self._world.domain.subsumes(excluded, trace.result) for excluded in self._excluded):
            return Outcome.SUBSUMED, None
        includer = self._includer(trace.result, candidate.kind)
        if includer is None and not trace.concrete:
            includer = self._covering_discovery(trace.result, candidate.kind)
        if includer is not None:
            is_equal = includer.abstract == trace.result
            return (Outcome.DUPLICATE if is_equal else Outcome.SUBSUMED), includer.number
        new = self._discovery(candidate, trace)
        if not new.concrete:
            self._mark_subsumed(new)
        self.discoveries.append(new)
        return (Outcome.CONCRETE if new.concrete else Outcome.DISCOVERY), new.number

    def _mark_subsumed(self, new: CampaignDiscovery) -> None:
        for discovery in self.unsubsumed:
            if self._is_same_kind(discovery.kind, new.kind) and self.covers(new.abstract, discovery.abstract):
                self.subsumed[discovery.number] = new.number

    def _discovery(self, candidate: RoundCandidate, trace: GeneralisingTrace) -> CampaignDiscovery:
        witness = candidate.witness
        return CampaignDiscovery(
            number=len(self.discoveries),
            abstract=trace.result,
            kind=candidate.kind,
            code=witness.code,
            start_code=candidate.start.code,
            length=len(witness.block),
            interestingness=witness.verdict.value if trace.concrete else trace.result_check.mean_interest,
            generality=self._world.domain.generality(trace.result),
            concrete=trace.concrete,
        )

    def covers(self, general: AbstractBlock, special: AbstractBlock) -> bool:
        """Whether `general` subsumes `special`, or at least each of `_EXAMPLES` random blocks of it.

        A rotation may fit each block although none fits all. The random blocks are the same in every call.
        """
        subsumes = self._world.domain.subsumes
        if subsumes(general, special):
            return True
        return all(subsumes(general, example) for example in self._sampled_representations(special))

    def _sampled_representations(self, abstract: AbstractBlock) -> Iterator[AbstractBlock]:
        """Representations of random blocks of an abstract block; itself where sampling fails."""
        examples = self._examples.setdefault(abstract, [])
        yield from examples
        if not examples or len(examples) < _EXAMPLES:
            domain = self._world.domain
            text = json.dumps(domain.document(abstract), sort_keys=True)
            for number in range(len(examples), _EXAMPLES):
                block = domain.sample(abstract, self._world.random("example", number, text))
                examples.append(abstract if block is None else domain.represent(block))
                yield examples[-1]

    def _includer(self, abstract: AbstractBlock, kind: str) -> CampaignDiscovery | None:
        """The first discovery of this kind, not covered by another, that subsumes the abstract block.

        A concrete discovery covers no other blocks, but matches the same abstract block with other registers.
        """
        subsumes = self._world.domain.subsumes
        for discovery in self.unsubsumed:
            if not self._is_same_kind(discovery.kind, kind):
                continue
            general = discovery.abstract
            if general == abstract or (not discovery.concrete and subsumes(general, abstract)):
                return discovery
        return None

    def _covering_discovery(self, abstract: AbstractBlock, kind: str) -> CampaignDiscovery | None:
        """The first discovery of this kind, not covered by another, that covers the abstract block."""
        for discovery in self.unsubsumed:
            is_candidate = not discovery.concrete and self._is_same_kind(discovery.kind, kind)
            if is_candidate and self.covers(discovery.abstract, abstract):
                return discovery
        return None

    def _maximal(self, traces: Sequence[GeneralisingTrace]) -> list[GeneralisingTrace]:
        """The traces whose results no other result covers.

        Of equivalent results, the one with the fewest constraints.
        """
        maximal: list[GeneralisingTrace] = []
        constraints = self._world.domain.expansions
        for trace in sorted(traces, key=lambda by: len(constraints(by.result))):
            if any(self.covers(general.result, trace.result) for general in maximal):
                continue
            maximal = [special for special in maximal if not self.covers(trace.result, special.result)]
            maximal.append(trace)
        return maximal

    def _is_same_kind(self, kind: str, other: str) -> bool:
        return kind == other or not self._world.settings.kinds_apart


class BlockExplanation:
    """The generalisations of one interesting block in all orders, and the discoveries that they lead to.

    `shorten`: the block is minimised first. `look_up` is called at intervals.
    """

    def __init__(
        self,
        world: SearchContext,
        driver: Driver,
        start: JudgedBlock,
        *,
        shorten: bool,
        look_up: Callable[[], None] = lambda: None,
    ) -> None:
        def expired() -> bool:
            look_up()
            return False

        witness = start
        if shorten:
            (minimised,) = driver.run([minimise(world, start, ("minimise", 0))])
            witness = minimised or start
        self.candidate: RoundCandidate = RoundCandidate(
            0, start, witness, world.domain.represent(witness.block)
        )
        traces = generalise_all(world, driver, [self.candidate], expired)
        discovery_set: DiscoverySet = DiscoverySet(world)
        self.generalised: list[CampaignGeneralisation] = discovery_set.admit(self.candidate, traces[0])
        self.discoveries: list[CampaignDiscovery] = discovery_set.discoveries
        self.subsumed = discovery_set.subsumed
