"""What a campaign tells of its families while it goes on."""

from __future__ import annotations

from anica_app.features.families.query import GROWING
from inference.formats.archived_parts import ArchivedPart
from inference.formats.journal_events import JournalEvent
from inference.isa.targets import DEFAULT


class GrowingFamily(ArchivedPart):
    """A family so far; `members` counts its discoveries."""

    name: str
    isa: str = DEFAULT
    witness: str
    members: int
    predictions: list[list[float | None]]


class GrowingFamiliesEvent(JournalEvent):
    """The families so far, by the classes of their instructions: nobody has asked for causes yet."""

    kind = GROWING
    replaced = True
    bulky = True
    families: list[GrowingFamily]
