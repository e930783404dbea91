"""A campaign as a published page: its counters, its tools, and what it has discovered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from django.db.models import QuerySet

from anica_app.features.campaigns.query import discoveries
from anica_app.features.campaigns.standing import CampaignStanding, failures_in_words, standing_of
from anica_app.features.discoveries.query import in_one_line
from anica_app.features.families.publishing import PublishedFamilies
from anica_app.models import Campaign, Discovery
from inference.isa.blocks import BlockError, block_of_bytes
from inference.models import Run
from inference.web.paging import Order
from inference.web.published_page import (
    CellKind,
    PublishedColumn,
    PublishedFact,
    PublishedKind,
    PublishedPage,
    PublishedTable,
    Value,
)

_MOST_DISCOVERIES = 2000


def publishable() -> QuerySet[Campaign]:
    """Every campaign, the newest first."""
    return Campaign.objects.only("name").order_by("-pk")


def published_page(pk: int) -> PublishedPage:
    """Of a campaign, as far as it is. Raises `Campaign.DoesNotExist`."""
    row = Campaign.objects.select_related("isa", "run").get(pk=pk)
    run: Run | None = row.run if row.origin == Campaign.Origin.RUN else None
    standing = standing_of(row, run)
    tools = [tool.name for tool in row.tools]
    isa = "" if row.isa is None else row.isa.name
    kind = row.get_kind_display()
    families = PublishedFamilies(row, tools)
    return PublishedPage(
        PublishedKind.CAMPAIGN,
        row.name,
        " · ".join(filter(None, (kind, *tools, isa, f"{row.created:%Y-%m-%d}"))),
        (*families.facts, *_facts(standing)),
        (*families.tables, *_tables(row, standing, tools, families.names())),
    )


def _facts(standing: CampaignStanding) -> Iterator[PublishedFact]:
    included = f"{standing.included:,} more are included by others" if standing.included else ""
    yield PublishedFact("discoveries", f"{standing.discoveries:,}", included)
    yield PublishedFact("blocks sampled", f"{standing.sampled:,}")
    if standing.ratio is not None:
        yield PublishedFact("of them interesting", f"{100 * standing.ratio:.1f} %")
    if standing.judged is not None:
        yield PublishedFact("blocks judged", f"{standing.judged:,}")
    if standing.seconds:
        yield PublishedFact("minutes", f"{standing.seconds / 60:,.1f}")


def _tables(
    row: Campaign, standing: CampaignStanding, tools: list[str], families: Mapping[int, str]
) -> Iterator[PublishedTable]:
    found = discoveries(row, Order("interestingness", descending=True), size=_MOST_DISCOVERIES)
    heads = (
        PublishedColumn("Number", CellKind.NUMBER),
        PublishedColumn("Blocks that are like this", CellKind.TEXT),
        PublishedColumn("For example", CellKind.CODE),
        PublishedColumn("Kind", CellKind.CHOICE),
        PublishedColumn("Interestingness", CellKind.NUMBER),
        PublishedColumn("Generality", CellKind.NUMBER),
        PublishedColumn("Instructions", CellKind.NUMBER),
        PublishedColumn("Family", CellKind.TEXT),
    )
    rows = tuple(_discovery(one, families.get(one.number, "")) for one in found.rows)
    note = (
        "Interestingness: how far the tools disagree, on average. Generality: the least number of schemes "
        "of one of its instructions."
    )
    yield PublishedTable("discoveries", "Discoveries", heads, rows, note)
    failures = failures_in_words(standing.failures, tools)
    if failures:
        columns = (
            PublishedColumn("Predictor"),
            PublishedColumn("Failure"),
            PublishedColumn("Blocks", CellKind.NUMBER),
        )
        told = tuple((whose, what, count) for what, whose, count in failures)
        yield PublishedTable("failures", "Failures", columns, told)


def _discovery(row: Discovery, family: str) -> tuple[Value, ...]:
    code = bytes(row.code)
    try:
        shown = block_of_bytes(code).text if code else ""
    except BlockError:  # of an imported campaign
        shown = code.hex()
    numbers = (row.interestingness, row.generality, row.length)
    return (row.number, in_one_line(row) or row.label, shown, row.kind, *numbers, family)
