"""What is known of a core beside its ports reaches every algorithm that infers these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.waste import SchedulerFit, Simulated
from inference.features.learning.inferring.algorithm import InferenceTask
from inference.features.learning.inferring.algorithms import ALGORITHMS
from inference.measuring.simulated import SimulatedProcessor
from tests.core.explain.small import mapping_of
from tests.core.pmevo.small import Listener

ADD, SHIFT, LOAD = "add GPR[64]:RW, GPR[64]:R", "shl GPR[64]:RW, IMM[8]:R", "mov GPR[64]:W, MEM[64]:R"
TRUTH = mapping_of("01234", {ADD: "012", SHIFT: "12", LOAD: "34"})


class Facts:
    """Of a core that wastes nothing: whether a search asks what code takes on any ports."""

    width: int | None = None
    mapping: PortMapping | None = TRUTH
    is_consulted = False

    def with_chains(self) -> Facts:
        return self

    def least_cycles(
        self, measured: Mapping[Experiment, float], *, pulse: Callable[[], None] = lambda: None
    ) -> Mapping[Experiment, float]:
        self.is_consulted = True
        return {}

    def experiments(self, mapping: PortMapping) -> Sequence[Experiment]:
        return ()

    def fit(
        self, mapping: PortMapping, measured: Mapping[Experiment, float], pulse: Callable[[], bool]
    ) -> SchedulerFit:
        return SchedulerFit(self.simulator(mapping, measured, pulse), 0.0)

    def simulator(
        self, mapping: PortMapping, measured: Mapping[Experiment, float], pulse: Callable[[], bool]
    ) -> Simulated | None:
        self.is_consulted = True
        return None


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_every_algorithm_consults_what_is_known_of_the_core(name: str) -> None:
    algorithm, facts = ALGORITHMS[name], Facts()
    settings = algorithm.settings(ports=5)
    task = InferenceTask((ADD, SHIFT, LOAD), settings, {}, [], 0, facts)
    algorithm.infer(task, SimulatedProcessor(TRUTH), Listener(), None)
    assert facts.is_consulted
