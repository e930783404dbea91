"""A simulated core whose scheduler wastes time, executing the very code that a harness would run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from inference.core.core_model.model import CoreModel
from inference.core.core_model.simulated_program import program_of
from inference.core.experiment import Experiment
from inference.core.simulation.policy import SchedulerPolicy
from inference.core.simulation.steady_state import simulate
from inference.core.throughput import inverse_throughput
from inference.isa.dependences import InstructionAccesses

ExperimentBody = tuple[Sequence[InstructionAccesses], int]
"""The instructions of a loop body, and how many copies of the experiment it has."""


@dataclass(frozen=True)
class ScheduledCore:
    """What is true of a simulated core.

    Args:
        model: Its µops and latencies.
        policy: Its scheduler.
        width: Slots that it dispatches per cycle.
        body: The loop body of an experiment. Raises `inference.isa.machine_bodies.CannotMeasureError`.
        memory_ports: Bit mask of ports that only load or store.
        optimal_ports: Bit mask of ports over which the scheduler spreads µops as evenly as can be, as a Zen 5
            does with those of vectors.
    """

    model: CoreModel
    policy: SchedulerPolicy
    width: int
    body: Callable[[Experiment], ExperimentBody]
    memory_ports: int = 0
    optimal_ports: int = 0

    @property
    def identity(self) -> str:
        """A digest of all that changes its times, but for the code of `body`."""
        assert self.model.mapping is not None, "a simulated core needs ports"
        latencies = sorted((scheme, sorted(pairs.items())) for scheme, pairs in self.model.latencies.items())
        facts: tuple[object, ...] = self.model.mapping.digest, latencies, self.policy, self.width
        facts += self.memory_ports, self.optimal_ports
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    def cycles(self, experiment: Experiment) -> float:
        """Cycles per execution of the experiment.

        Raises `inference.isa.machine_bodies.CannotMeasureError` and
        `inference.core.core_model.simulated_program.UndescribedSchemeError`.
        """
        accesses, copies = self.body(experiment)
        simulated = self.cycles_of(accesses) / copies
        if not self.optimal_ports:
            return simulated
        assert self.model.mapping is not None
        return max(simulated, inverse_throughput(self.model.mapping, experiment))

    def cycles_of(self, code: Sequence[InstructionAccesses]) -> float:
        """Cycles per iteration of code in a loop, for which µops on `optimal_ports` only wait.

        Raises `inference.core.core_model.simulated_program.UndescribedSchemeError`.
        """
        program = program_of(
            code, self.model, self.width, self.memory_ports, simulated_ports=~self.optimal_ports
        )
        return simulate(program, self.policy).cycles
