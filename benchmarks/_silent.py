"""A listener that hears nothing: nobody watches a benchmark, and nobody interrupts it."""

from __future__ import annotations

from inference.core.protocols import Checkpoint, Event


class Silent:
    """See `inference.core.protocols.Reporter`."""

    def emit(self, event: Event) -> None:
        """Nothing."""

    def save(self, checkpoint: Checkpoint) -> None:
        """Nothing."""

    def pulse(self) -> None:
        """Goes on."""
