"""A listener that hears nothing: nobody watches a benchmark, and nobody interrupts it."""

from __future__ import annotations

from anica_app.core.search.campaign_state import CampaignUpdate
from inference.core.events import Event
from inference.core.protocols import Checkpoint


class Silent:
    """See `inference.core.protocols.Reporter`, and the `CampaignStore`."""

    def emit(self, event: Event) -> None:
        pass

    def save(self, checkpoint: Checkpoint) -> None:
        pass

    def pulse(self) -> None:
        pass

    def save_update(self, update: CampaignUpdate, checkpoint: Checkpoint) -> None:
        pass
