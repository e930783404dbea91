"""What explainable inference tells while it runs: the funnel, the blocking instructions, the verdicts.

`number` counts all events of a search, so that one taken up again is known to repeat itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

from inference.core.explain.problem import STAGES, BlockingClass, Characterisation, SchemeFate
from inference.core.protocols import Json


@dataclass(frozen=True)
class Funnel:
    """So many schemes are left after a stage."""

    kind: ClassVar[str] = "funnel"
    stage: str
    left: int
    number: int = 0

    def payload(self) -> Json:
        """The event as plain JSON data."""
        return asdict(self)


@dataclass(frozen=True)
class Excluded:
    """Schemes that a stage has left out: (scheme, reason, the reason with its numbers)."""

    kind: ClassVar[str] = "excluded"
    stage: str
    schemes: tuple[tuple[str, str, str], ...]
    number: int = 0

    def payload(self) -> Json:
        """The event as plain JSON data."""
        schemes = [list(each) for each in self.schemes]
        return {"stage": self.stage, "schemes": schemes, "number": self.number}


@dataclass(frozen=True)
class BottleneckFound:
    """So many instructions per cycle pass beside the ports, measured or given; None: no limit was seen."""

    kind: ClassVar[str] = "bottleneck"
    r_max: float | None

    def payload(self) -> Json:
        """The event as plain JSON data."""
        return asdict(self)


@dataclass(frozen=True)
class Blocked:
    """The classes of blocking instructions (Table 6.1), with their ports as far as they are known (6.2)."""

    kind: ClassVar[str] = "blocking"
    classes: tuple[BlockingClass, ...]
    ports: tuple[str, ...]
    number: int = 0

    def payload(self) -> Json:
        """The event as plain JSON data."""
        classes = [class_json(each) for each in self.classes]
        return {"classes": classes, "ports": list(self.ports), "number": self.number}


@dataclass(frozen=True)
class Verdicts:
    """Schemes that have been tested in a run: (scheme, outcome, usage by blockers or reason)."""

    kind: ClassVar[str] = "verdicts"
    run: int
    schemes: tuple[tuple[str, str, str], ...]
    number: int = 0

    def payload(self) -> Json:
        """The event as plain JSON data."""
        return {"run": self.run, "schemes": [list(each) for each in self.schemes], "number": self.number}


def class_json(each: BlockingClass) -> Json:
    """A blocking class as plain JSON."""
    return {
        "blocker": each.blocker,
        "width": each.width,
        "mask": each.mask,
        "members": list(each.members),
        "improper": each.improper,
        "beside": [list(uop) for uop in each.beside],
    }


def funnel_of(characterisations: Sequence[Characterisation]) -> dict[str, int]:
    """How many schemes were left after each stage; after the last, those that are characterised."""
    left = len(characterisations)
    funnel = {"asked": left}
    for stage in STAGES:
        left -= sum(
            each.stage == stage and each.outcome is not SchemeFate.CHARACTERISED for each in characterisations
        )
        funnel[stage] = left
    return funnel
