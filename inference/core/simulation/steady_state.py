"""Cycles that a loop takes per iteration once its queues are full, and the timeline of each µop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inference.core.compiled_mark import is_cached
from inference.core.simulation.program import (
    INTERVAL_PARTS,
    Binding,
    SchedulerPolicy,
    SimulatedProgram,
    SimulatedUop,
)
from inference.core.tables import Int64s

if TYPE_CHECKING:
    from inference.core.simulation.issuing import KernelPolicy, KernelProgram

WARM_UP_UOPS = 600
"""µops before the iterations that count: more than queues and window hold by default."""

COUNTED_UOPS = 2400
"""Smallest number of µops that count: an iteration that ends a cycle early then changes a result by less than
0.5 %."""

_MIN_ITERATIONS = 4  # of bodies with so many µops that fewer would do
_MAX_CYCLES_PER_UOP = 400  # more than `MAX_LATENCY`, so that a simulation ends with its last µop
_BINDINGS = tuple(Binding)


@dataclass(frozen=True)
class Simulation:
    """A loop on a scheduler.

    Args:
        cycles: Per iteration, in the steady state.
        dispatched: int64[iterations, µops], the cycle in which each µop was dispatched.
        port: int64[iterations, µops], the port that executed each, -1 for those without.
        issued: int64[iterations, µops], the cycle in which each was issued; of a µop without ports, that of
            its dispatch.
    """

    cycles: float
    dispatched: Int64s
    port: Int64s
    issued: Int64s


def simulate(program: SimulatedProgram, policy: SchedulerPolicy, seed: int = 0) -> Simulation:
    """Execute a loop body until its time per iteration is steady.

    Args:
        program: At least one µop; the body of the loop.
        policy: The scheduler.
        seed: Seed of the policy's random choices; equal seeds give equal results.

    Returns:
        Cycles per iteration, counted over at least `COUNTED_UOPS` µops after a warm-up of `WARM_UP_UOPS`.
    """
    n = len(program.uops)
    warm_up = max(_MIN_ITERATIONS, -(-WARM_UP_UOPS // n))
    counted = max(_MIN_ITERATIONS, -(-COUNTED_UOPS // n))
    dispatched, port, issued = execute(program, policy, warm_up + counted, seed)
    ends = np.maximum.accumulate(issued.max(axis=1))
    return Simulation(float(ends[-1] - ends[warm_up - 1]) / counted, dispatched, port, issued)


_loaded: list[bool] = []  # not empty once this process has simulated something


def is_compiled() -> bool:
    """Whether a simulation begins at once, rather than after half a minute of compiling."""
    return bool(_loaded) or is_cached("simulation", "kernel.run")


def compile_simulation() -> None:
    """Compile the simulation, so that `is_compiled` holds."""
    execute(SimulatedProgram((SimulatedUop(1, 0),), 1, 1), SchedulerPolicy(), 1)


def execute(
    program: SimulatedProgram, policy: SchedulerPolicy, iterations: int, seed: int = 0
) -> tuple[Int64s, Int64s, Int64s]:
    """Execute a loop body `iterations` times: `dispatched`, `port` and `issued`, as in `Simulation`."""
    from inference.core.simulation import issuing, kernel  # loads numba

    n = len(program.uops)
    longest_wait = max((wait.cycles for uop in program.uops for wait in uop.waits), default=0)
    timeline = issuing.KernelTimeline(*(np.full(n * iterations, issuing.NEVER) for _ in range(3)))
    kernel.run(
        _kernel_program(program.uops),
        _kernel_policy(program, policy),
        iterations,
        (_MAX_CYCLES_PER_UOP + longest_wait + round(program.interval)) * n * iterations,
        seed,
        timeline,
    )
    _loaded[:] = [True]
    dispatched, port, issued = (column.reshape(iterations, n) for column in timeline)
    return dispatched, port, issued


def _kernel_program(uops: tuple[SimulatedUop, ...]) -> KernelProgram:
    from inference.core.simulation.issuing import KernelProgram  # loads numba

    waits = [wait for uop in uops for wait in uop.waits]
    return KernelProgram(
        _column(uop.ports for uop in uops),
        _column(uop.slots for uop in uops),
        _column(uop.latency for uop in uops),
        _column(uop.busy for uop in uops),
        np.cumsum([0, *(len(uop.waits) for uop in uops)]),
        _column(wait.producer for wait in waits),
        _column(wait.iterations for wait in waits),
        _column(wait.cycles for wait in waits),
    )


def _kernel_policy(program: SimulatedProgram, policy: SchedulerPolicy) -> KernelPolicy:
    from inference.core.simulation.issuing import KernelPolicy  # loads numba

    return KernelPolicy(
        program.ports,
        program.width,
        round(program.interval * INTERVAL_PARTS),
        _BINDINGS.index(policy.binding),
        policy.load_age,
        policy.load_step,
        policy.queue,
        policy.queued,
        policy.window,
        policy.writeback_conflicts,
        policy.speculative_select,
        _column(shared.ports for shared in policy.shared_buses),
        _column(shared.buses for shared in policy.shared_buses),
        policy.completes_in_order,
    )


def _column(values: Iterable[int]) -> Int64s:
    return np.fromiter(values, dtype=np.int64)
