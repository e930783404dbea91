"""Generalisations of single blocks."""

from __future__ import annotations

from anica_app.models import Campaign
from inference.isa.blocks import body_of


def explanations_of(code: bytes, most: int) -> list[Campaign]:
    """The newest generalisations of a block, with predictors, discoveries and run (three queries)."""
    rows = Campaign.objects.filter(run__kind="generalise", config__block=body_of(code).hex())
    rows = rows.select_related("run")
    return list(rows.prefetch_related("seats__predictor", "discoveries").order_by("-pk")[:most])
