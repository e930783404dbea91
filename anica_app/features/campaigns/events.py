"""What a campaign tells."""

from __future__ import annotations

from anica_app.core.domain.wording import in_one_line
from inference.core.protocols import Json
from inference.formats.journal_events import JournalEvent


class CountersEvent(JournalEvent):
    """Where the campaign stands."""

    kind = "counters"
    replaced = True


class RoundEvent(JournalEvent):
    """A round of fresh blocks is through."""

    kind = "batch"
    counted_by = "round"


class DiscoveryEvent(JournalEvent):
    """Something new was found."""

    kind = "discovery"
    counted_by = "number"

    @staticmethod
    def line(payload: Json) -> str:
        """Its number, and the abstract block in words."""
        return f"  {payload['number']}. {in_one_line(payload['abstract'])}"
