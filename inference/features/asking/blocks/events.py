"""What a run that measures basic blocks tells."""

from __future__ import annotations

from inference.formats.archived_parts import Amount, Count, Signed
from inference.formats.journal_events import JournalEvent


class BlockEvent(JournalEvent):
    """A block has been measured."""

    kind = "block"
    index: Count
    state: str
    cycles: Amount | None = None
    spread: Amount | None = None
    passes: Count = 0
    note: str = ""
    counters: dict[str, Signed] = {}
