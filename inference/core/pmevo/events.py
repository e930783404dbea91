"""What PMEvo tells while it runs, beside what every search tells (`inference.core.events`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from inference.core.events import Plain
from inference.core.mapping import PortMapping
from inference.core.protocols import Json


@dataclass(frozen=True)
class Experiments(Plain):
    """Counts of the measuring stage so far.

    `others` are those without a usable answer, by `MeasurementState`; None where a checkpoint has forgotten
    the states. Then the payload has them all as "failed", and no other state.
    """

    kind: ClassVar[str] = "experiments"
    asked: int
    settled: int
    others: Mapping[str, int] | None

    def payload(self) -> Json:
        """The event as plain JSON data, with a count per state."""
        others = {"failed": self.asked - self.settled} if self.others is None else self.others
        return {"asked": self.asked, "settled": self.settled, **others}


@dataclass(frozen=True)
class Congruence(Plain):
    """What congruence filtering left."""

    kind: ClassVar[str] = "congruence"
    schemes: int
    classes: int


@dataclass(frozen=True)
class Generation(Plain):
    """The kept mappings of a generation: errors as D_avg fractions, volume in µops × ports (§5.1.3).

    "best" is the fittest mapping, not the extreme of each objective.
    """

    kind: ClassVar[str] = "generation"
    generation: int
    best_error: float
    mean_error: float
    best_volume: int
    mean_volume: float
    evaluations_per_second: float


@dataclass(frozen=True)
class Snapshot:
    """The fittest mapping so far with its predictions, everything that a heat map needs.

    `measured` and `predicted`: cycles, one per experiment of `on` ("held-out" or "training"), same order as
    `lengths` (instructions per experiment).
    """

    kind: ClassVar[str] = "snapshot"
    mapping: PortMapping
    measured: npt.NDArray[np.float64]
    predicted: npt.NDArray[np.float64]
    lengths: npt.NDArray[np.int64]
    on: str

    def payload(self) -> Json:
        """A line about it; the arrays are for a listener in the same process."""
        return {"on": self.on, "experiments": len(self.measured), "volume": self.mapping.volume}
