"""The blocks of a set about which two of its columns disagree."""

from __future__ import annotations

from django.db.models import Case, F, FilteredRelation, FloatField, Q, Value, When
from django.db.models.functions import Abs

from anica_app.core.search.judging import ABSOLUTE
from anica_app.models import BasicBlock, BlockColumn
from inference.web.paging import PAGE_SIZE, Order, Page, page_of

ORDERS = {"position": "position", "difference": "apart", "first": "first", "second": "second"}


def differing_blocks(
    first: BlockColumn,
    second: BlockColumn,
    metric: str,
    threshold: float,
    order: Order,
    cursor: str = "",
    size: int = PAGE_SIZE,
) -> Page[BasicBlock]:
    """A page of the blocks for which both gave a number and these are far apart (two queries).

    Each has `first` and `second`, the cycles, and `apart`, their difference in cycles or by the mean of both.
    """
    rows = BasicBlock.objects.filter(block_set=first.block_set_id).annotate(
        by_first=FilteredRelation("predictions", condition=Q(predictions__column=first)),
        by_second=FilteredRelation("predictions", condition=Q(predictions__column=second)),
    )
    rows = rows.filter(by_first__cycles__isnull=False, by_second__cycles__isnull=False).annotate(
        first=F("by_first__cycles"), second=F("by_second__cycles")
    )
    rows = rows.annotate(apart=_apart(metric))
    return page_of(rows.filter(apart__gt=threshold), order, ORDERS, cursor, size)


def _apart(metric: str) -> Case | Abs:
    apart = Abs(F("first") - F("second"))
    if metric == ABSOLUTE:
        return apart
    total = F("first") + F("second")
    return Case(
        When(first__lte=-F("second"), then=Value(0.0)), default=2 * apart / total, output_field=FloatField()
    )
