"""A loop body as a scheduler sees it: µops with their ports and slots, and the values they wait for."""

from __future__ import annotations

from dataclasses import dataclass

from inference.core.errors import InvalidInputError

LONGEST_LATENCY = 255


@dataclass(frozen=True, slots=True)
class Wait:
    """A value that a µop waits for.

    Args:
        producer: Place of the µop in the body that makes the value.
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
            takes its slots and is over when it is dispatched.
        instruction: Place of its instruction in the body.
        slots: Dispatch slots that it takes, 0 where another µop of the instruction has them.
        latency: Cycles from its issue to the return of its result, 1 to `LONGEST_LATENCY`.
        busy: Cycles for which it keeps its port from issuing others.
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

    Raises `InvalidInputError` for a body without µops, and for a µop that cannot be executed.
    """

    uops: tuple[SimulatedUop, ...]
    ports: int
    width: int

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
        if not 1 <= uop.latency <= LONGEST_LATENCY:
            raise InvalidInputError(
                f"the latency of µop {place} must be from 1 to {LONGEST_LATENCY} cycles, not {uop.latency}"
            )
        for wait in uop.waits:
            if not 0 <= wait.producer < len(self.uops) or wait.iterations < 0:
                raise InvalidInputError(f"µop {place} waits for µop {wait.producer}, which does not exist")
            if wait.iterations == 0 and wait.producer >= place:
                raise InvalidInputError(
                    f"µop {place} waits for µop {wait.producer} of the same iteration, which comes after it"
                )
