"""Generalisations of single blocks."""

from __future__ import annotations

from anica_app.models import Campaign
from inference.isa.blocks import BlockName, body_of, isa_beside


def explanations_of(name: BlockName, most: int) -> list[Campaign]:
    """The newest generalisations of a block, with predictors, discoveries and run (three queries)."""
    body = body_of(name.code, name.isa).hex()
    rows = Campaign.objects.filter(run__kind="generalise", config__block=body).select_related("run")
    found = rows.prefetch_related("seats__predictor", "discoveries").order_by("-pk")
    return [row for row in found if isa_beside(row.config) == name.isa][:most]
