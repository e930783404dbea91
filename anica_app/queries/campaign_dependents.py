"""What depends on a campaign, and what becomes of it when that is deleted."""

from __future__ import annotations

from anica_app.models import Campaign
from inference.models import Run
from inference.web.naming import GONE, Dependent, counted


def of_campaign(row: Campaign) -> list[Dependent]:
    """Its discoveries go with it; its run forbids its deletion as long as it works."""
    run = row.run if row.origin == Campaign.Origin.RUN else None
    working = run is not None and run.state not in Run.FINAL
    return [
        *([Dependent("Its run has not ended", "cancel it first", blocks=True)] if working else []),
        *counted(row.discoveries.count(), "discovery", GONE, "discoveries"),
        *counted(row.generalisations.count(), "generalisation", GONE),
        *counted(row.batches.count(), "round of blocks", GONE, "rounds of blocks"),
        *counted(row.files.count(), "file", GONE),
    ]
