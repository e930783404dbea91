"""The families of campaigns that a block belongs to, as notes beside the answers of their tools."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.urls import reverse

from anica_app.core.block_domain import BlockDomain, full_domain, without_uops
from anica_app.core.domain.abstract import AbstractBlock
from anica_app.core.errors import AnicaError
from anica_app.models import Campaign, Family
from inference.isa.blocks import body_of
from inference.models import Predictor
from inference.storage.instruction_sets import of_code
from inference.web.contributions import BlockNote

_MAX_CAMPAIGNS = 10
"""Campaigns whose families are compared with a block: the newest."""

ToolKey = tuple[str, str]
"""Kind and version of a tool."""


def notes_on_block(isa: str, code: bytes, predictors: Sequence[Predictor]) -> list[BlockNote]:
    """A note for each family that covers the block, of campaigns with any of these tools."""
    keys = {_key(row) for row in predictors}
    campaigns = _campaigns(isa, keys) if keys else []
    if not campaigns:
        return []
    domain = full_domain(isa)
    sampled = domain.block_of_code(body_of(code, isa))
    if sampled is None:
        return []
    abstract = domain.represent(sampled)
    return [
        _note(family, campaign)
        for campaign in campaigns
        for family in campaign.families.prefetch_related("discoveries")
        if _covers(domain, family, abstract)
    ]


def _campaigns(isa: str, keys: Collection[ToolKey]) -> list[Campaign]:
    rows = Campaign.objects.filter(of_code(isa), families__isnull=False).distinct()
    rows = rows.prefetch_related("seats__predictor").order_by("-pk")[:_MAX_CAMPAIGNS]
    return [row for row in rows if any(_key(tool) in keys for tool in row.tools)]


def _key(row: Predictor) -> ToolKey:
    return row.sort, str(row.identity.get("version", ""))


def _covers(domain: BlockDomain, family: Family, block: AbstractBlock) -> bool:
    for discovery in family.discoveries.all():
        try:
            document, _ = without_uops(discovery.abstract)
            if domain.subsumes(domain.read(document), block):
                return True
        except AnicaError:  # of another version of this program
            continue
    return False


def _note(family: Family, campaign: Campaign) -> BlockNote:
    tools = [tool.name for tool in campaign.tools]
    slower = f", slower in {tools[family.slower - 1]}" if 0 < family.slower <= len(tools) else ""
    text = f"{family.name}{slower}: a family of {campaign.name}"
    return BlockNote(text, reverse("family", args=[family.pk]))
