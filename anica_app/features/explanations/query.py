"""Generalisations of single blocks."""

from __future__ import annotations

from anica_app.models import Campaign
from inference.isa.blocks import BlockName, body_of
from inference.storage.instruction_sets import of_isa


def explanations_of(name: BlockName, most: int) -> list[Campaign]:
    """The newest generalisations of a block, with predictors, discoveries and run (three queries)."""
    body = body_of(name.code, name.isa).hex()
    rows = Campaign.objects.filter(of_isa(name.isa), run__kind="generalise", config__block=body)
    found = rows.select_related("run").prefetch_related("seats__predictor", "discoveries")
    return list(found.order_by("-pk")[:most])
