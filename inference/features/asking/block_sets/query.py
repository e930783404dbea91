"""Basic-block sets and their blocks, paged, with what every column says of them and how columns differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import (
    Case,
    Count,
    Exists,
    F,
    FilteredRelation,
    FloatField,
    IntegerField,
    Max,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Abs, Coalesce
from django.urls import reverse

from inference.core.protocols import Json
from inference.features.running.runs.kind_presentation import DescriptionItem, RunOutcome, links
from inference.formats.errors import ExchangeError
from inference.isa.targets import DEFAULT, target_of
from inference.models import BasicBlock, BasicBlockSet, BlockColumn, Prediction, Predictor, Run
from inference.predictors.protocol import Answer, Failure
from inference.web.contributions import Dependent
from inference.web.deleting import ENDED, GONE, NEEDED, counted
from inference.web.paging import PAGE_SIZE, Order, Page, having_words, page_of

SET_ORDERS: Mapping[str, str] = {
    "newest": "id",
    "name": "name",
    "blocks": "size",
    "columns": "column_count",
}
BLOCK_ORDERS: Mapping[str, str] = {"position": "position", "length": "length", "weight": "weight_or_0"}
"""What lists can be sorted by, and the field for it; blocks by the number of a column too: `column_order`."""

BY_COLUMN = "column"
_WORD = re.compile(r"-?[a-z][a-z0-9_]*\*?")


class ColumnKind(StrEnum):
    """What a column may have for a block."""

    NUMBER = "number"
    FAILURE = "failure"
    NOTHING = "nothing"


@dataclass(frozen=True)
class ShownSet:
    """A set with its columns, as its page shows it."""

    row: BasicBlockSet
    columns: list[BlockColumn]


@dataclass(frozen=True)
class BlockFilter:
    """Which blocks of a set are looked at.

    `search`: words for mnemonics, all of which a block must have, "imul", "vp*", or not have, "-div".
    Other names of a mnemonic mean it as well: "imulq".
    `length`: how many instructions. `column` with `told`: the id of a column, and what that has for them.
    """

    search: str = ""
    length: int | None = None
    column: int | None = None
    told: ColumnKind | None = None


@dataclass(frozen=True)
class Answered:
    """A block with what each column of its set says, None where it was not asked."""

    block: BasicBlock
    answers: tuple[Answer | None, ...]


def block_sets(text: str = "") -> QuerySet[BasicBlockSet]:
    """All sets with `column_count`, those with a text in name or note where one is given."""
    counts = BlockColumn.objects.filter(block_set=OuterRef("pk")).order_by().values("block_set")
    counted = Subquery(counts.annotate(n=Count("pk")).values("n"), output_field=IntegerField())
    rows = BasicBlockSet.objects.defer("report").annotate(column_count=Coalesce(counted, Value(0)))
    return rows.filter(having_words(text)) if text else rows


def columns_of(block_set: BasicBlockSet) -> list[BlockColumn]:
    """The columns of a set, in order, with their predictors."""
    return list(block_set.columns.select_related("predictor").order_by("position"))


def column_order(column: int) -> str:
    """How an order by the number of a column is written."""
    return f"{BY_COLUMN}-{column}"


def block_orders(columns: Sequence[BlockColumn]) -> dict[str, str]:
    """All orders that the table of a set knows."""
    return {**BLOCK_ORDERS, **{column_order(column.pk): "cycles" for column in columns}}


def blocks_of(
    block_set: BasicBlockSet,
    columns: Sequence[BlockColumn],
    looked: BlockFilter,
    order: Order,
    cursor: str = "",
    size: int = PAGE_SIZE,
) -> Page[Answered]:
    """A page of the blocks of a set (three queries). Raises `ExchangeError` for a search that says nothing.

    Sorted by a column, those are listed for which it has a number.
    """
    rows = chosen_blocks(block_set, looked)
    found: Page[BasicBlock]
    if order.column in BLOCK_ORDERS:
        rows = rows.annotate(weight_or_0=Coalesce("weight", Value(0.0)))
        found = page_of(rows, order, BLOCK_ORDERS, cursor, size)
    else:
        found = _by_column(rows, looked, order, cursor, size)
    answered = answers_of(found.rows, columns)
    return Page(answered, found.total, found.next_cursor, found.previous_cursor)


def chosen_blocks(block_set: BasicBlockSet, looked: BlockFilter) -> QuerySet[BasicBlock]:
    """Those that are looked at. Raises `ExchangeError`."""
    rows = block_set.blocks.filter(_has_mnemonics(looked.search))
    if looked.length is not None:
        rows = rows.filter(length=looked.length)
    if looked.column is not None and looked.told is not None:
        of_column = Prediction.objects.filter(column=looked.column, block=OuterRef("pk"))
        if looked.told is ColumnKind.NOTHING:
            return rows.filter(~Exists(of_column))
        return rows.filter(Exists(of_column.filter(cycles__isnull=looked.told is ColumnKind.FAILURE)))
    return rows


def answers_of(blocks: Sequence[BasicBlock], columns: Sequence[BlockColumn]) -> list[Answered]:
    """Blocks with what the columns say (one query)."""
    place = {column.pk: at for at, column in enumerate(columns)}
    found: dict[int, list[Answer | None]] = {block.pk: [None] * len(columns) for block in blocks}
    rows = Prediction.objects.filter(block__in=list(found), column__in=list(place))
    for block, column, cycles, failure in rows.values_list("block_id", "column_id", "cycles", "failure"):
        found[block][place[column]] = Answer(cycles, Failure(failure) if failure else None)
    return [Answered(block, tuple(found[block.pk])) for block in blocks]


def _by_column(
    rows: QuerySet[BasicBlock], looked: BlockFilter, order: Order, cursor: str, size: int
) -> Page[BasicBlock]:
    """Through the index over the numbers of the column, which is in their order."""
    numbers = Prediction.objects.filter(column=int(order.column.rpartition("-")[2]), cycles__isnull=False)
    if looked != BlockFilter():
        numbers = numbers.filter(block__in=rows)
    page = page_of(numbers.select_related("block"), order, {order.column: "cycles"}, cursor, size)
    return Page([row.block for row in page.rows], page.total, page.next_cursor, page.previous_cursor)


def _has_mnemonics(search: str) -> Q:
    wanted, names = Q(), target_of(DEFAULT).names
    for word in search.lower().split():
        if not _WORD.fullmatch(word):
            raise ExchangeError(
                f"{word[:40]!r} is no mnemonic: write `imul` for blocks that have one, `vp*` for any that "
                "begins so, `-div` for blocks without"
            )
        name = word.removeprefix("-")
        begins = name.removesuffix("*")
        named = (
            [begins] if name.endswith("*") else [f"{one} " for one in {name, *names.mnemonics_named(name)}]
        )
        one = reduce(or_, (Q(mnemonics__contains=f" {each}") for each in sorted(named)))
        wanted &= ~one if word.startswith("-") else one
    return wanted


def blocks_at(block_set: BasicBlockSet, positions: Sequence[int]) -> list[BasicBlock]:
    """The blocks at these places, in the order of the places (one query)."""
    rows = {row.position: row for row in block_set.blocks.filter(position__in=list(positions))}
    return [rows[position] for position in positions if position in rows]


@dataclass(frozen=True)
class ColumnNumbers:
    """Of `blocks`, how many it has a number for, how many its tool failed on; the range of the numbers."""

    blocks: int
    numbers: int
    failures: int
    least: float | None
    most: float | None

    @property
    def nothing(self) -> int:
        """Blocks that the tool was not asked about."""
        return self.blocks - self.numbers - self.failures

    @property
    def share(self) -> float | None:
        """The share of the blocks for which there is a number."""
        return self.numbers / self.blocks if self.blocks else None


def numbers_of(
    block_set: BasicBlockSet, columns: Sequence[BlockColumn]
) -> list[tuple[BlockColumn, ColumnNumbers]]:
    """Each column with its numbers (one query, over an index alone)."""
    rows = Prediction.objects.filter(column__in=[column.pk for column in columns]).order_by()
    counted = rows.values("column").annotate(
        n=Count("pk"), numbers=Count("cycles"), least=Min("cycles"), most=Max("cycles")
    )
    found = {row["column"]: row for row in counted}
    size = block_set.size
    return [(column, _numbers(size, found.get(column.pk))) for column in columns]


def _numbers(size: int, row: Mapping[str, Any] | None) -> ColumnNumbers:
    if row is None:
        return ColumnNumbers(size, 0, 0, None, None)
    numbers = int(row["numbers"])
    return ColumnNumbers(size, numbers, int(row["n"]) - numbers, row["least"], row["most"])


def of_block_set(row: BasicBlockSet) -> list[Dependent]:
    """Its blocks and columns go with it; a run that works on it forbids its deletion."""
    runs = Run.objects.filter(config__block_set=row.pk)
    ended = runs.filter(state__in=Run.FINAL).count()
    return [
        *counted(row.size, "block", GONE),
        *counted(row.columns.count(), "column with its answers", GONE, "columns with their answers"),
        *counted(runs.count() - ended, "unfinished run", NEEDED, blocks=True),
        *counted(ended, "run", ENDED),
    ]


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
    if metric == "absolute":
        return apart
    total = F("first") + F("second")
    return Case(
        When(first__lte=-F("second"), then=Value(0.0)), default=2 * apart / total, output_field=FloatField()
    )


_TABS = {"columns": "?tab=columns", "accuracy": "?tab=accuracy&reference={reference}"}


def sets_of(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """The sets that these runs are about, as long as they are there (one query)."""
    done = [run for run in runs if run.result.get("block_set")]
    ids = {run.result["block_set"] for run in done}
    names = dict(BasicBlockSet.objects.filter(pk__in=ids).values_list("pk", "name")) if ids else {}
    return {
        run.pk: RunOutcome(names[run.result["block_set"]], _address(run))
        for run in done
        if run.result["block_set"] in names
    }


def _address(run: Run) -> str:
    tab = _TABS.get(run.kind, "").format(reference=run.config.get("reference", ""))
    return reverse("block-set", args=[run.result["block_set"]]) + tab


def columns_words(run: Run) -> Iterator[DescriptionItem]:
    """Which predictors, about which set."""
    yield set_item(run.config)
    yield predictors_item(run.config)


def set_item(config: Json) -> DescriptionItem:
    """The set that a run is about."""
    return DescriptionItem("Basic-block set", links=links(BasicBlockSet, "block-set", [config["block_set"]]))


def predictors_item(config: Json) -> DescriptionItem:
    """Those that a run asks."""
    names = dict(Predictor.objects.filter(pk__in=config["predictors"]).values_list("pk", "name"))
    return DescriptionItem(
        "Asked", ", ".join(names.get(pk, "a deleted predictor") for pk in config["predictors"])
    )


def names_of_columns(columns: list[int]) -> str:
    """Of columns by their numbers, separated by commas."""
    names = dict(BlockColumn.objects.filter(pk__in=columns).values_list("pk", "name"))
    return ", ".join(names.get(pk, "a deleted column") for pk in columns)
