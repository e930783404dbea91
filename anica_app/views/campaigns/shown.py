"""What the page of a campaign shows, from its rows: the same while it goes on and when it has ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anica_app.core.domain.wording import Words
from anica_app.figures.rounds_chart import RoundsChart, rounds_chart
from anica_app.models import Campaign, Discovery, SampleBatch
from anica_app.queries.saying import words_of


@dataclass(frozen=True)
class Found:
    """A discovery of a table, in words where ours suffice; `covered`: of the blocks looked at, if any."""

    row: Discovery
    words: Words | None
    covered: int | None


def chart_of(campaign: Campaign) -> RoundsChart | None:
    """The share of interesting blocks in each round (one query)."""
    rows = campaign.batches.filter(purpose=SampleBatch.Purpose.ROUND, interesting__isnull=False)
    return rounds_chart(list(rows.order_by("number").values_list("number", "n", "interesting")))


def found_of(row: Discovery, covered: Mapping[int, int] | None) -> Found:
    """A row of the table; `covered`: blocks by id of the discovery."""
    return Found(row, words_of(row.abstract), None if covered is None else covered.get(row.pk, 0))
