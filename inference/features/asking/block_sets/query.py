"""Queries for basic-block sets: blocks by page with the answers of every column, and reports of imports."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
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
from inference.features.running.runs.kind_presentation import (
    DescriptionItem,
    KindPresentation,
    RunOutcome,
    links,
)
from inference.formats.problems import ExchangeError
from inference.isa.code.block import line_numbers
from inference.isa.targets import DEFAULT, target_of
from inference.models import BasicBlock, BasicBlockSet, BlockColumn, Prediction, Predictor, Run
from inference.predictors.protocol import Answer, Failure
from inference.web.contributions import Dependent
from inference.web.deleting import DELETED, END_FIRST, NO_REPEAT, count_of
from inference.web.paging import PAGE_SIZE, Order, Page, having_words, page_of
from inference.web.published_page import CellKind, PublishedColumn, PublishedTable

SET_ORDERS: Mapping[str, str] = {
    "newest": "id",
    "name": "name",
    "blocks": "size",
    "columns": "column_count",
}
BLOCK_ORDERS: Mapping[str, str] = {"position": "position", "length": "length", "weight": "weight_or_0"}
"""{key: field} of the orders of lists; blocks also sort by a column's number, see `column_order`."""

BY_COLUMN = "column"
_WORD = re.compile(r"-?[a-z][a-z0-9_]*\*?")


class ColumnKind(StrEnum):
    NUMBER = "number"
    FAILURE = "failure"
    NOTHING = "nothing"


@dataclass(frozen=True)
class BlockSetView:
    """A set with its columns, for its page."""

    row: BasicBlockSet
    columns: list[BlockColumn]


@dataclass(frozen=True)
class BlockFilter:
    """Which blocks of a set are listed; the default lists all.

    `column` with `answer_kind`: the id of a column, and what it has for the blocks.

    Attributes:
        mnemonics: Words, each of which a block must match: "imul" or "vp*", or must not match: "-div".
            Other names of a mnemonic count as well: "imulq".
        length: Number of instructions.
    """

    mnemonics: str = ""
    length: int | None = None
    column: int | None = None
    answer_kind: ColumnKind | None = None


@dataclass(frozen=True)
class AnsweredBlock:
    """A block with the answer of each column of its set, None where the column has none."""

    block: BasicBlock
    answers: tuple[Answer | None, ...]


def block_sets(text: str = "") -> QuerySet[BasicBlockSet]:
    """All sets with their `column_count`; with `text`, those that have it in name or note."""
    counts = BlockColumn.objects.filter(block_set=OuterRef("pk")).order_by().values("block_set")
    counted = Subquery(counts.annotate(n=Count("pk")).values("n"), output_field=IntegerField())
    rows = BasicBlockSet.objects.defer("report").annotate(column_count=Coalesce(counted, Value(0)))
    return rows.filter(having_words(text)) if text else rows


def columns_of(block_set: BasicBlockSet) -> list[BlockColumn]:
    """The columns of a set by position, with their predictors (one query)."""
    return list(block_set.columns.select_related("predictor").order_by("position"))


def column_order(column: int) -> str:
    """The key of the order by the numbers of a column, given by its id."""
    return f"{BY_COLUMN}-{column}"


def block_orders(columns: Sequence[BlockColumn]) -> dict[str, str]:
    """{key: field} of all orders of a set's table."""
    return {**BLOCK_ORDERS, **{column_order(column.pk): "cycles" for column in columns}}


def blocks_of(
    block_set: BasicBlockSet,
    columns: Sequence[BlockColumn],
    block_filter: BlockFilter,
    order: Order,
    cursor: str = "",
    size: int = PAGE_SIZE,
) -> Page[AnsweredBlock]:
    """A page of the blocks of a set (three queries). Raises `ExchangeError` for an invalid search word.

    Sorted by a column, only blocks with a number in it are listed.
    """
    rows = filtered_blocks(block_set, block_filter)
    page: Page[BasicBlock]
    if order.column in BLOCK_ORDERS:
        rows = rows.annotate(weight_or_0=Coalesce("weight", Value(0.0)))
        page = page_of(rows, order, BLOCK_ORDERS, cursor, size)
    else:
        page = _by_column(rows, block_filter, order, cursor, size)
    blocks = answers_of(page.rows, columns)
    return Page(blocks, page.total, page.next_cursor, page.previous_cursor)


def filtered_blocks(block_set: BasicBlockSet, block_filter: BlockFilter) -> QuerySet[BasicBlock]:
    """The blocks that match a filter. Raises `ExchangeError` for an invalid search word."""
    rows = block_set.blocks.filter(_has_mnemonics(block_filter.mnemonics))
    if block_filter.length is not None:
        rows = rows.filter(length=block_filter.length)
    if block_filter.column is not None and block_filter.answer_kind is not None:
        of_column = Prediction.objects.filter(column=block_filter.column, block=OuterRef("pk"))
        if block_filter.answer_kind is ColumnKind.NOTHING:
            return rows.filter(~Exists(of_column))
        return rows.filter(
            Exists(of_column.filter(cycles__isnull=block_filter.answer_kind is ColumnKind.FAILURE))
        )
    return rows


def answers_of(blocks: Sequence[BasicBlock], columns: Sequence[BlockColumn]) -> list[AnsweredBlock]:
    """Each block with the answers of the columns (one query)."""
    places = {column.pk: at for at, column in enumerate(columns)}
    answers: dict[int, list[Answer | None]] = {block.pk: [None] * len(columns) for block in blocks}
    rows = Prediction.objects.filter(block__in=list(answers), column__in=list(places))
    for block, column, cycles, failure in rows.values_list("block_id", "column_id", "cycles", "failure"):
        answers[block][places[column]] = Answer(cycles, Failure(failure) if failure else None)
    return [AnsweredBlock(block, tuple(answers[block.pk])) for block in blocks]


def _by_column(
    rows: QuerySet[BasicBlock], block_filter: BlockFilter, order: Order, cursor: str, size: int
) -> Page[BasicBlock]:
    """A page sorted by a column: starts from its predictions, whose index is in the order of the numbers."""
    numbers = Prediction.objects.filter(column=int(order.column.rpartition("-")[2]), cycles__isnull=False)
    if block_filter != BlockFilter():
        numbers = numbers.filter(block__in=rows)
    page = page_of(numbers.select_related("block"), order, {order.column: "cycles"}, cursor, size)
    return Page([row.block for row in page.rows], page.total, page.next_cursor, page.previous_cursor)


def _has_mnemonics(search: str) -> Q:
    condition, names = Q(), target_of(DEFAULT).names
    for word in search.lower().split():
        if not _WORD.fullmatch(word):
            raise ExchangeError(
                f"{word[:40]!r} is no mnemonic: write `imul` for blocks that have one, `vp*` for any that "
                "begins so, `-div` for blocks without"
            )
        name = word.removeprefix("-")
        begins = name.removesuffix("*")
        named = (
            [begins]
            if name.endswith("*")
            else [f"{word_condition} " for word_condition in {name, *names.mnemonics_named(name)}]
        )
        word_condition = reduce(or_, (Q(mnemonics__contains=f" {mnemonic}") for mnemonic in sorted(named)))
        condition &= ~word_condition if word.startswith("-") else word_condition
    return condition


def blocks_at(block_set: BasicBlockSet, positions: Sequence[int]) -> list[BasicBlock]:
    """The blocks at these positions, in the order given (one query); missing ones are left out."""
    rows = {row.position: row for row in block_set.blocks.filter(position__in=list(positions))}
    return [rows[position] for position in positions if position in rows]


@dataclass(frozen=True)
class ColumnNumbers:
    """How many of the `blocks` a column has a number for, how many failed, and its range in cycles."""

    blocks: int
    numbers: int
    failures: int
    least: float | None
    most: float | None

    @property
    def nothing(self) -> int:
        """Blocks without an answer in the column."""
        return self.blocks - self.numbers - self.failures

    @property
    def share(self) -> float | None:
        """Share of the blocks with a number, 0 to 1; None for an empty set."""
        return self.numbers / self.blocks if self.blocks else None


def numbers_of(
    block_set: BasicBlockSet, columns: Sequence[BlockColumn]
) -> list[tuple[BlockColumn, ColumnNumbers]]:
    """Each column with its counts and range (one query, answered from an index)."""
    rows = Prediction.objects.filter(column__in=[column.pk for column in columns]).order_by()
    counted = rows.values("column").annotate(
        n=Count("pk"), numbers=Count("cycles"), least=Min("cycles"), most=Max("cycles")
    )
    by_column = {row["column"]: row for row in counted}
    size = block_set.size
    return [(column, _numbers(size, by_column.get(column.pk))) for column in columns]


def _numbers(size: int, row: Mapping[str, Any] | None) -> ColumnNumbers:
    if row is None:
        return ColumnNumbers(size, 0, 0, None, None)
    numbers = int(row["numbers"])
    return ColumnNumbers(size, numbers, int(row["n"]) - numbers, row["least"], row["most"])


def dependents_of_set(row: BasicBlockSet) -> list[Dependent]:
    """What depends on a set: its blocks and columns are deleted with it, an unfinished run prevents that."""
    runs = Run.objects.filter(config__block_set=row.pk)
    ended = runs.filter(state__in=Run.FINAL).count()
    return [
        *count_of(row.size, "block", DELETED),
        *count_of(row.columns.count(), "column with its answers", DELETED, "columns with their answers"),
        *count_of(runs.count() - ended, "unfinished run", END_FIRST, blocks=True),
        *count_of(ended, "run", NO_REPEAT),
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
    """A page of the blocks for which two columns differ by more than `threshold` (two queries).

    Each block has `first` and `second`, the cycles, and `apart`, their difference in cycles or over their
    mean.
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


def outcomes_of(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """{run id: its set}, without deleted sets (one query)."""
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


def columns_description(run: Run) -> Iterator[DescriptionItem]:
    """The description of a run of kind `columns`, item by item."""
    yield set_item(run.config)
    yield predictors_item(run.config)


def set_item(config: Json) -> DescriptionItem:
    return DescriptionItem("Basic-block set", links=links(BasicBlockSet, "block-set", [config["block_set"]]))


def predictors_item(config: Json) -> DescriptionItem:
    names = dict(Predictor.objects.filter(pk__in=config["predictors"]).values_list("pk", "name"))
    return DescriptionItem(
        "Predictors", ", ".join(names.get(pk, "a deleted predictor") for pk in config["predictors"])
    )


def column_names(columns: list[int]) -> str:
    """The names of columns, given by their ids, separated by commas."""
    names = dict(BlockColumn.objects.filter(pk__in=columns).values_list("pk", "name"))
    return ", ".join(names.get(pk, "a deleted column") for pk in columns)


_COLUMNS = (
    PublishedColumn("Outcome"),
    PublishedColumn("Rows", CellKind.NUMBER, 0),
    PublishedColumn("Why"),
)


def import_table(block_set: BasicBlockSet) -> PublishedTable:
    """A row per outcome and reason; without rows for sets that were not imported."""
    report = block_set.report or {}
    rows = tuple(_rows(block_set, report)) if report else ()
    return PublishedTable("import", "What was imported", _COLUMNS, rows)


def _rows(block_set: BasicBlockSet, report: Json) -> Iterator[tuple[str, int | None, str]]:
    yield "imported", block_set.size, block_set.source
    if duplicates := report.get("duplicates"):
        lines = report.get("duplicate_lines")
        yield (
            "imported again",
            duplicates,
            f"the same block as before: {line_numbers(lines)}" if lines else "",
        )
    if empty := report.get("empty"):
        yield "left out", empty, "without a block"
    yield from _left_out(report)
    for column, count in report.get("doubt_counts", {}).items():
        yield "doubted", count, f"faster than the processor allows: {column}"
    for note in (*report.get("notes", ()), *report.get("loops", ())):
        yield "note", None, note


def _left_out(report: Json) -> Iterator[tuple[str, int, str]]:
    """Rows with problems by what is wrong with them, the most frequent first."""
    problems = report.get("problems", ())
    counts = Counter(problem["message"] for problem in problems)
    lines: dict[str, list[int]] = defaultdict(list)
    for problem in problems:
        if problem["row"] is not None:
            lines[problem["message"]].append(problem["row"])
    for message, count in counts.most_common():
        place = f" ({line_numbers(lines[message])})" if lines[message] else ""
        yield "left out", count, f"{message}{place}"
    if unlisted := report.get("problem_count", 0) - len(problems):
        yield "left out", unlisted, "further problems, which are only counted"


PRESENTATIONS = {"columns": KindPresentation(words=columns_description, outcomes=outcomes_of)}
DEPENDENTS = ((BasicBlockSet, dependents_of_set),)
