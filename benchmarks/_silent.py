"""A listener that hears nothing: nobody watches a benchmark, and nobody interrupts it."""

from __future__ import annotations

from anica_app.core.search.findings import News
from inference.core.events import Event
from inference.core.protocols import Checkpoint


class Silent:
    """See `inference.core.protocols.Reporter`, and the keeper of a campaign."""

    def emit(self, event: Event) -> None:
        """Nothing."""

    def save(self, checkpoint: Checkpoint) -> None:
        """Nothing."""

    def pulse(self) -> None:
        """Goes on."""

    def keep(self, news: News, checkpoint: Checkpoint) -> None:
        """Nothing."""
