"""A processor small enough to infer in a test, and a listener that remembers."""

from __future__ import annotations

from collections.abc import Callable

from inference.core.checkpoint import decode, encode
from inference.core.errors import InterruptedRunError
from inference.core.events import Event
from inference.core.mapping import PortMapping
from inference.core.pmevo import PMEvoProblem, PMEvoSettings
from inference.core.protocols import Checkpoint
from inference.measuring.simulated import SimulatedProcessor

MAPPING = PortMapping(
    ("0", "1", "2"),
    {
        "add": ((0b011, 1),),
        "sub": ((0b011, 1),),
        "mul": ((0b001, 1),),
        "load": ((0b100, 1),),
        "store": ((0b011, 1), (0b100, 1)),
    },
)
SETTINGS = PMEvoSettings(
    ports=3,
    search="evolution",
    plan="exhaustive",
    population=200,
    max_generations=12,
    inheritance="split",
    mutation=0.0,
    parents="uniform",
    volume_weight=0.1,
    climb_share=0.02,
    threads=1,
)


def processor(seed: int = 5) -> SimulatedProcessor:
    return SimulatedProcessor(MAPPING, noise=0.004, seed=seed)


def problem(settings: PMEvoSettings = SETTINGS) -> PMEvoProblem:
    return PMEvoProblem(tuple(MAPPING.usage), settings)


class Listener:
    """Remembers events and checkpoints (as bytes); stops the search at a pulse if told to."""

    def __init__(self, stop: Callable[[Listener], bool] = lambda listener: False) -> None:
        self.events: list[Event] = []
        self.saved: list[bytes] = []
        self._stop = stop

    def emit(self, event: Event) -> None:
        self.events.append(event)

    def save(self, checkpoint: Checkpoint) -> None:
        self.saved.append(encode(checkpoint))

    def pulse(self) -> None:
        if self._stop(self):
            raise InterruptedRunError("pause")

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    def last(self) -> Checkpoint:
        return decode(self.saved[-1])
