"""Events about the families of a running campaign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from inference.core.events import Event
from inference.isa.targets import DEFAULT


@dataclass(frozen=True)
class PartialFamily:
    """A family so far; `members` counts its discoveries."""

    name: str
    isa: str = field(default=DEFAULT, kw_only=True)
    witness: str
    members: int
    predictions: Sequence[Sequence[float | None]]


@dataclass(frozen=True)
class FamiliesEvent(Event):
    """The families so far, by classes of instructions; causes are only looked for at the end."""

    kind = "families"
    replaced = True
    bulky = True
    families: Sequence[PartialFamily]
