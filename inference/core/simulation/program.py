"""The input of a simulation: a loop body as a scheduler sees it, and the policy by which µops get ports.

A `SimulatedProgram` has µops with their ports and slots, and the values that they wait for; a
`SchedulerPolicy` has the parameters of the simulation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from inference.core.errors import InvalidInputError
from inference.core.tunables import check_integer

MAX_LATENCY = 255
"""Cycles: the kernel's calendar of result buses has a place for each, and no register result takes longer."""

INTERVAL_PARTS = 1024
"""Parts of a cycle in which the simulation counts `SimulatedProgram.interval`."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A value that a µop waits for.

    Args:
        producer: Index of the µop in the body that computes the value.
        iterations: How many iterations ago; 0 for the same one, in which the producer comes first.
        cycles: From the producer's issue to the earliest issue of the consumer.
    """

    producer: int
    iterations: int
    cycles: int


@dataclass(frozen=True, slots=True)
class SimulatedUop:
    """One µop of a loop body.

    Args:
        ports: Bit mask of ports that can execute it; 0 for a µop that needs none, such as that of a NOP: it
            takes its slots and is complete when it is dispatched.
        instruction: Index of its instruction in the body.
        slots: Dispatch slots that it takes, 0 where another µop of the instruction has them.
        latency: Cycles from its issue to the return of its result, 1 to `MAX_LATENCY`.
        busy: Cycles for which its port cannot issue another µop.
        waits: The values that it needs; none for a µop without ports.
    """

    ports: int
    instruction: int
    slots: int = 1
    latency: int = 1
    busy: int = 1
    waits: tuple[Wait, ...] = ()


@dataclass(frozen=True)
class SimulatedProgram:
    """A loop body on a core with `ports` ports that dispatches `width` slots per cycle.

    `interval`: the fewest cycles from iteration to iteration by what is not simulated, such as fetching: the
    first µop of iteration k is not dispatched before cycle k × `interval`.

    Raises:
        InvalidInputError: For a body without µops, or a µop that cannot be executed.
    """

    uops: tuple[SimulatedUop, ...]
    ports: int
    width: int
    interval: float = 0.0

    def __post_init__(self) -> None:
        if not self.uops:
            raise InvalidInputError("a simulated loop body needs at least one µop")
        for place, uop in enumerate(self.uops):
            self._check(place, uop)

    def _check(self, place: int, uop: SimulatedUop) -> None:
        if uop.ports >> self.ports:
            raise InvalidInputError(f"µop {place} names a port beyond the {self.ports} there are")
        if not uop.ports and uop.waits:
            raise InvalidInputError(
                f"µop {place} needs no port, so it cannot wait: what waits for it has to wait for its sources"
            )
        if not 1 <= uop.latency <= MAX_LATENCY:
            raise InvalidInputError(
                f"the latency of µop {place} must be from 1 to {MAX_LATENCY} cycles, not {uop.latency}"
            )
        for wait in uop.waits:
            if not 0 <= wait.producer < len(self.uops) or wait.iterations < 0:
                raise InvalidInputError(f"µop {place} waits for µop {wait.producer}, which does not exist")
            if wait.iterations == 0 and wait.producer >= place:
                raise InvalidInputError(
                    f"µop {place} waits for µop {wait.producer} of the same iteration, which comes after it"
                )


class Binding(StrEnum):
    """When a µop gets its port, and how the port is chosen."""

    LEAST_LOADED = "least loaded"  # at dispatch, the port at which the fewest µops wait
    ROUND_ROBIN = "round robin"  # at dispatch, ports in turn
    RANDOM = "random"  # at dispatch
    AT_ISSUE = "at issue"  # the oldest ready µops take whichever of their ports are free
    EVEN = "even"  # at dispatch, the port to which the fewest µops have been bound so far
    IN_ORDER = (
        "in order"  # nothing is queued: a µop is dispatched when it issues, and none before an older one
    )


@dataclass(frozen=True, slots=True)
class SharedResultBus:
    """A result bus that several ports share with others.

    Results of more than one cycle of µops on `ports` (bit mask), at most one per cycle, return on the result
    bus of one of the ports `buses`, which take turns. They do not conflict with results of the same ports
    that return in the same cycle.
    """

    ports: int
    buses: int


@dataclass(frozen=True, slots=True)
class SchedulerPolicy:
    """A scheduler. The defaults lose nothing except by binding at dispatch.

    Args:
        binding: How a µop gets its port.
        load_age: Cycles by which the compared queue lengths are out of date; with 0, µops count that were
            dispatched earlier in the same cycle.
        load_step: Queue lengths are compared in steps of so many µops. Ties are broken at random.
        queue: Largest number of µops that wait at one port. Dispatch stops at a µop whose port has no room,
            even if another port has.
        queued: Largest number of waiting µops in all.
        window: Largest distance from the oldest µop that has not issued to the newest dispatched one.
        writeback_conflicts: A result bus returns one result per cycle. The port of a µop whose result would
            come second issues nothing in that cycle.
        speculative_select: A µop requests its port one cycle after its one-cycle producer has requested its
            own. Where that was not granted, the slot is lost.
        shared_buses: Ports that return results on buses of others.
        completes_in_order: With `Binding.IN_ORDER`, a µop does not issue as long as its result would return
            before one of an older µop.

    Raises:
        InvalidInputError: For parameters out of range, or that are not compatible.
    """

    binding: Binding = Binding.LEAST_LOADED
    load_age: int = 0
    load_step: int = 1
    queue: int = 16
    queued: int = 96
    window: int = 256
    writeback_conflicts: bool = False
    speculative_select: bool = False
    shared_buses: tuple[SharedResultBus, ...] = ()
    completes_in_order: bool = False

    def __post_init__(self) -> None:
        for name, minimum, maximum in (
            ("load_age", 0, 4),
            ("load_step", 1, 16),
            ("queue", 1, 512),
            ("queued", 1, 1024),
            ("window", 1, 4096),
        ):
            check_integer(name, getattr(self, name), minimum, maximum)
        if self.binding in (Binding.AT_ISSUE, Binding.IN_ORDER) and self.speculative_select:
            raise InvalidInputError(
                "speculative_select needs queues of single ports: with this binding it must be False"
            )
        if self.completes_in_order and self.binding is not Binding.IN_ORDER:
            raise InvalidInputError("completes_in_order is a property of cores that issue in order")
        if self.shared_buses and not self.writeback_conflicts:
            raise InvalidInputError("shared_buses say where results conflict: set writeback_conflicts, too")


@dataclass(frozen=True)
class IssueOrder:
    """Whether instructions wait for the ones before them.

    Args:
        in_order: No instruction issues before an older one.
        completes_in_order: As in `SchedulerPolicy`; False where it is not known.
        stages: {scheme: cycles from its issue until it needs its sources}, of a core that issues in order;
            0 for others. Latencies do not include them. Only results of schemes with a stage are forwarded
            to stages: what others wait for has to be there when they issue.
    """

    in_order: bool
    completes_in_order: bool = False
    stages: Mapping[str, int] = field(default_factory=dict)

    @property
    def policy(self) -> SchedulerPolicy:
        """That of a core that issues in order."""
        return SchedulerPolicy(Binding.IN_ORDER, completes_in_order=self.completes_in_order)

    @property
    def text(self) -> str:
        return "in program order" if self.in_order else "out of order"

    def stage(self, scheme: str | None) -> int:
        return self.stages.get(scheme or "", 0)

    def apart(self, producer: str | None, consumer: str | None, cycles: int) -> int:
        """Cycles between the issues of two schemes, with so many of latency between them; at least 1."""
        stage = self.stage(producer)
        return max(cycles + stage - min(stage, 1) * self.stage(consumer), 1)
