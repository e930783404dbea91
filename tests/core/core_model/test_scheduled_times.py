"""A core whose ports are searched for: its scheduler is inferred under one mapping, and goes with others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inference.core.core_model.scheduled_times import ScheduledTimes
from inference.core.core_model.scheduler_experiments import scheduler_experiments
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.throughput import inverse_throughput
from inference.core.waste import Simulated, wasteful_times
from inference.isa.x86.bodies import loop_body
from tests.core.core_model.test_scheduler_inference import CORE, KINDS, MODEL, PORTS, few_policies, schemes
from tests.measuring.test_scheduled_core import ADD, MULTIPLY

SCHEMES = schemes(*PORTS.usage)


@pytest.fixture(scope="module")
def measured() -> dict[Experiment, float]:
    return {one.experiment: CORE.cycles(one.experiment) for one in scheduler_experiments(KINDS)}


@pytest.fixture(scope="module")
def source() -> ScheduledTimes:
    return ScheduledTimes(MODEL, SCHEMES, lambda experiment: loop_body(experiment.terms))


@pytest.fixture(scope="module")
def mapping() -> PortMapping:
    assert MODEL.mapping is not None
    return MODEL.mapping


@pytest.fixture(scope="module")
def simulated(source: ScheduledTimes, mapping: PortMapping, measured: dict[Experiment, float]) -> Simulated:
    found = source.simulator(mapping, measured, few_policies(24))
    assert found is not None
    return found


def test_what_the_scheduler_wastes_is_told(
    source: ScheduledTimes, mapping: PortMapping, simulated: Simulated, measured: dict[Experiment, float]
) -> None:
    times = wasteful_times(measured, mapping, simulated, source.least_cycles(measured))
    assert times.error < 0.4 * times.error_of_bounds


def test_experiments_that_wait_for_registers_are_simulated_where_that_is_asked(
    source: ScheduledTimes, mapping: PortMapping, simulated: Simulated, measured: dict[Experiment, float]
) -> None:
    experiment = Experiment.of([ADD, MULTIPLY])
    cycles = CORE.cycles(experiment)
    registers = source.least_cycles({experiment: cycles})[experiment]
    assert 1.1 * inverse_throughput(mapping, experiment) < registers < 0.9 * cycles
    assert simulated(mapping, experiment) is None
    with_chains = source.with_chains().simulator(mapping, measured, few_policies(24))
    assert with_chains is not None
    assert with_chains(mapping, experiment) == pytest.approx(cycles, rel=0.05)


def test_policies_found_under_other_ports_are_tried_first(
    mapping: PortMapping, measured: dict[Experiment, float]
) -> None:
    source = ScheduledTimes(MODEL, SCHEMES, lambda experiment: loop_body(experiment.terms))
    error = source.fit(mapping, measured, few_policies(24)).error
    few = iter(range(2))
    assert source.fit(mapping, measured, lambda: next(few, None) is not None).error == error


def test_a_scheduler_goes_with_other_names_of_ports(
    mapping: PortMapping, simulated: Simulated, measured: dict[Experiment, float]
) -> None:
    last = len(mapping.ports) - 1
    turned = {
        scheme: tuple(
            sorted(
                (sum(1 << (last - port) for port in range(last + 1) if mask >> port & 1), count)
                for mask, count in uops
            )
        )
        for scheme, uops in mapping.usage.items()
    }
    renamed = replace(mapping, usage=turned)
    some = dict(list(measured.items())[:20])
    first, second = (wasteful_times(some, ports, simulated) for ports in (mapping, renamed))
    off = abs(second.predicted / first.predicted - 1)  # ties between ports are drawn at random
    assert off.mean() < 0.03
    assert (first.predicted > 1.02 * first.bounds).sum() > 5


def test_code_takes_at_least_what_its_registers_do(
    source: ScheduledTimes, measured: dict[Experiment, float]
) -> None:
    least = source.least_cycles(measured)
    assert least.keys() == measured.keys()
    assert all(least[experiment] <= 1.02 * cycles for experiment, cycles in measured.items())
    assert any(bound > 0 for bound in least.values())


def test_without_latencies_there_is_no_scheduler(
    mapping: PortMapping, measured: dict[Experiment, float]
) -> None:
    blank = ScheduledTimes(
        replace(MODEL, latencies={}), SCHEMES, lambda experiment: loop_body(experiment.terms)
    )
    assert blank.simulator(mapping, measured, lambda: True) is None
