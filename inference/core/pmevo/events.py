"""What PMEvo tells while it runs: frozen values with a stable `kind` and a JSON payload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from inference.core.mapping import PortMapping
from inference.core.protocols import Json


class _Plain:
    """The payload is the fields."""

    def payload(self) -> Json:
        """The event as plain JSON data."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]


@dataclass(frozen=True)
class PhaseStarted(_Plain):
    """A stage begins; `index` counts from 1, `labels` are those of all stages in order."""

    kind: ClassVar[str] = "phase"
    name: str
    index: int
    labels: tuple[str, ...]

    def payload(self) -> Json:
        """The event as plain JSON data."""
        return {**super().payload(), "labels": list(self.labels)}


@dataclass(frozen=True)
class Progress(_Plain):
    """How far the stage is; `rate` in units per second, `eta` in seconds where it can be told."""

    kind: ClassVar[str] = "progress"
    phase: str
    done: int
    total: int
    rate: float
    unit: str
    eta: float | None


@dataclass(frozen=True)
class Log(_Plain):
    """A sentence for the reader; level is "info" or "warning"."""

    kind: ClassVar[str] = "log"
    level: str
    text: str


@dataclass(frozen=True)
class Experiments(_Plain):
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
class Congruence(_Plain):
    """What congruence filtering left."""

    kind: ClassVar[str] = "congruence"
    schemes: int
    classes: int


@dataclass(frozen=True)
class Generation(_Plain):
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
