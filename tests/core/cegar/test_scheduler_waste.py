"""Of mappings that explain as much, the one counts under which the scheduler takes as long as measured."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from inference.core.cegar import AmbiguityReason, CegarProblem, CegarResult, CegarSettings, Determinacy, infer
from inference.core.experiment import Experiment, Measured
from inference.core.identity import same_up_to_renaming
from inference.core.mapping import PortMapping
from inference.core.throughput import inverse_throughput
from inference.core.waste import SchedulerFit, Simulated
from inference.measuring.simulated import SimulatedProcessor
from tests.core.pmevo.small import Listener

TRUTH = PortMapping(
    tuple("0123456"),
    {
        "add": ((0b0111111, 1),),
        "imul": ((0b0000111, 1),),
        "load": ((0b1000000, 1),),
        "shift": ((0b0111000, 1),),
    },
)
SHARED = dataclasses.replace(TRUTH, usage={**TRUTH.usage, "shift": ((0b0011100, 1),)})
UNITS = {"load": "memory"} | dict.fromkeys(("add", "imul", "shift"), "integer")
MIXES = [
    Experiment.of(terms)
    for terms in ({"imul": 1, "shift": 1}, {"imul": 3, "shift": 3}, {"imul": 6, "shift": 6})
]


class Scheduler(SimulatedProcessor):
    """Multiplications beside shifts take as long as if they shared a port, a fifth more than they need.

    Args:
        is_inferred: Whether its scheduler can be.
    """

    width: int | None = 8
    mapping: PortMapping | None = None

    def __init__(self, *, is_inferred: bool = True) -> None:
        super().__init__(TRUTH)
        self.is_inferred = is_inferred

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        for measured in super().measure(experiments):
            yield dataclasses.replace(measured, cycles=inverse_throughput(SHARED, measured.experiment))

    def least_cycles(
        self, measured: Mapping[Experiment, float], *, pulse: Callable[[], None] = lambda: None
    ) -> Mapping[Experiment, float]:
        return {}

    def experiments(self, mapping: PortMapping) -> Sequence[Experiment]:
        return MIXES

    def fit(
        self, mapping: PortMapping, measured: Mapping[Experiment, float], pulse: Callable[[], bool]
    ) -> SchedulerFit:
        simulated = _wasting if self.is_inferred else inverse_throughput
        errors = [simulated(mapping, mix) / inverse_throughput(SHARED, mix) - 1 for mix in MIXES]
        return SchedulerFit(simulated if self.is_inferred else None, max(map(abs, errors)))

    def simulator(
        self, mapping: PortMapping, measured: Mapping[Experiment, float], pulse: Callable[[], bool]
    ) -> Simulated | None:
        return self.fit(mapping, measured, pulse).simulated


def _wasting(mapping: PortMapping, experiment: Experiment) -> float:
    needed = inverse_throughput(TRUTH, experiment)
    return inverse_throughput(mapping, experiment) * inverse_throughput(SHARED, experiment) / needed


def result_on(core: Scheduler) -> CegarResult:
    problem = CegarProblem(tuple(TRUTH.usage), CegarSettings(), domains=UNITS)
    return infer(problem, core, Listener(), 1, waste=core)


def is_like(mapping: PortMapping, other: PortMapping) -> bool:
    return same_up_to_renaming(dataclasses.replace(mapping, r_max=None), other)


def test_units_share_no_port_where_only_the_scheduler_explains_what_they_take() -> None:
    result = result_on(Scheduler())
    assert is_like(result.mapping, TRUTH)
    assert result.verdict is not Determinacy.UNIQUE
    reasons = {
        alternative.hidden for alternative in result.alternatives if is_like(alternative.mapping, SHARED)
    }
    assert reasons <= {AmbiguityReason.SCHEDULER, AmbiguityReason.NOISE, AmbiguityReason.UNEXPLAINED}
    assert reasons


def test_without_a_scheduler_ports_count() -> None:
    assert is_like(result_on(Scheduler(is_inferred=False)).mapping, SHARED)
