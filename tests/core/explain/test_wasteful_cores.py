"""Cores that take longer than their ports need, and solvers that end, cost only what they concern."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from inference.core.blocking_by_cegar import solve_by_cegar
from inference.core.errors import CoreError
from inference.core.experiment import Experiment, Measured
from inference.core.explain import (
    BlockingAnswer,
    BlockingQuestion,
    ExplainProblem,
    ExplainResult,
    ExplainSettings,
    NotCharacterised,
    SchemeFate,
    infer,
)
from inference.core.explain.alone import find_candidates
from inference.core.explain.context import ExplainContext
from inference.core.explain.flooding import Blocker
from inference.core.explain.sampling import MeasurementSampler, SampledCycles
from inference.core.explain.settings import THROUGHPUT
from inference.core.explain.waste_judge import WasteJudge
from inference.core.mapping import PortMapping
from inference.core.pacing import PacedReporter
from inference.core.protocols import Measurer, Reporter
from inference.core.throughput import inverse_throughput
from inference.core.waste import SchedulerFit, Simulated
from inference.measuring.recorded import RecordedMeasurer
from inference.measuring.simulated import NOTHING, SimulatedProcessor
from tests.core.explain.small import mapping_of
from tests.core.pmevo.small import Listener

CORE = mapping_of(
    "0123456789abcd",
    {
        **dict.fromkeys(("cmp", "test", "andn", "add", "sub", "and"), "012345"),
        **dict.fromkeys(("imul", "mulx", "crc32"), "012"),
        **dict.fromkeys(("shl", "rol", "bt"), "345"),
        **dict.fromkeys(("vpaddd", "vpand"), "6789"),
        **dict.fromkeys(("vaddps", "vaddpd"), "67"),
        **dict.fromkeys(("vmulps", "vmulpd"), "89"),
        **dict.fromkeys(("load", "loadx"), "abcd"),
        "add m": "012345 abcd",
        "vaddps m": "67 abcd",
    },
)
"""The units of a Zen 5, as far as they matter here."""

DOMAINS = {
    scheme: "vector" if scheme.startswith("v") else "memory" if scheme.startswith("load") else "integer"
    for scheme in CORE.usage
    if not scheme.endswith(" m")
}


_BESIDE = {"cmp", "test", "andn", "add", "sub", "and", "shl", "rol", "bt"}


class WastefulProcessor(SimulatedProcessor):
    """Loses what a recorded Zen 5 does: `add` alone 15 %, `imul` beside floods of integer ports.

    A load beside a vector addition takes a fifth longer, as if they shared a port.
    """

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        for measured in super().measure(experiments):
            assert measured.cycles is not None
            yield replace(measured, cycles=measured.cycles + _wasted(measured.experiment, measured.cycles))


def _wasted(experiment: Experiment, cycles: float) -> float:
    schemes = set(experiment.schemes)
    if schemes <= {"add", "sub", "and"}:
        return 0.15 * cycles
    if schemes & {"imul", "mulx", "crc32"} and schemes & _BESIDE:
        return 0.15 if experiment.length > 4 else 0.09 * experiment.length / 2
    if schemes & {"load", "loadx"} and schemes & {"vpaddd", "vpand"} and experiment.length == 2:
        return 0.2 * cycles
    return 0.0


@dataclass(frozen=True)
class KnownCore:
    """What is known of the core: its scheduler, or what schemes alone take because of their registers."""

    simulated: Simulated | None = None
    chained: Mapping[str, float] = field(default_factory=dict)
    width: int | None = None

    @property
    def mapping(self) -> PortMapping | None:
        return None if self.simulated is None else CORE

    def least_cycles(
        self, measured: Mapping[Experiment, float], *, pulse: Callable[[], None] = lambda: None
    ) -> Mapping[Experiment, float]:
        return {
            experiment: sum(count * self.chained.get(scheme, 0.0) for scheme, count in experiment.terms)
            for experiment in measured
        }

    def experiments(self, mapping: PortMapping) -> Sequence[Experiment]:
        raise AssertionError("the search for blocking instructions asks for none")

    def fit(
        self, mapping: PortMapping, measured: Mapping[Experiment, float], pulse: Callable[[], bool]
    ) -> SchedulerFit:
        return SchedulerFit(self.simulated, 0.0)

    def simulator(
        self, mapping: PortMapping, measured: Mapping[Experiment, float], pulse: Callable[[], bool]
    ) -> Simulated | None:
        return self.simulated


def explained(
    measurer: Measurer,
    solver: object = solve_by_cegar,
    core: KnownCore | None = None,
    preferred: Sequence[str] = (),
    **settings: object,
) -> ExplainResult:
    chosen = ExplainSettings(**{"r_max": 8.0, **settings})  # type: ignore[arg-type]
    schemes = tuple(CORE.usage)
    problem = ExplainProblem(schemes, chosen, preferred=tuple(preferred), domains=DOMAINS, core=core)
    return infer(problem, measurer, Listener(), 1, None, solver)  # type: ignore[arg-type]


def widths(result: ExplainResult, scheme: str) -> list[tuple[int, int]]:
    return [(mask.bit_count(), count) for mask, count in result.mapping.usage[scheme]]


def union(mapping: PortMapping, *schemes: str) -> int:
    ports = 0
    for scheme in schemes:
        for mask, _ in mapping.usage[scheme]:
            ports |= mask
    return ports


def test_waste_makes_no_uops_and_no_ports() -> None:
    result = explained(WastefulProcessor(CORE, counters=NOTHING))
    assert result.outcomes[SchemeFate.CHARACTERISED] == len(CORE.usage)
    for scheme, uops in CORE.usage.items():
        assert sorted(widths(result, scheme)) == sorted((mask.bit_count(), n) for mask, n in uops), scheme
    assert len(result.mapping.ports) == len(CORE.ports)


def test_units_of_different_domains_have_ports_of_their_own() -> None:
    mapping = explained(WastefulProcessor(CORE, counters=NOTHING)).mapping
    integer, vector = union(mapping, "cmp", "imul", "shl"), union(mapping, "vpaddd", "vaddps", "vmulps")
    memory = union(mapping, "load")
    assert not integer & vector
    assert not (integer | vector) & memory


def wasting(mapping: PortMapping, experiment: Experiment) -> float:
    """What a simulation says that knows how this core wastes."""
    cycles = inverse_throughput(mapping, experiment)
    return cycles + _wasted(experiment, cycles)


def test_a_known_scheduler_says_what_is_waste() -> None:
    measurer = WastefulProcessor(CORE, counters=NOTHING)
    assert widths(explained(measurer, core=KnownCore(wasting)), "imul") == [(3, 1)]
    wasteless = explained(measurer, core=KnownCore(inverse_throughput))
    assert "imul" not in wasteless.mapping.usage or widths(wasteless, "imul") != [(3, 1)]


class ChainedProcessor(WastefulProcessor):
    """Has few registers for `and`, whose copies wait for each other as long as half of its ports ask for."""

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        for measured in super().measure(experiments):
            assert measured.cycles is not None
            waiting = dict(measured.experiment.terms).get("and", 0) / 3
            yield replace(measured, cycles=max(measured.cycles, waiting))


def test_schemes_that_wait_for_their_registers_block_no_ports() -> None:
    measurer = ChainedProcessor(CORE, counters=NOTHING)
    result = explained(measurer, core=KnownCore(chained={"and": 1 / 3}))
    assert all("and" not in blocking.members for blocking in result.classes)
    assert "and" not in result.mapping.usage  # it takes longer than the µop that is seen of it
    for scheme in ("cmp", "test", "andn", "imul", "shl", "add m"):
        assert sorted(widths(result, scheme)) == sorted((m.bit_count(), n) for m, n in CORE.usage[scheme])


def test_what_waits_for_its_registers_is_no_candidate_however_quickly_it_was_read() -> None:
    pace: Any = PacedReporter(Listener())
    sampler = MeasurementSampler(SimulatedProcessor(CORE, counters=NOTHING), pace, 1)
    sampler.noise = 0.004
    context = ExplainContext(
        ExplainProblem(("and",), ExplainSettings(), core=KnownCore(chained={"and": 1 / 3})),
        sampler,
        SimpleNamespace(pace=pace),  # type: ignore[arg-type]
        counts_from=THROUGHPUT,
        alone={"and": SampledCycles(Experiment.of(["and"]), 0.975 / 3, 1)},
    )
    find_candidates(context)
    assert context.chained == {"and"}
    assert not context.widths


class SlotStealingProcessor(SimulatedProcessor):
    """A multiplication takes a slot of a flood of shifts, though it runs on other ports."""

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        for measured in super().measure(experiments):
            assert measured.cycles is not None
            terms = dict(measured.experiment.terms)
            shifts = sum(terms.get(scheme, 0) for scheme in ("shl", "rol", "bt"))
            stolen = sum(terms.get(scheme, 0) for scheme in ("imul", "mulx", "crc32"))
            lost = 1 / 3 if shifts > 4 else 0.02
            yield replace(measured, cycles=measured.cycles + lost * min(shifts, stolen))


def test_a_whole_slot_that_is_wasted_makes_no_uop() -> None:
    result = explained(SlotStealingProcessor(CORE, counters=NOTHING))
    for scheme in ("imul", "mulx", "crc32", "shl", "bt", "cmp"):
        assert widths(result, scheme) == [(CORE.usage[scheme][0][0].bit_count(), 1)], scheme


class OddAdditionProcessor(SimulatedProcessor):
    """An addition takes a slot of floods of loads, and nothing else wastes as much, or anything."""

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        for measured in super().measure(experiments):
            assert measured.cycles is not None
            terms = dict(measured.experiment.terms)
            lost = terms.get("vaddps", 0) / 4 if terms.get("load", 0) + terms.get("loadx", 0) > 4 else 0.0
            yield replace(measured, cycles=measured.cycles + lost)


def test_a_uop_that_no_time_leaves_room_for_is_no_waste_where_nothing_else_wastes_and_not_concluded() -> None:
    result = explained(OddAdditionProcessor(CORE, counters=NOTHING))
    odd = next(scheme for scheme in result.characterisations if scheme.scheme == "vaddps")
    assert odd.reason is NotCharacterised.FAST
    assert "with these µops it needs" in odd.text


def test_any_recorded_time_may_contradict_uops() -> None:
    # `imul` delays floods of `cmp` by two µops; only beside `shl` was it recorded to be too quick for these.
    pair = Experiment.of(["imul", "shl"])
    source = RecordedMeasurer([Measured(pair, 0.42), Measured(Experiment.of(["imul"]), 1 / 3)])
    sampler = MeasurementSampler(source, PacedReporter(Listener()), 1)
    context = ExplainContext(
        ExplainProblem(("imul", "shl"), ExplainSettings()),
        sampler,
        SimpleNamespace(pace=PacedReporter(Listener())),  # type: ignore[arg-type]
        counts_from=THROUGHPUT,
        alone={"imul": SampledCycles(Experiment.of(["imul"]), 1 / 3, 1)},
    )
    integer, shifts = CORE.usage["cmp"][0][0], CORE.usage["shl"][0][0]
    judge = WasteJudge(context, (Blocker("cmp", integer), Blocker("shl", shifts)), len(CORE.ports), 8.0)
    context.measure({pair: 1})
    assert judge.contradiction("imul", CORE.usage["imul"]) is None
    fact = judge.contradiction("imul", ((integer, 2),))
    assert fact is not None
    assert (fact.experiment, fact.expected) == (pair, pytest.approx(0.5))


class MetResultsProcessor(WastefulProcessor):
    """A vector addition of a load costs floods of `cmp`, and of no other scheme, a whole slot."""

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        for measured in super().measure(experiments):
            assert measured.cycles is not None
            lost = 1 / 6 if {"vaddps m", "cmp"} <= {*measured.experiment.schemes} else 0.0
            yield replace(measured, cycles=measured.cycles + lost)


def test_a_uop_that_only_one_flood_of_its_ports_shows_is_none() -> None:
    result = explained(MetResultsProcessor(CORE, noise=0.002, seed=1))
    assert sorted(widths(result, "vaddps m")) == [(2, 1), (4, 1)]


def test_a_scheme_that_wastes_nothing_alone_represents_its_kind() -> None:
    result = explained(WastefulProcessor(CORE, counters=NOTHING), preferred=("add", "cmp"))
    (integer,) = (each for each in result.classes if "cmp" in each.members)
    assert integer.blocker == "cmp"


def limited(question: BlockingQuestion, measurer: Measurer, reporter: Reporter, seed: int) -> BlockingAnswer:
    """A solver whose resources do not suffice for more than two kinds."""
    if len(question.schemes) > 2:
        raise CoreError("a call of the solver did not end")
    return solve_by_cegar(question, measurer, reporter, seed)


def test_a_solver_that_ends_costs_the_kinds_that_it_could_not_place_and_excludes_nobody() -> None:
    result = explained(SimulatedProcessor(CORE, counters=NOTHING), limited)
    told = {each.scheme: each for each in result.characterisations}
    assert not [s for s, each in told.items() if each.reason is NotCharacterised.CLASH]
    for scheme in ("cmp", "add", "load", "vpaddd", "add m"):
        assert told[scheme].outcome is SchemeFate.CHARACTERISED, told[scheme].text
    doubtful = {scheme for scheme, each in told.items() if "would not show" in "".join(each.doubts)}
    assert {"cmp", "add", "vpaddd"} <= doubtful
    assert "load" not in doubtful  # all kinds of its unit were placed
    unplaced = [text for text in result.warnings if text.startswith("the ")]
    assert len(unplaced) == 2  # one of the three kinds of each of two units
    assert any(text.startswith("the 3 ports") for text in unplaced)
    assert any(text.startswith("the 2 ports") for text in unplaced)


def test_a_search_for_ports_ends_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inference.core.explain.ports._MIN_SECONDS", 0.2)

    def endless(
        question: BlockingQuestion, measurer: Measurer, reporter: Reporter, seed: int
    ) -> BlockingAnswer:
        while len(question.schemes) > 1:
            reporter.pulse()
        return solve_by_cegar(question, measurer, reporter, seed)

    result = explained(SimulatedProcessor(CORE, counters=NOTHING), endless, seconds=4.0)
    assert result.mapping.usage
    assert any("no answer within" in text for text in result.warnings)


def test_a_search_ends_with_what_it_has_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inference.core.explain.remaining._CHUNK", 8)
    result = explained(SimulatedProcessor(CORE, counters=NOTHING), seconds=1e-6)
    reasons = {each.reason for each in result.characterisations}
    assert NotCharacterised.NOT_REACHED in reasons
    assert result.outcomes[SchemeFate.CHARACTERISED]


def doubted(result: ExplainResult) -> set[str]:
    return {each.scheme for each in result.characterisations if each.doubts}


def test_what_waste_disturbs_is_doubted_and_nothing_else() -> None:
    assert not doubted(explained(SimulatedProcessor(CORE, counters=NOTHING), r_max=14.0))
    wasteful = doubted(explained(WastefulProcessor(CORE, counters=NOTHING), r_max=14.0))
    assert wasteful >= {"imul", "mulx", "crc32"}  # beside floods of integer ports
    assert not wasteful & {"vmulps", "vmulpd"}


class BusyResultsProcessor(WastefulProcessor):
    """A multiplication of another kind costs a whole slot beside each flood of all integer ports."""

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        for measured in super().measure(experiments):
            assert measured.cycles is not None
            schemes = {*measured.experiment.schemes}
            is_met = "mulx" in schemes and schemes & {"cmp", "test", "andn", "add", "sub", "and"}
            yield replace(measured, cycles=measured.cycles + (1 / 6 if is_met else 0.0))


def test_a_second_uop_that_only_floods_show_is_doubted() -> None:
    found = explained(BusyResultsProcessor(CORE, counters=NOTHING), r_max=14.0)
    (mulx,) = (each for each in found.characterisations if each.scheme == "mulx")
    assert (6, 1) in widths(found, "mulx")
    assert any("no time of the scheme alone shows its µop" in doubt for doubt in mulx.doubts)
    ((mask, _),) = CORE.usage["mulx"]
    two_uops = replace(CORE, usage={**CORE.usage, "mulx": ((mask, 2),)})
    assert not doubted(explained(SimulatedProcessor(two_uops, counters=NOTHING), r_max=14.0))
