"""The views of a comparison: each is computed once, as tables, for its page, the API, the shell and CSV."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from django.utils.http import urlencode

from inference.core.judging.agreement import GroupErrors, SchemeBias, biases, errors_by_group, regrouped
from inference.core.judging.disagreement import DifferenceMetric, differences, disagreements, telling_items
from inference.core.judging.residual_traits import memory_traits, telling_traits, traits_of_table
from inference.core.judging.sheet import AnswerSheet, ComparedPoints, Grouping, ItemKind
from inference.core.metrics import Unit
from inference.core.protocols import Json
from inference.features.judging.engine.addresses import comparison_address, pair_query
from inference.features.judging.engine.excess_view import excess_tables
from inference.features.judging.engine.query import (
    ComparisonPart,
    ViewQuestion,
    agreement_of,
    answered_in,
    biases_in,
    item_text,
    items_at,
    key_of,
    points_of,
    scores_of,
    selected,
    sheet_for,
    sheet_of,
    verdict_of,
)
from inference.features.judging.engine.tables import LinkedNumber, number
from inference.formats.csv_cells import cell, rows_text, written
from inference.models import BasicBlock, ComparedColumn, Comparison, InstructionScheme
from inference.storage.instruction_sets import code_isa
from inference.web.published_page import CellKind, PublishedColumn, PublishedTable, Value


@dataclass(frozen=True)
class ComparisonView:
    """A view.

    `suits`: whether it has anything to say of a comparison with these columns. `has_page`: its tables fill a
    tab.
    """

    name: str
    label: str
    help: str
    tables: Callable[[ViewQuestion], list[PublishedTable]]
    suits: Callable[[Sequence[ComparedColumn]], bool] = lambda columns: True
    has_page: bool = True


def view_json(view: ComparisonView, question: ViewQuestion, selected: int) -> Json:
    """A view as API and shell give it; `selected`: how many items are looked at."""
    return {
        "run": question.row.run_id,
        "view": view.name,
        "items": question.row.item_kind,
        "source": question.row.source,
        "reference": question.reference,
        "column": question.column.name,
        "n": question.row.n,
        "selected": selected,
        "tables": [
            {
                "key": table.key,
                "title": table.title,
                "note": table.note,
                "columns": [column.title for column in table.columns],
                "rows": [list(row) for row in table.rows],
            }
            for table in view.tables(question)
        ],
    }


MOST_FOR_TRAITS = 20_000
"""Items that traits are looked for among; of more, as many that are spread evenly."""
MOST_DECODED = 2_000
"""Blocks up to which their accesses to memory are among the traits: each is decoded for that."""
MOST_TELLING = 20
Kind = CellKind
_ERRORS = (number("Items", 0), number("MAPE (%)"), number("Median (%)"), number("Signed mean (%)"))


def _scores(question: ViewQuestion) -> list[PublishedTable]:
    of = selected(question.row, question.part.selection)
    rows = []
    for column in question.columns:
        if column.position == question.part.against:
            continue
        agreed = agreement_of(column, question.part)
        scores = agreed.scores
        judged = verdict_of(question.columns, column, question.part)
        words = (None, None) if judged is None else (judged.grade.value, "; ".join(judged.reasons))
        shares = (
            None if share is None else 100 * share
            for share in (answered_in(column, question.part) / of if of else None, agreed.near, agreed.above)
        )
        coverage, near, above = shares
        rows.append(
            (
                *(column.name, column.get_kind_display(), scores.n, coverage, scores.mape),
                *(agreed.median, agreed.signed, near, above, agreed.weighted),
                *(scores.pearson, scores.kendall, *words),
            )
        )
    heads = (
        *(PublishedColumn("Source"), PublishedColumn("Kind", Kind.CHOICE)),
        *(number("Items", 0), number("Coverage (%)"), number("MAPE (%)")),
        *(number("Median (%)"), number("Signed median (%)"), number("Within 10 % (%)")),
        *(number("More than 3 % above (%)"), number("Weighted MAPE (%)")),
        *(number("Pearson r", 3), number("Kendall τ", 3)),
        *(PublishedColumn("Verdict", Kind.CHOICE), PublishedColumn("Why")),
    )
    return [PublishedTable("scores", f"Beside {question.reference}", heads, tuple(rows))]


def _grouped(question: ViewQuestion, groups: Grouping, key: str, title: str) -> PublishedTable:
    rows = tuple(_group_row(group) for group in errors_by_group(question.points, groups))
    heads = (PublishedColumn(title), *_ERRORS)
    return PublishedTable(key, f"{question.column.name} by {title.lower()}", heads, rows)


def _group_row(group: GroupErrors) -> tuple[Value, ...]:
    return (group.name, group.n, group.mape, group.median, group.signed)


def length_groups(question: ViewQuestion) -> Grouping:
    """The items by their numbers of instructions."""
    known, number_of = np.unique(sheet_of(key_of(question.row)).items.lengths, return_inverse=True)
    return Grouping(tuple(map(str, known.tolist())), number_of.astype(np.int64))


def _lengths(question: ViewQuestion) -> list[PublishedTable]:
    return [_grouped(question, length_groups(question), "lengths", "Instructions")]


def _bounds(question: ViewQuestion) -> list[PublishedTable]:
    bounds = sheet_of(key_of(question.row)).items.bounds
    groups = bounds or Grouping((), np.full(question.row.n, -1))
    return [_grouped(question, groups, "bounds", "Largest bound")]


_BIASES = (
    *(number("Items", 0), number("Predicted / reference"), number("Alone")),
    number("Taken to be free", 0),
)


def _schemes(question: ViewQuestion) -> list[PublishedTable]:
    texts = question.row.schemes
    rows = tuple(_bias_row(texts[bias.scheme], bias) for bias in biases_in(question.column, question.part))
    heads = (PublishedColumn("Scheme", Kind.CODE), *_BIASES)
    return [PublishedTable("schemes", f"{question.column.name} by scheme", heads, rows)]


def _bias_row(name: str, bias: SchemeBias) -> tuple[Value, ...]:
    return (name, bias.n, bias.factor, bias.alone, bias.free)


def _extensions(question: ViewQuestion) -> list[PublishedTable]:
    table = sheet_of(key_of(question.row)).items.table
    rows: list[tuple[Value, ...]] = []
    if table is not None and question.row.isa_id is not None:
        extensions = extensions_of(question.row.isa_id, table.schemes)
        in_cycles = ComparisonPart(Unit.CYCLES, question.part.selection, question.part.against)
        points = points_of(key_of(question.row), question.column.position, in_cycles)
        grouped = regrouped(table, extensions)
        rows = [_bias_row(grouped.schemes[bias.scheme], bias) for bias in biases(grouped, points)]
    heads = (PublishedColumn("Extension"), *_BIASES)
    return [PublishedTable("extensions", f"{question.column.name} by extension", heads, tuple(rows))]


@lru_cache(maxsize=16)
def extensions_of(isa: int, schemes: tuple[str, ...]) -> tuple[str, ...]:
    """The extension of each scheme, "other" for those without one."""
    known = dict(InstructionScheme.objects.filter(isa=isa).values_list("text", "extension"))
    return tuple(known.get(text) or "other" for text in schemes)


def _worst(question: ViewQuestion) -> list[PublishedTable]:
    rows = tuple(
        (item_text(question.row, item), item.measured, item.predicted, item.difference)
        for item in items_at(question.row, question.points.worst(50)).values()
    )
    heads = (
        PublishedColumn("Item", Kind.CODE),
        *(number(question.reference), number(question.column.name), number("Error (%)", 1)),
    )
    return [PublishedTable("worst", f"{question.column.name}: largest errors", heads, rows)]


def _traits(question: ViewQuestion) -> list[PublishedTable]:
    points, items = question.points, sheet_of(key_of(question.row)).items
    if len(points) > MOST_FOR_TRAITS:
        points = points.where(np.linspace(0, len(points) - 1, MOST_FOR_TRAITS).astype(np.int64))
    traits = traits_of_table(items, points.at)
    if question.row.item_kind == ItemKind.BLOCKS and len(points) <= MOST_DECODED:
        blocks = BasicBlock.objects.in_bulk(items.ids[points.at].tolist())
        if len(blocks) == len(points):
            codes = [bytes(blocks[pk].code) for pk in items.ids[points.at].tolist()]
            traits |= memory_traits(codes, code_isa(question.row.isa))
    findings = telling_traits(points.errors, traits)
    rows = tuple(
        (
            trait.kind,
            trait.name,
            trait.n,
            trait.inside,
            trait.outside,
            trait.signed,
            100 * trait.farther,
            trait.p,
        )
        for trait in findings.found
    )
    heads = (
        *(PublishedColumn("Kind", Kind.CHOICE), PublishedColumn("Trait", Kind.CODE), number("Items", 0)),
        *(number("Median with it (%)"), number("Without (%)"), number("Signed (%)")),
        *(number("Farther off (%)", 0), number("p", 8)),
    )
    note = f"Of {findings.tried:,} traits that were tried."
    title = f"{question.column.name}: what goes with large errors"
    return [PublishedTable("traits", title, heads, rows, note)]


def _matrix(question: ViewQuestion) -> list[PublishedTable]:
    sheet = sheet_of(key_of(question.row))
    among = sheet.among(question.part.selection)
    names = [question.row.reference or "measured", *(column.name for column in question.columns)]
    cycles = [sheet.reference[among], *(column.cycles[among] for column in sheet.columns)]
    counted = disagreements(cycles, question.metric, question.threshold)
    shown_at = _address(question.row)
    rows = []
    for place, name in enumerate(names):
        shares = [
            None
            if place == other or not both
            else LinkedNumber(100 * far / both, _pair_address(question, shown_at, place, other))
            for other, (far, both) in enumerate(
                zip(counted.differing[place].tolist(), counted.both[place].tolist(), strict=True)
            )
        ]
        rows.append((name, *shares))
    heads = (PublishedColumn("Source"), *(number(name, 1) for name in names))
    note = (
        f"Per cent of the items for which both have a number that differ by more than {_threshold(question)}."
    )
    return [PublishedTable("matrix", "How often each two disagree", heads, tuple(rows), note)]


def _address(row: Comparison) -> str:
    """Where the views are, with what separates it from a further query."""
    return comparison_address(row.run_id) + "?" if row.unsaved is None else f"{row.unsaved.address}&"


def _pair_address(question: ViewQuestion, shown_at: str, place: int, other: int) -> str:
    return shown_at + urlencode(pair_query(place, other, question.metric, question.threshold))


def _threshold(question: ViewQuestion) -> str:
    if question.metric == DifferenceMetric.ABSOLUTE:
        return f"{question.threshold:g} cycles"
    return f"{100 * question.threshold:g} % of their mean"


def _telling(question: ViewQuestion) -> list[PublishedTable]:
    sheet = sheet_for(key_of(question.row), question.part)
    among = sheet.among(question.part.selection)
    own, other = sheet.columns[question.column.position].cycles, sheet.reference
    own = np.where(among, own, np.nan)
    at = telling_items(own, other, sheet.items.lengths, question.metric, question.threshold, MOST_TELLING)
    points = ComparedPoints(at, other[at], own[at])
    apart = differences(own, other, question.metric)
    rows = tuple(
        (
            *(item_text(question.row, item), int(sheet.items.lengths[place])),
            *(item.measured, item.predicted, float(apart[place])),
        )
        for place, item in items_at(question.row, points).items()
    )
    heads = (
        *(PublishedColumn("Item", Kind.CODE), number("Instructions", 0)),
        *(number(question.reference), number(question.column.name), number("Apart")),
    )
    note = f"In cycles, where they differ by more than {_threshold(question)}."
    title = f"The smallest items that tell {question.column.name} from {question.reference}"
    return [PublishedTable("telling", title, heads, rows, note)]


VIEWS = {
    view.name: view
    for view in (
        ComparisonView("scores", "Scores", "How well each source agrees.", _scores, has_page=False),
        ComparisonView(
            "worst", "Largest errors", "The items with the largest errors.", _worst, has_page=False
        ),
        ComparisonView("schemes", "Bias by scheme", "By which factor it errs.", _schemes, has_page=False),
        ComparisonView(
            "lengths", "By length", "Errors by the number of instructions.", _lengths, has_page=False
        ),
        ComparisonView(
            "extensions",
            "By extension",
            "By which factor predictions are too slow (above 1) or too fast, of items with instructions of "
            "an extension: geometric means.",
            _extensions,
            lambda columns: columns[0].comparison.isa_id is not None,
        ),
        ComparisonView(
            "bounds",
            "By bound",
            "Errors of the items by the largest bound of the core model among the sources.",
            _bounds,
            lambda columns: sheet_of(key_of(columns[0].comparison)).items.bounds is not None,
        ),
        ComparisonView(
            "traits",
            "Traits",
            "What items with large errors have in common: traits whose items are farther off than all "
            "others, by their ranks (Mann and Whitney), after Holm’s correction.",
            _traits,
        ),
        ComparisonView(
            "excess",
            "Excess",
            "Experiments that take longer than a port mapping allows, by the µops that limit them.",
            excess_tables,
            lambda columns: any(column.mapping_id for column in columns),
        ),
        ComparisonView("matrix", "Matrix", "How often each two sources disagree.", _matrix),
        ComparisonView(
            "telling",
            "Smallest differences",
            "The shortest items on which a source and what it is held against disagree: where to look first.",
            _telling,
        ),
    )
}
"""{name: view} of all that is a table; heat maps are on the page and in the API."""
_LINES = 2000
"""Lines of answers made at once."""


def score_table(columns: Sequence[ComparedColumn], part: ComparisonPart) -> str:
    """A line per predictor; `coverage` is the share of the items of the part that it answers."""
    head = ("predictor", "kind", "unit", "n", "of", "coverage", "mape", "pearson", "kendall", "error")
    lines = []
    for column in columns:
        scores, of = scores_of(column, part), selected(column.comparison, part.selection)
        coverage = answered_in(column, part) / of if of else None
        numbers = (scores.n, of, coverage, scores.mape, scores.pearson, scores.kendall)
        lines.append((column.name, column.kind, part.unit.value, *numbers, column.error or None))
    return written(head, lines)


def scheme_table(schemes: Sequence[str], biases: Sequence[SchemeBias]) -> str:
    """A line per scheme: by which factor its experiments are predicted too slow (> 1) or too fast."""
    head = ("scheme", "n", "factor", "factor_alone", "free")
    return written(head, [(schemes[one.scheme], one.n, one.factor, one.alone, one.free) for one in biases])


def answer_lines(sheet: AnswerSheet, names: Sequence[str]) -> Iterator[str]:
    """Pieces of a file with a line per measurement: cycles measured and said, nothing where nothing is."""
    yield written(("experiment", "instructions", "measured", *names), [])
    table = sheet.items.table
    assert table is not None, "experiments have schemes"
    numbers = [sheet.reference, *(column.cycles for column in sheet.columns)]
    for start in range(0, len(sheet.items), _LINES):
        part = slice(start, start + _LINES)
        rows = zip(sheet.items.lengths[part].tolist(), *(one[part].tolist() for one in numbers), strict=True)
        lines = [
            (
                str(table.experiment(at)),
                length,
                *(None if math.isnan(value) else value for value in cycles),
            )
            for at, (length, *cycles) in enumerate(rows, start=start)
        ]
        yield rows_text(map(cell, line) for line in lines)
