"""What every search tells while it runs: frozen values with a stable `kind` and a JSON payload."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import ClassVar

from inference.core.protocols import Json


class Plain:
    """The payload is the fields."""

    def payload(self) -> Json:
        """The event as plain JSON data."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]


@dataclass(frozen=True)
class PhaseStarted(Plain):
    """A stage begins; `index` counts from 1, `labels` are those of all stages in order."""

    kind: ClassVar[str] = "phase"
    name: str
    index: int
    labels: tuple[str, ...]

    def payload(self) -> Json:
        """The event as plain JSON data."""
        return {**super().payload(), "labels": list(self.labels)}


@dataclass(frozen=True)
class Progress(Plain):
    """How far the stage is; `rate` in units per second, `eta` in seconds where it can be told."""

    kind: ClassVar[str] = "progress"
    phase: str
    done: int
    total: int
    rate: float
    unit: str
    eta: float | None


@dataclass(frozen=True)
class Log(Plain):
    """A sentence for the reader; level is "info" or "warning"."""

    kind: ClassVar[str] = "log"
    level: str
    text: str
