"""Algorithm 4.1 with the extensions of §4.3: find two mappings, measure what distinguishes them, repeat."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from inference.core.cegar.alternatives import SettledMapping
from inference.core.cegar.decision_loop import Decider
from inference.core.cegar.division import Division, restrict_mapping, unite_parts
from inference.core.cegar.events import Ports
from inference.core.cegar.experiment_choice import port_filling
from inference.core.cegar.mix_check import MixCheck, check_on_mixes
from inference.core.cegar.port_choice import PortChoice
from inference.core.cegar.problem import (
    Apart,
    CegarProblem,
    CegarResult,
    Determinacy,
    Unexplained,
    assumptions,
)
from inference.core.cegar.scheduler_waste import SchedulerWaste
from inference.core.cegar.search import CegarSearch
from inference.core.cegar.z3_solver import SolverLimitError, version
from inference.core.events import Log
from inference.core.identity import same_up_to_renaming
from inference.core.mapping import PortMapping
from inference.core.protocols import Checkpoint, Measurer, Reporter
from inference.core.waste import WasteSource

WASTE_ROUNDS = 3
"""Searches at most that follow a changed estimate of waste: a mapping changes its estimate, and the other way
round, so nothing ensures that the two settle."""

MAX_CHECKS = 3
"""Searches at most: another one follows each time that fresh mixes contradict the result."""

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
    """Search for the port mapping that explains the measurements, and whether it is the only one.

    The result depends only on the problem, the measurer's answers, the seed and z3's version, also after an
    interruption, unless the search runs into `time_limit`. Then, or where the solver gives up, the result is
    the best mapping so far, with the verdict `UNPROVEN`.

    Args:
        problem: Schemes, settings, and what is known of the schemes beforehand.
        measurer: Measures experiments, or offers recorded ones.
        reporter: Receives events and checkpoints, and may interrupt the search.
        seed: Seed of z3, of local searches and of the mixes that check the result.
        resume: A checkpoint of the same search; None to start one.
        waste: Simulates the core's scheduler under a mapping. Experiments may then exceed the bound of their
            ports by what the scheduler wastes: the search alternates with the simulation until the wasted
            shares stay the same, at most `WASTE_ROUNDS` times. None where ports alone explain times.
        asks_scheduler: Whether to measure the experiments that show the scheduler, and to choose by them
            among mappings that explain as much (`inference.core.cegar.scheduler_waste`).

    Raises:
        ClashError: No mapping explains the measurements, and the settings say to stop.
        InsufficientDataError: There is no usable measurement.
        InvalidInputError: The checkpoint belongs to another search.
        InterruptedRunError: From the reporter.
    """
    search = CegarSearch(problem, measurer, reporter, seed, resume)
    return _Algorithm(search, waste, asks_scheduler=asks_scheduler).run()


def contradictions(
    problem: CegarProblem, measurer: Measurer, reporter: Reporter, seed: int
) -> tuple[Unexplained, ...]:
    """Measurements of single schemes and pairs that no mapping explains, however many ports it has.

    This takes seconds, where `infer` may take minutes.

    Returns:
        The measurements that the best mapping leaves unexplained, the largest excess first; empty for none.

    Raises:
        CoreError: As `infer` does.
    """
    search = CegarSearch(replace(problem, in_pairs=True), measurer, reporter, seed, None)
    search.measure_first()
    ports = PortChoice(search).fewest(search.settings.most_ports)
    questions = search.questions(shape := search.shape(ports))
    try:
        candidate = questions.find_candidate()
    finally:
        questions.close()
    return () if candidate is None else search.unexplained(shape.mapping(candidate))


def _domain_pairs(problem: CegarProblem) -> Apart:
    """All pairs of domains; those with memory come first, as it shares no ports on most cores.

    The order matters where not all pairs can stay apart: `PortChoice` gives up late pairs first.
    """
    domains = sorted(set(problem.domains.values()), key=lambda domain: (domain != "memory", domain))
    return tuple(itertools.combinations(domains, 2))


class _Algorithm:
    """One run: divide the core or not, settle a mapping, account for waste, check on fresh mixes."""

    def __init__(self, search: CegarSearch, waste: WasteSource | None, *, asks_scheduler: bool) -> None:
        self._search = search
        self._asks_scheduler = asks_scheduler
        self._wasting = None if waste is None else SchedulerWaste(search, waste)
        self._known_mapping = None if waste is None else waste.mapping
        self._decider = Decider(search)
        self._ports = PortChoice(search)
        self._best: SettledMapping | None = None
        self._previous_mapping: PortMapping | None = None  # what a round before has settled
        self._division: Division | None = None

    def run(self) -> CegarResult:
        search = self._search
        search.enter_phase("seeding")
        search.measure_first()
        search.enter_phase("deciding")
        if self._wasting is not None:
            self._wasting.allow(self._known_mapping)
        if Division.suits(search):
            self._division = Division(search)
            self._measure_division(self._division)
        else:
            self._prefer_apart(_domain_pairs(search.problem) if search.settings.apart else ())
        settled, check = self._settle_and_check()
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

    def _measure_division(self, division: Division) -> None:
        """Measure which domains share ports; stop early at the time limit."""
        try:
            division.measure()
        except SolverLimitError:
            return

    def _settle_and_check(self) -> tuple[SettledMapping, MixCheck]:
        """Search, check the mapping on fresh mixes, and search again with those if they contradict it.

        At most `MAX_CHECKS` searches. A search that ran into a limit is not checked: it is unproven anyway.
        """
        search = self._search
        for stream in range(1, MAX_CHECKS + 1):
            settled = self._settle_with_waste(self._settle_parts())
            self._previous_mapping = settled.mapping
            if settled.limit:
                return settled, MixCheck(0, ())
            if not settled.listed and not settled.more:
                settled = self._without_assumptions(settled)
            search.enter_phase("checking")
            check = check_on_mixes(search, settled.mapping, stream)
            if not self._contradicts_ports(check.unexplained):
                break
        return settled, check

    def _settle_with_waste(self, settled: SettledMapping) -> SettledMapping:
        """Search again while simulating the mapping changes the shares of time that may be wasted."""
        if self._wasting is None:
            return settled
        for number in range(WASTE_ROUNDS + 1):
            if settled.limit:
                break
            if self._asks_scheduler:
                settled = self._wasting.prefer_by_scheduler(settled)
            if not self._wasting.allow(settled.mapping) or number == WASTE_ROUNDS:
                break
            self._previous_mapping = settled.mapping
            settled = self._settle_parts()
        if self._wasting.has_preference and not settled.more:
            return replace(settled, more=True, reason=settled.reason or _BY_SCHEDULER)
        return settled

    def _settle_parts(self) -> SettledMapping:
        """Settle each part of the core by itself, small parts first, and put them side by side.

        A mix that fills the ports of all parts may raise R_max, the highest rate measured. A higher R_max
        can show differences that the lower one hid, so all parts are searched again.
        """
        if self._division is None:
            return self._settle_or_nearest()
        search, schemes = self._search, self._search.schemes
        while True:
            parts = []
            search.apart = ()
            waiting = sorted(self._division.parts, key=len)
            for k, part in enumerate(waiting):
                search.deadline.share(len(waiting) - k)  # this part's share of the time that is left
                search.schemes, search.waived, self._best = list(part), frozenset(), None
                parts.append(self._settle_or_nearest())
            search.schemes, search.apart = schemes, self._division.apart
            settled = unite_parts(parts, search.readings.r_max)
            if settled.limit or not self._raises_r_max(settled.mapping):
                return settled

    def _settle_or_nearest(self) -> SettledMapping:
        """See `_settle`; where the solver gives up, the best mapping so far."""
        try:
            return self._settle()
        except SolverLimitError as error:
            self._search.deadline.end()
            best, earlier = self._best, restrict_mapping(self._previous_mapping, self._search.schemes)
            mapping = self._ports.nearest([*([best.mapping] if best else []), *earlier])
            listed = best.listed if best is not None and mapping == best.mapping else ()
            return SettledMapping(mapping, listed, more=True, limit=str(error))

    def _contradicts_ports(self, unexplained: Sequence[Unexplained]) -> bool:
        """Whether mixes contradict the ports, rather than show waste; the search is then repeated.

        A mix that is quicker than its ports need contradicts them, and one that takes longer by more than any
        core wastes. So does a mix of several parts that takes longer than the parts do on ports of their own:
        from then on, these parts are searched together.
        """
        joined = [
            self._division.join_hidden(mix.experiment)
            for mix in unexplained
            if self._division is not None and mix.excess > 0 and self._division.is_slower(mix.experiment)
        ]
        return any(joined) or any(mix.is_more_than_waste for mix in unexplained)

    def _without_assumptions(self, settled: SettledMapping) -> SettledMapping:
        """A unique mapping with domains apart, marked `more` if it is not unique without that assumption."""
        search = self._search
        if not search.apart:
            return settled
        if self._division is not None:
            return (
                settled if self._division.would_show_sharing else replace(settled, more=True, reason=_ASSUMED)
            )
        pairs, search.apart = search.apart, ()
        plain = self._settle_or_nearest()
        search.apart = pairs
        if plain.limit:
            return replace(settled, more=True, limit=plain.limit)
        is_same = same_up_to_renaming(
            replace(plain.mapping, r_max=None), replace(settled.mapping, r_max=None)
        )
        if is_same and not (plain.listed or plain.more):
            return settled
        return replace(settled, more=True, reason=_ASSUMED)

    def _without_idle_limit(self, settled: SettledMapping) -> PortMapping:
        """The mapping without a measured R_max that its ports cannot exceed, so that it limits nothing."""
        mapping = settled.mapping
        if self._search.settings.r_max is not None:
            return mapping
        is_idle = mapping.r_max is not None and mapping.r_max >= len(mapping.ports)
        return replace(mapping, r_max=None) if is_idle else mapping

    def _contradiction(self, settled: SettledMapping, check: MixCheck) -> str:
        """Which measurements contradict the mapping, as a sentence; empty for none."""
        search = self._search
        if check.unexplained:
            return _MIXES_UNEXPLAINED.format(len(check.unexplained), check.mixes)
        if unexplained := search.unexplained(settled.mapping):
            return _UNEXPLAINED.format(len(unexplained), len(search.readings))
        return ""

    def _prefer_apart(self, pairs: Apart) -> None:
        """Assume that domains share no ports, as far as that explains as many measurements.

        Mappings found with and without the assumption are compared by measuring what distinguishes them,
        until no experiment does. Recorded data have no further experiments: the assumption is then taken as
        it is.
        """
        search = self._search
        if search.answers.offered is not None:
            search.apart = pairs
            return
        search.lists_alternatives = False
        try:
            while pairs:
                search.apart = ()
                plain = self._settle().mapping
                search.apart = pairs
                apart = self._settle().mapping
                pairs = search.apart
                distinction = search.chooser.between(plain, apart, None) if pairs else None
                if distinction is None:
                    break
                search.measure(distinction.experiment)
        except SolverLimitError as error:
            search.emit(
                Log("warning", f"nothing is assumed of which schemes have ports of their own: {error}")
            )
            search.apart = ()
        search.lists_alternatives = True

    def _settle(self) -> SettledMapping:
        """Search with more ports, or with fewer schemes, until a mapping explains the measurements.

        Where the number of ports is not given, a mapping with one port more is searched for too, and the two
        are distinguished by measuring; where no experiment does that, the result is not unique.
        """
        search = self._search
        ports = self._ports.first()
        is_fixed = search.settings.ports is not None
        while True:
            search.begin_attempt(
                Ports(ports, "given" if is_fixed else "the fewest for what is measured so far")
            )
            last = is_fixed or ports >= search.settings.most_ports
            settled = self._decider.decide(search.shape(ports), listing=last and search.lists_alternatives)
            if settled is None:
                ports = self._ports.after_contradiction(ports)
                continue
            self._best = settled
            if last or settled.limit:
                return settled
            n_readings = len(search.readings)
            try:
                final = self._final(settled, ports)
            except SolverLimitError as error:
                return replace(settled, limit=str(error))
            if final is not None and len(search.readings) == n_readings:
                return final
            ports = self._ports.fewest(ports)

    def _final(self, settled: SettledMapping, ports: int) -> SettledMapping | None:
        """The mapping with its alternatives; None if comparing it with wider ones needed a measurement.

        The new measurement may exclude the mapping, so that the caller has to search again.
        """
        search = self._search
        n_readings = len(search.readings)
        wider = self._wider(settled, ports)
        if len(search.readings) > n_readings:
            return None
        final = self._decider.decide(search.shape(ports), listing=search.lists_alternatives)
        if final is None or wider is None:
            search.emit(Ports(ports, "one port more adds nothing"))
            return final
        limit = final.limit or wider.limit
        return replace(final, more=True, reason=_WIDER.format(ports + 1), limit=limit)

    def _raises_r_max(self, mapping: PortMapping) -> bool:
        """Measure a mix that keeps all ports busy; whether that raised R_max."""
        search = self._search
        filling, r_max = port_filling(mapping), search.readings.r_max
        if filling is None or not search.can_measure(filling):
            return False
        search.measure(filling)
        return search.readings.r_max != r_max

    def _wider(self, settled: SettledMapping, ports: int) -> SettledMapping | None:
        """A mapping with one port more that explains as much; None where there is none.

        What distinguishes it from the settled mapping is measured; the caller sees that from the readings.
        Without `is_full`, the settled mapping with an unused port would always be an answer.
        """
        search = self._search
        n_readings = len(search.readings)
        if self._raises_r_max(settled.mapping):
            return None
        search.begin_attempt(Ports(ports + 1, "would one port more explain something else?"))
        wider = self._decider.decide(search.shape(ports + 1, is_full=True), listing=False)
        if wider is not None and len(search.readings) == n_readings:
            distinction = search.chooser.between(settled.mapping, wider.mapping, None)
            if distinction is not None:
                search.measure(distinction.experiment)
        return wider
