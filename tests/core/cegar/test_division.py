"""Which parts of a core are searched apart, where the core wastes time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import pytest

from inference.core.cegar import CegarProblem, CegarResult, CegarSettings, infer
from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping
from inference.core.throughput import inverse_throughput
from inference.core.waste import SchedulerFit, Simulated
from inference.measuring.simulated import SimulatedProcessor
from tests.core.pmevo.small import Listener

TRUTH = PortMapping(
    tuple(map(str, range(14))),
    {
        "add": ((0b111111, 1),),
        "imul": ((0b000111, 1),),
        "shift": ((0b111000, 1),),
        "load": ((0b1111 << 6, 1),),
        "vector": ((0b1111 << 10, 1),),
    },
    issue_width=8,
)
UNLIMITED = dataclasses.replace(TRUTH, issue_width=14)
DOMAINS = {"load": "memory", "vector": "vector"} | dict.fromkeys(("add", "imul", "shift"), "integer")
APART = {("integer", "memory"), ("integer", "vector"), ("memory", "vector")}


class WastefulCore(SimulatedProcessor):
    """Takes longer for some schemes together; `tells_least`: and says that their code does."""

    width: int | None = 8
    mapping: PortMapping | None = None

    def __init__(
        self, *schemes: str, factor: float = 1.0, tells_least: bool = False, truth: PortMapping = TRUTH
    ) -> None:
        super().__init__(truth)
        self.schemes = frozenset(schemes)
        self.factor = factor
        self.tells_least = tells_least

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        for each in super().measure(experiments):
            assert each.cycles is not None
            yield dataclasses.replace(each, cycles=max(each.cycles, self._slowed(each.experiment)))

    def _slowed(self, experiment: Experiment) -> float:
        together = {scheme: count for scheme, count in experiment.terms if scheme in self.schemes}
        if not together or together.keys() != self.schemes:
            return 0.0
        return self.factor * inverse_throughput(self._truth, Experiment.of(together))

    def least_cycles(
        self, measured: Mapping[Experiment, float], *, pulse: Callable[[], None] = lambda: None
    ) -> Mapping[Experiment, float]:
        return {experiment: self._slowed(experiment) for experiment in measured} if self.tells_least else {}

    def experiments(self, mapping: PortMapping) -> Sequence[Experiment]:
        return ()

    def fit(
        self, mapping: PortMapping, measured: Mapping[Experiment, float], pulse: Callable[[], bool]
    ) -> SchedulerFit:
        return SchedulerFit(self.simulator(mapping, measured, pulse), 0.0)

    def simulator(
        self, mapping: PortMapping, measured: Mapping[Experiment, float], pulse: Callable[[], bool]
    ) -> Simulated | None:
        return None


def result_on(core: WastefulCore) -> CegarResult:
    problem = CegarProblem(tuple(TRUTH.usage), CegarSettings(), domains=DOMAINS)
    return infer(problem, core, Listener(), 1, waste=core)


@pytest.mark.parametrize(
    "core",
    [
        pytest.param(WastefulCore("add", "load", factor=1.06), id="beyond the bottleneck"),
        pytest.param(WastefulCore("imul", "shift", factor=1.3), id="within a part"),
        pytest.param(
            WastefulCore("imul", "shift", "load", factor=1.6, truth=UNLIMITED),
            id="beyond parts that pairs show apart",
        ),
        pytest.param(WastefulCore("imul", "load", factor=1.3, tells_least=True), id="registers"),
    ],
)
def test_what_a_core_wastes_joins_no_parts(core: WastefulCore) -> None:
    assert set(result_on(core).apart) == APART


def test_parts_that_share_ports_are_joined() -> None:
    sharing = dataclasses.replace(TRUTH, usage={**TRUTH.usage, "load": ((0b1111 << 5, 1),)}, issue_width=14)
    assert ("integer", "memory") not in result_on(WastefulCore(truth=sharing)).apart
