"""Algorithm 4.1 with the extensions of §4.3: ask, measure, exclude, until nothing is left to tell apart."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from inference.core.cegar.alternatives import Settled
from inference.core.cegar.checking import MixCheck, check_on_mixes
from inference.core.cegar.deciding import Decider
from inference.core.cegar.dividing import Division, part_of, united
from inference.core.cegar.events import Ports
from inference.core.cegar.port_choice import PortChoice
from inference.core.cegar.problem import (
    Apart,
    CegarProblem,
    CegarResult,
    Determinacy,
    Unexplained,
    assumptions,
)
from inference.core.cegar.search import CegarSearch
from inference.core.cegar.solving import SolverLimitError, version
from inference.core.cegar.telling_apart import port_filling
from inference.core.cegar.wasting import Wasting
from inference.core.events import Log
from inference.core.identity import same_up_to_renaming
from inference.core.mapping import PortMapping
from inference.core.protocols import Checkpoint, Measurer, Reporter
from inference.core.waste import WasteSource

WASTE_ROUNDS = 3
MOST_CHECKS = 3
"""Times that a search goes on because fresh mixes contradict it."""

_WIDER = "mappings to {} ports explain as much: noise, or the rate of the quickest mix, hides the difference"
_ASSUMED = "mappings in which domains share ports explain as much"
_BY_SCHEDULER = "mappings that the core's scheduler explains less explain as much by their ports"
_MIXES_UNEXPLAINED = "{} of {} mixes measured afterwards are not explained"
_UNEXPLAINED = "{} of {} experiments are not explained"


def infer(
    problem: CegarProblem,
    measurer: Measurer,
    reporter: Reporter,
    seed: int,
    resume: Checkpoint | None = None,
    waste: WasteSource | None = None,
    *,
    asks_scheduler: bool = True,
) -> CegarResult:
    """The port mapping that explains the measurements, and whether it is the only one.

    The answer depends on the problem, the measurer's answers, the seed and z3's version alone, also when the
    search was interrupted and taken up again, unless its time is up before (`time_limit`). Then, or where
    the solver gives up, the result is the best mapping so far and says so. Raises `ClashError` where no
    mapping explains the measurements and none of the schemes may be dropped, `InsufficientDataError` where
    nothing usable was measured, `InvalidInputError` for a checkpoint of another search, and lets
    `InterruptedRunError` from the reporter through.

    `waste` simulates the core's scheduler under a mapping: an experiment may take as much longer than its
    ports need as the scheduler makes it. Each mapping that a search finds is simulated and the search goes
    on, a few times, until the shares that are wasted stay the same. Of mappings that explain as much, the one
    counts that the scheduler explains best (`inference.core.cegar.wasting`); without `asks_scheduler`, the
    experiments that show this are not measured, and the first one counts.
    """
    search = CegarSearch(problem, measurer, reporter, seed, resume)
    return _Algorithm(search, waste, asks_scheduler=asks_scheduler).run()


def contradictions(
    problem: CegarProblem, measurer: Measurer, reporter: Reporter, seed: int
) -> tuple[Unexplained, ...]:
    """What no mapping to as many ports as may be explains, of all schemes alone and in pairs.

    That takes seconds, where a search to its end may take minutes. Raises what `infer` raises.
    """
    search = CegarSearch(replace(problem, in_pairs=True), measurer, reporter, seed, None)
    search.measure_first()
    ports = PortChoice(search).enough(search.settings.most_ports)
    asked = search.questions(shape := search.shape(ports))
    try:
        found = asked.another()
    finally:
        asked.close()
    return () if found is None else search.unexplained(shape.mapping(found))


def _pairs(problem: CegarProblem) -> Apart:
    """Pairs of domains, those first that are apart on most cores."""
    found = sorted(set(problem.domains.values()), key=lambda domain: (domain != "memory", domain))
    return tuple(itertools.combinations(found, 2))


class _Algorithm:
    def __init__(self, search: CegarSearch, waste: WasteSource | None, *, asks_scheduler: bool) -> None:
        self._search = search
        self._asks_scheduler = asks_scheduler
        self._wasting = None if waste is None else Wasting(search, waste)
        self._known = None if waste is None else waste.mapping
        self._decider = Decider(search)
        self._ports = PortChoice(search)
        self._best: Settled | None = None
        self._earlier: PortMapping | None = None  # what a round before has settled
        self._division: Division | None = None

    def run(self) -> CegarResult:
        search = self._search
        search.enter("seeding")
        search.measure_first()
        search.enter("deciding")
        if self._wasting is not None:
            self._wasting.allow(self._known)
        if Division.suits(search):
            self._division = Division(search)
            self._divide(self._division)
        else:
            self._prefer(_pairs(search.problem) if search.settings.apart else ())
        settled, check = self._checked()
        limit = settled.limit or self._contradiction(settled, check)
        verdict = Determinacy.AMBIGUOUS if settled.listed or settled.more else Determinacy.UNIQUE
        return CegarResult(
            mapping=self._without_idle_limit(settled),
            verdict=Determinacy.UNPROVEN if limit else verdict,
            alternatives=settled.listed,
            more_alternatives=settled.more,
            experiments=search.answers.used,
            clashes=tuple(search.clashes),
            unexplained=search.unexplained(settled.mapping),
            assumptions=assumptions(search.problem, search.apart),
            counter_examples=search.counter_examples,
            solver=version(),
            limit=limit,
            seconds=search.seconds(),
            searching_seconds=search.searching,
            apart=search.apart,
            reason=settled.reason,
            mixes=check.mixes,
            mixes_unexplained=check.unexplained,
        )

    def _divide(self, division: Division) -> None:
        """Measure which parts of the core share ports."""
        try:
            division.measure()
        except SolverLimitError:
            return

    def _checked(self) -> tuple[Settled, MixCheck]:
        """A mapping and fresh mixes to judge it by; what these contradict is learnt from, a few times."""
        search = self._search
        for stream in range(1, MOST_CHECKS + 1):
            settled = self._with_waste(self._of_all_parts())
            self._earlier = settled.mapping
            if settled.limit:
                return settled, MixCheck(0, ())
            if not settled.listed and not settled.more:
                settled = self._without_assumptions(settled)
            search.enter("checking")
            check = check_on_mixes(search, settled.mapping, stream)
            if not self._is_news(check.unexplained):
                break
        return settled, check

    def _with_waste(self, settled: Settled) -> Settled:
        """Search again while simulating the mapping changes what experiments may waste."""
        if self._wasting is None:
            return settled
        for number in range(WASTE_ROUNDS + 1):
            if settled.limit:
                break
            if self._asks_scheduler:
                settled = self._wasting.preferring(settled)
            if not self._wasting.allow(settled.mapping) or number == WASTE_ROUNDS:
                break
            self._earlier = settled.mapping
            settled = self._of_all_parts()
        if self._wasting.has_chosen and not settled.more:
            return replace(settled, more=True, reason=settled.reason or _BY_SCHEDULER)
        return settled

    def _of_all_parts(self) -> Settled:
        if self._division is None:
            return self._settled()
        search, schemes = self._search, self._search.schemes
        while True:
            parts = []
            search.apart = ()
            waiting = sorted(self._division.parts, key=len)
            for k, part in enumerate(waiting):
                search.deadline.share(len(waiting) - k)
                search.schemes, search.waived, self._best = list(part), frozenset(), None
                parts.append(self._settled())
            search.schemes, search.apart = schemes, self._division.apart
            settled = united(parts, search.readings.r_max)
            if settled.limit or not self._is_quicker(settled.mapping):
                return settled

    def _settled(self) -> Settled:
        """See `_settle`; where the solver gives up, the best mapping so far."""
        try:
            return self._settle()
        except SolverLimitError as error:
            self._search.deadline.end()
            best, earlier = self._best, part_of(self._earlier, self._search.schemes)
            mapping = self._ports.nearest([*([best.mapping] if best else []), *earlier])
            listed = best.listed if best is not None and mapping == best.mapping else ()
            return Settled(mapping, listed, more=True, limit=str(error))

    def _is_news(self, unexplained: Sequence[Unexplained]) -> bool:
        """Whether mixes contradict ports, instead of showing waste: ports are searched for again then.

        What is quicker than its ports does. So do parts that are slower together than ports of their own are:
        from then on, they are searched for together.
        """
        joined = [
            self._division.join_hidden(each.experiment)
            for each in unexplained
            if self._division is not None and each.excess > 0 and self._division.is_slower(each.experiment)
        ]
        return any(joined) or any(each.excess < 0 for each in unexplained)

    def _without_assumptions(self, settled: Settled) -> Settled:
        """The only mapping with domains kept apart; whether it is the only one at all."""
        search = self._search
        if not search.apart:
            return settled
        if self._division is not None:
            return settled if self._division.is_shown else replace(settled, more=True, reason=_ASSUMED)
        pairs, search.apart = search.apart, ()
        plain = self._settled()
        search.apart = pairs
        if plain.limit:
            return replace(settled, more=True, limit=plain.limit)
        same = same_up_to_renaming(replace(plain.mapping, r_max=None), replace(settled.mapping, r_max=None))
        if same and not (plain.listed or plain.more):
            return settled
        return replace(settled, more=True, reason=_ASSUMED)

    def _without_idle_limit(self, settled: Settled) -> PortMapping:
        """A bottleneck that only may be there is left out where ports alone let no more through."""
        mapping = settled.mapping
        if self._search.settings.r_max is not None:
            return mapping
        fills = mapping.r_max is not None and mapping.r_max >= len(mapping.ports)
        return replace(mapping, r_max=None) if fills else mapping

    def _contradiction(self, settled: Settled, check: MixCheck) -> str:
        """What speaks against the mapping; empty for nothing."""
        search = self._search
        if check.unexplained:
            return _MIXES_UNEXPLAINED.format(len(check.unexplained), check.mixes)
        if unexplained := search.unexplained(settled.mapping):
            return _UNEXPLAINED.format(len(unexplained), len(search.readings))
        return ""

    def _prefer(self, pairs: Apart) -> None:
        """Keep domains apart as far as that explains as much, and as no experiment speaks against it.

        The mappings found with and without it are told apart by measuring, until nothing tells them apart. Of
        recorded data, everything has been asked.
        """
        search = self._search
        if search.answers.offered is not None:
            search.apart = pairs
            return
        search.listing = False
        try:
            while pairs:
                search.apart = ()
                plain = self._settle().mapping
                search.apart = pairs
                apart = self._settle().mapping
                pairs = search.apart
                told = search.judge.between(plain, apart, None) if pairs else None
                if told is None:
                    break
                search.ask(told.experiment)
        except SolverLimitError as error:
            search.tell(
                Log("warning", f"nothing is assumed of which schemes have ports of their own: {error}")
            )
            search.apart = ()
        search.listing = True

    def _settle(self) -> Settled:
        """Go on with more ports, or fewer schemes, whenever no mapping explains the measurements.

        Where the number of ports is searched for, a mapping with one port more that explains as much is
        sought too, and told apart by measuring; where that cannot be, the result is not the only one.
        """
        search = self._search
        ports = self._ports.first()
        given = search.settings.ports is not None
        while True:
            search.begin(Ports(ports, "given" if given else "the fewest for what is measured so far"))
            last = given or ports >= search.settings.most_ports
            settled = self._decider.decide(search.shape(ports), listing=last and search.listing)
            if settled is None:
                ports = self._ports.after_contradiction(ports)
                continue
            self._best = settled
            if last or settled.limit:
                return settled
            known = len(search.readings)
            try:
                final = self._final(settled, ports)
            except SolverLimitError as error:
                return replace(settled, limit=str(error))
            if final is not None and len(search.readings) == known:
                return final
            ports = self._ports.enough(ports)

    def _final(self, settled: Settled, ports: int) -> Settled | None:
        """The settled mapping with the alternatives to it; of no use where something new was measured."""
        search = self._search
        known = len(search.readings)
        wider = self._wider(settled, ports)
        if len(search.readings) > known:
            return None
        final = self._decider.decide(search.shape(ports), listing=search.listing)
        if final is None or wider is None:
            search.tell(Ports(ports, "one port more adds nothing"))
            return final
        limit = final.limit or wider.limit
        return replace(final, more=True, reason=_WIDER.format(ports + 1), limit=limit)

    def _is_quicker(self, mapping: PortMapping) -> bool:
        """Whether a mix that keeps all ports busy lets more through than any before."""
        search = self._search
        filling, r_max = port_filling(mapping), search.readings.r_max
        if filling is None or not search.may_ask(filling):
            return False
        search.ask(filling)
        return search.readings.r_max != r_max

    def _wider(self, settled: Settled, ports: int) -> Settled | None:
        """Mappings that use one port more; what tells them from the settled one is measured.

        None where all of them explain less.
        """
        search = self._search
        known = len(search.readings)
        if self._is_quicker(settled.mapping):
            return None
        search.begin(Ports(ports + 1, "would one port more explain something else?"))
        wider = self._decider.decide(search.shape(ports + 1, is_full=True), listing=False)
        if wider is not None and len(search.readings) == known:
            distinction = search.judge.between(settled.mapping, wider.mapping, None)
            if distinction is not None:
                search.ask(distinction.experiment)
        return wider
