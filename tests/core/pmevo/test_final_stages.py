"""As many ports as the data ask for, times without what a scheduler wastes, and an end in time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from inference.core.events import Log
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.pacing import PacedReporter
from inference.core.pmevo import PMEvoProblem, PMEvoSettings, algorithm, final_stages, infer
from inference.core.pmevo.plan import first_ports
from inference.core.pmevo.refit.bounded import BoundedSearch
from inference.core.pmevo.refit.usage import Usage
from inference.core.pmevo.training_data import TrainingData
from inference.core.waste import MAX_POLICIES, Simulated
from inference.measuring.recorded import RecordedMeasurer
from inference.measuring.simulated import SimulatedProcessor
from tests.core.pmevo.small import MAPPING, Listener

QUICK = PMEvoSettings(starts=1, rounds=1, sweeps=1, perturbations=15, plan="exhaustive")

CORE = PortMapping(
    tuple("0123456"),
    {
        "add": ((0b0001111, 1),),
        "sub": ((0b0001111, 1),),
        "mul": ((0b0000011, 1),),
        "shift": ((0b0001100, 1),),
        "load": ((0b0110000, 1),),
        "store": ((0b1000000, 1),),
    },
)
PARTS = {"add": "integer", "sub": "integer", "mul": "integer", "shift": "integer", "load": "memory"}


def waste(experiment: Experiment) -> float:
    """Half as much again where multiplications meet what could go elsewhere."""
    meets = {"mul", "shift"} & set(experiment.schemes) and {"add", "sub"} & set(experiment.schemes)
    return 1.3 if meets else 1.0


class Scheduler:
    """A core that wastes: `explains` whether that can be inferred."""

    def __init__(self, *, explains: bool, width: int | None = None) -> None:
        self.explains = explains
        self.width = width

    def least_cycles(
        self, measured: Mapping[Experiment, float], *, pulse: Callable[[], None] = lambda: None
    ) -> dict[Experiment, float]:
        for _ in measured:
            pulse()
        return {}

    def simulator(
        self, mapping: PortMapping, measured: Mapping[Experiment, float], pulse: Callable[[], bool]
    ) -> Simulated | None:
        if not self.explains:
            return None

        def simulated(now: PortMapping, experiment: Experiment) -> float:
            cycles = SimulatedProcessor(now).measure([experiment])
            return next(iter(cycles)).cycles * waste(experiment)

        return simulated


class Patient(Scheduler):
    """Simulates policies as long as it may, however long that takes."""

    policies: int = 0

    def simulator(
        self, mapping: PortMapping, measured: Mapping[Experiment, float], pulse: Callable[[], bool]
    ) -> Simulated | None:
        while pulse():
            self.policies += 1
        return None


def wasteful() -> RecordedMeasurer:
    schemes = list(CORE.usage)
    mixes = [Experiment.of({first: 1}) for first in schemes]
    for number, first in enumerate(schemes):
        for second in schemes[number + 1 :]:
            mixes += [Experiment.of({first: m, second: n}) for m in range(1, 5) for n in range(1, 5)]
    results = SimulatedProcessor(CORE).measure(dict.fromkeys(mixes))
    return RecordedMeasurer(
        [replace(result, cycles=result.cycles * waste(result.experiment)) for result in results]
    )


def test_the_number_of_ports_is_found_where_none_is_given() -> None:
    found = infer(PMEvoProblem(tuple(MAPPING.usage), QUICK), SimulatedProcessor(MAPPING), Listener(), seed=1)
    assert len(found.mapping.ports) == 3
    assert found.final_error < 0.01


def test_a_number_that_is_given_counts() -> None:
    problem = PMEvoProblem(tuple(MAPPING.usage), replace(QUICK, ports=5))
    assert len(infer(problem, SimulatedProcessor(MAPPING), Listener(), seed=1).mapping.ports) == 5


def test_a_search_begins_with_the_ports_that_the_quickest_schemes_of_each_part_show() -> None:
    alone = {"add": 0.25, "shift": 0.5, "load": 0.5, "store": 1.0}
    assert first_ports(alone, PARTS, max_ports=16) == 4 + 2 + 1
    assert first_ports(alone, {}, max_ports=16) == 4
    assert first_ports(alone, PARTS, max_ports=5) == 5


@pytest.mark.parametrize(("least", "is_explained"), [(1 / 3, True), (0.27, False)])
def test_what_waits_for_registers_alone_is_not_wasted(least: float, is_explained: bool) -> None:
    """A multiplication of 1/3 cycles: six ports explain it only where its registers take as long."""
    mix, forgiven = Experiment.of({"mul": 1}), 0.2
    data = TrainingData({mix: 1 / 3}, {mix: least}, [("mul",)], np.array([1 / 3]), [None], [])
    usage = Usage.empty(1)
    usage.set_row(0, [(0b111111, 1)])
    error = data.arrays(data.times, replace(QUICK, ports=6), forgiven).point(usage).error
    assert (error <= forgiven + 1e-9) is is_explained


def test_parts_that_share_their_ports_leave_none_without_use() -> None:
    shared = PortMapping(tuple("01"), {"add": ((0b11, 1),), "vadd": ((0b11, 1),), "mul": ((0b01, 1),)})
    parts = {"add": "integer", "mul": "integer", "vadd": "vector"}
    alone = next(iter(SimulatedProcessor(shared).measure([Experiment.of({"add": 1})]))).cycles
    assert first_ports({"add": alone, "vadd": alone}, parts, max_ports=16) == 4
    problem = PMEvoProblem(tuple(shared.usage), replace(QUICK, apart=False), domains=parts)
    found = infer(problem, SimulatedProcessor(shared), Listener(), seed=1)
    assert found.final_error < 0.01
    assert len(found.mapping.ports) == 2


def test_waste_that_a_scheduler_explains_makes_no_uops() -> None:
    problem = PMEvoProblem(tuple(CORE.usage), QUICK, domains=PARTS, core=Scheduler(explains=True))
    found = infer(problem, wasteful(), Listener(), seed=1)
    assert found.simulated is not None
    assert found.scheduled_error is not None
    assert found.unscheduled_error is not None
    assert found.scheduled_error < 0.03 < found.unscheduled_error
    widths = {scheme: [mask.bit_count() for mask, _ in uops] for scheme, uops in found.mapping.usage.items()}
    assert widths == {"add": [4], "sub": [4], "mul": [2], "shift": [2], "load": [2], "store": [1]}
    assert all(count == 1 for uops in found.mapping.usage.values() for _, count in uops)


def test_policies_are_counted_however_long_they_take() -> None:
    core = Patient(explains=False)
    settings = replace(QUICK, seconds=None)
    infer(PMEvoProblem(tuple(CORE.usage), settings, domains=PARTS, core=core), wasteful(), Listener(), seed=1)
    assert core.policies > 0
    assert core.policies % MAX_POLICIES == 0


def test_rounds_end_with_the_first_that_leads_to_nothing_better() -> None:
    listener = Listener()
    problem = PMEvoProblem(tuple(CORE.usage), QUICK, domains=PARTS, core=Scheduler(explains=True))
    infer(problem, wasteful(), listener, seed=1)
    texts = [event.text for event in listener.events if isinstance(event, Log)]
    assert sum(text.startswith("round") for text in texts) == 1  # before it, everything is explained


def test_one_share_of_waste_alone_is_searched_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    random = final_stages.Usage.random

    def counted(*arguments: Any) -> Usage:
        drawn.append(1)
        return random(*arguments)

    monkeypatch.setattr(final_stages.Usage, "random", counted)
    problem = PMEvoProblem(tuple(CORE.usage), QUICK, domains=PARTS, core=Scheduler(explains=False))
    infer(problem, wasteful(), Listener(), seed=1)
    assert QUICK.starts < len(drawn) < 2 * final_stages._STARTS


def test_what_no_scheduler_explains_is_as_without() -> None:
    with_core, without = (
        infer(
            PMEvoProblem(tuple(CORE.usage), QUICK, domains=PARTS, core=core), wasteful(), Listener(), seed=1
        )
        for core in (Scheduler(explains=False), None)
    )
    assert with_core.mapping == without.mapping
    assert with_core.simulated is None


def test_slots_are_never_more_than_are_dispatched() -> None:
    core = Scheduler(explains=False, width=3)
    found = infer(
        PMEvoProblem(tuple(MAPPING.usage), QUICK, core=core), SimulatedProcessor(MAPPING), Listener(), seed=1
    )
    assert found.mapping.issue_width == 3


def test_half_of_the_time_is_left_for_times_with_waste(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0
    advance = BoundedSearch.advance

    def slow(search: BoundedSearch) -> None:
        nonlocal now
        now += 1
        advance(search)

    monkeypatch.setattr(BoundedSearch, "advance", slow)
    monkeypatch.setattr(algorithm, "PacedReporter", lambda reporter: PacedReporter(reporter, lambda: now))
    settings = replace(QUICK, perturbations=10_000, perturbation_patience=10_000, seconds=400)
    problem = PMEvoProblem(tuple(CORE.usage), settings, domains=PARTS, core=Scheduler(explains=True))
    assert infer(problem, wasteful(), Listener(), seed=1).simulated is not None


@pytest.mark.parametrize("seconds", [1.0, 3.0])
def test_a_search_ends_in_time_with_the_best_so_far(seconds: float) -> None:
    settings = replace(
        QUICK, ports=8, starts=2, rounds=50, patience=50, perturbations=10_000, seconds=seconds
    )
    listener = Listener()
    began = time.process_time()
    found = infer(PMEvoProblem(tuple(CORE.usage), settings), wasteful(), listener, seed=1)
    assert set(found.mapping.usage) == set(CORE.usage)
    assert "log" in listener.kinds()
    assert time.process_time() - began < 120  # with the time that compiling takes


ALU, LOAD, MUL, STORE, WIDE, VECTOR = 0b11, 0b100, 0b1000, 0b10000, 0b100000, 0b1100000
NARROW = PortMapping(
    tuple("0123456"),
    {
        **dict.fromkeys(("add", "sub", "and"), ((ALU, 1),)),
        **dict.fromkeys(("mul", "add shifted"), ((MUL, 1),)),
        **dict.fromkeys(("vadd", "vand"), ((VECTOR, 1),)),
        **dict.fromkeys(("load", "vload"), ((LOAD, 1),)),
        "crc": ((WIDE, 1),),
        "vmul": ((WIDE, 2),),
        "vfadd": ((VECTOR, 2),),
        "table": ((VECTOR, 3),),
        "store": ((STORE, 1),),
        "store pair": ((STORE, 2),),
        "load pair": ((LOAD, 2),),
        "extract": ((ALU, 1), (MUL, 1)),
        "load behind": ((ALU, 1), (LOAD, 1)),
        "convert": ((LOAD, 1), (VECTOR, 1)),
        "sum": ((WIDE, 1), (VECTOR, 1)),
    },
    r_max=3.0,
    issue_width=3.0,
)


def test_what_only_its_time_alone_shows_gets_ports_of_its_own() -> None:
    """Beside three slots per cycle, two ALUs limit additions alone: a sixth port explains none of that."""
    domains = {**dict.fromkeys(("add", "sub", "and"), "integer"), **dict.fromkeys(("vadd", "vand"), "vector")}
    settings = replace(QUICK, r_max=3.0, plan="adaptive")
    problem = PMEvoProblem(tuple(NARROW.usage), settings, domains=domains)
    found = infer(problem, SimulatedProcessor(NARROW), Listener(), seed=1).mapping
    ((alus, number),) = found.usage["add"]
    assert (alus.bit_count(), number) == (2, 1)
    assert found.usage["sub"] == found.usage["and"] == found.usage["add"]
    beside = [mask for scheme in ("vadd", "mul", "load", "store") for mask, _ in found.usage[scheme]]
    assert not any(mask & alus for mask in beside)
