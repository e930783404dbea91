"""The views of a comparison: each is computed once, as tables, for its page, the API, the shell and CSV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from django.utils.http import urlencode

from inference.core.experiment import Unit
from inference.core.judging.accuracy import AccuracyJudgement, OtherCore
from inference.core.judging.agreement import (
    Agreement,
    GroupErrors,
    SchemeBias,
    biases,
    errors_by_group,
    grouped_table,
)
from inference.core.judging.disagreement import differences, disagreements, distinguishing_items
from inference.core.judging.residual_traits import memory_traits, significant_traits, traits_of_table
from inference.core.judging.sheet import ComparedPoints, Grouping, ItemKind
from inference.core.protocols import Json
from inference.features.judging.engine.addresses import comparison_address, pair_query
from inference.features.judging.engine.differences_view import difference_tables, within_tables
from inference.features.judging.engine.excess_view import excess_tables
from inference.features.judging.engine.query import (
    ComparisonPart,
    PredictedBlock,
    PredictedExperiment,
    ViewQuestion,
    agreement_of,
    answered_count,
    biases_in,
    items_at,
    key_of,
    points_of,
    selected_count,
    sheet_for,
    sheet_of,
    verdict_of,
)
from inference.features.judging.engine.request import EVALUATE
from inference.features.judging.engine.tables import (
    Column,
    choice,
    code,
    disagreement_table,
    number,
    per_cent,
    table_of,
    text,
)
from inference.isa.blocks import intel_or_digits
from inference.models import BasicBlock, ComparedColumn, Comparison, Evaluation, InstructionScheme
from inference.storage.instruction_sets import code_isa
from inference.web.listed_mappings import evaluation_url
from inference.web.published_page import PublishedTable


@dataclass(frozen=True)
class ComparisonView:
    """A view.

    Attributes:
        applies: Whether it applies to a comparison with these columns.
        has_page: Whether its tables fill a tab.
    """

    name: str
    label: str
    help: str
    tables: Callable[[ViewQuestion], list[PublishedTable]]
    applies: Callable[[Sequence[ComparedColumn]], bool] = lambda columns: True
    has_page: bool = True


def view_json(view: ComparisonView, question: ViewQuestion, selected: int) -> Json:
    """A view as JSON, for the API and the shell; `selected`: the number of viewed items."""
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


MAX_TRAIT_ITEMS = 20_000
"""Items that are searched for traits; of more, as many that are spread evenly."""
MAX_DECODED = 2_000
"""Blocks up to which memory accesses are among the traits; each block is decoded for that."""
MAX_TRAITS = 20
_ERRORS: tuple[Column[GroupErrors], ...] = (
    (number("Items", 0), attrgetter("n")),
    (number("MAPE (%)"), attrgetter("mape")),
    (number("Median (%)"), attrgetter("median")),
    (number("Signed mean (%)"), attrgetter("signed")),
)
_BIASES: tuple[Column[SchemeBias], ...] = (
    (number("Items", 0), attrgetter("n")),
    (number("Predicted / reference"), attrgetter("factor")),
    (number("Alone"), attrgetter("alone")),
    (number("Taken to be free", 0), attrgetter("free")),
)


class _ScoredColumn(NamedTuple):
    column: ComparedColumn
    agreed: Agreement
    coverage: float | None
    verdict: AccuracyJudgement | OtherCore | None


def _scores(question: ViewQuestion) -> list[PublishedTable]:
    columns, part, of = question.columns, question.part, selected_count(question.row, question.part.selection)
    rows = [
        _ScoredColumn(
            column,
            agreement_of(column, part),
            answered_count(column, part) / of if of else None,
            verdict_of(columns, column, part),
        )
        for column in columns
        if column.position != part.against
    ]
    return [
        table_of(
            "scores",
            f"Compared with {question.reference}",
            rows,
            (text("Source"), lambda row: row.column.name),
            (choice("Kind"), lambda row: row.column.get_kind_display()),
            (number("Items", 0), lambda row: row.agreed.scores.n),
            (number("Coverage (%)"), lambda row: per_cent(row.coverage)),
            (number("MAPE (%)"), lambda row: row.agreed.scores.mape),
            (number("Median (%)"), lambda row: row.agreed.median),
            (number("Signed median (%)"), lambda row: row.agreed.signed),
            (number("Within 10 % (%)"), lambda row: per_cent(row.agreed.near)),
            (number("More than 3 % above (%)"), lambda row: per_cent(row.agreed.above)),
            (number("Weighted MAPE (%)"), lambda row: row.agreed.weighted),
            (number("Pearson r", 3), lambda row: row.agreed.scores.pearson),
            (number("Kendall τ", 3), lambda row: row.agreed.scores.kendall),
            (choice("Verdict"), lambda row: row.verdict.word if row.verdict else None),
            (text("Why"), lambda row: "; ".join(row.verdict.reasons) if row.verdict else None),
        )
    ]


def _group_table(question: ViewQuestion, groups: Grouping, key: str, title: str) -> PublishedTable:
    errors = errors_by_group(question.points, groups)
    name = f"{question.column.name} by {title.lower()}"
    return table_of(key, name, errors, (text(title), attrgetter("name")), *_ERRORS)


def length_groups(question: ViewQuestion) -> Grouping:
    lengths, number_of = np.unique(sheet_of(key_of(question.row)).items.lengths, return_inverse=True)
    return Grouping(tuple(map(str, lengths.tolist())), number_of.astype(np.int64))


def _lengths(question: ViewQuestion) -> list[PublishedTable]:
    return [_group_table(question, length_groups(question), "lengths", "Instructions")]


def _bounds(question: ViewQuestion) -> list[PublishedTable]:
    bounds = sheet_of(key_of(question.row)).items.bounds
    groups = bounds or Grouping((), np.full(question.row.n, -1))
    return [_group_table(question, groups, "bounds", "Largest bound")]


def _schemes(question: ViewQuestion) -> list[PublishedTable]:
    texts, title = question.row.schemes, f"{question.column.name} by scheme"
    rows = biases_in(question.column, question.part)
    return [table_of("schemes", title, rows, (code("Scheme"), lambda bias: texts[bias.scheme]), *_BIASES)]


def _extensions(question: ViewQuestion) -> list[PublishedTable]:
    table, isa = sheet_of(key_of(question.row)).items.table, question.row.isa_id
    names: Sequence[str] = ()
    rows: list[SchemeBias] = []
    if table is not None and isa is not None:
        in_cycles = ComparisonPart(Unit.CYCLES, question.part.selection, question.part.against)
        points = points_of(key_of(question.row), question.column.position, in_cycles)
        grouped = grouped_table(table, extensions_of(isa, table.schemes))
        names, rows = grouped.schemes, biases(grouped, points)
    extension = (text("Extension"), lambda bias: names[bias.scheme])
    return [table_of("extensions", f"{question.column.name} by extension", rows, extension, *_BIASES)]


@lru_cache(maxsize=16)
def extensions_of(isa: int, schemes: tuple[str, ...]) -> tuple[str, ...]:
    """The extension of each scheme, "other" if it has none."""
    by_scheme = dict(InstructionScheme.objects.filter(isa=isa).values_list("text", "extension"))
    return tuple(by_scheme.get(text) or "other" for text in schemes)


def _worst(question: ViewQuestion) -> list[PublishedTable]:
    return [
        table_of(
            "worst",
            f"{question.column.name}: largest errors",
            items_at(question.row, question.points.worst(50)).values(),
            (code("Item"), lambda item: item_text(question.row, item)),
            (number(question.reference), lambda item: item.measured),
            (number(question.column.name), lambda item: item.predicted),
            (number("Error (%)", 1), lambda item: item.difference),
        )
    ]


def _traits(question: ViewQuestion) -> list[PublishedTable]:
    points, items = question.points, sheet_of(key_of(question.row)).items
    if len(points) > MAX_TRAIT_ITEMS:
        points = points.where(np.linspace(0, len(points) - 1, MAX_TRAIT_ITEMS).astype(np.int64))
    traits = traits_of_table(items, points.at)
    if question.row.item_kind == ItemKind.BLOCKS and len(points) <= MAX_DECODED:
        blocks = BasicBlock.objects.in_bulk(items.ids[points.at].tolist())
        if len(blocks) == len(points):
            codes = [bytes(blocks[pk].code) for pk in items.ids[points.at].tolist()]
            traits |= memory_traits(codes, code_isa(question.row.isa))
    findings = significant_traits(points.errors, traits)
    return [
        table_of(
            "traits",
            f"{question.column.name}: traits with larger errors",
            findings.traits,
            (choice("Kind"), lambda trait: trait.kind),
            (code("Trait"), lambda trait: trait.name),
            (number("Items", 0), lambda trait: trait.n),
            (number("Median with it (%)"), lambda trait: trait.inside),
            (number("Without (%)"), lambda trait: trait.outside),
            (number("Signed (%)"), lambda trait: trait.signed),
            (number("Larger error (%)", 0), lambda trait: 100 * trait.farther),
            (number("p", 8), lambda trait: trait.p),
            note=f"{findings.tried:,} traits were tested.",
        )
    ]


def _matrix(question: ViewQuestion) -> list[PublishedTable]:
    sheet = sheet_of(key_of(question.row))
    among = sheet.among(question.part.selection)
    names = [question.row.reference or "measured", *(column.name for column in question.columns)]
    cycles = [sheet.reference[among], *(column.cycles[among] for column in sheet.columns)]
    counted = disagreements(cycles, question.metric, question.threshold)
    address = _address(question.row)

    def pair(place: int, other: int) -> str:
        return address + urlencode(pair_query(place, other, question.metric, question.threshold))

    differing, both = counted.differing.tolist(), counted.both.tolist()
    note = f"Items that differ by more than {question.limit}, in per cent of those with both numbers."
    return [disagreement_table("Source", names, differing, both, note, pair)]


def _address(row: Comparison) -> str:
    """The URL of the page with the views, ending with the separator before further parameters."""
    if row.unsaved is not None:
        return f"{row.unsaved.address}&"
    if row.run.kind == EVALUATE:
        return evaluation_url(Evaluation.objects.get(pk=row.run.result["evaluation"])) + "&"
    return comparison_address(row.run_id) + "?"


def _distinguishing_tables(question: ViewQuestion) -> list[PublishedTable]:
    sheet = sheet_for(key_of(question.row), question.part)
    among = sheet.among(question.part.selection)
    cycles, reference = sheet.columns[question.column.position].cycles, sheet.reference
    cycles = np.where(among, cycles, np.nan)
    at = distinguishing_items(
        cycles, reference, sheet.items.lengths, question.metric, question.threshold, MAX_TRAITS
    )
    points = ComparedPoints(at, reference[at], cycles[at])
    apart = differences(cycles, reference, question.metric)
    return [
        table_of(
            "telling",
            f"The smallest items that distinguish {question.column.name} from {question.reference}",
            items_at(question.row, points).items(),
            (code("Item"), lambda row: item_text(question.row, row[1])),
            (number("Instructions", 0), lambda row: int(sheet.items.lengths[row[0]])),
            (number(question.reference), lambda row: row[1].measured),
            (number(question.column.name), lambda row: row[1].predicted),
            (number("Difference"), lambda row: float(apart[row[0]])),
            note=f"In cycles; the sources differ by more than {question.limit}.",
        )
    ]


VIEWS = {
    view.name: view
    for view in (
        ComparisonView("scores", "Scores", "How well each source agrees.", _scores, has_page=False),
        ComparisonView("worst", "Largest errors", "Items with the largest errors.", _worst, has_page=False),
        ComparisonView(
            "schemes",
            "Bias by scheme",
            "The factor by which predictions are too slow or too fast, per scheme.",
            _schemes,
            has_page=False,
        ),
        ComparisonView("lengths", "By length", "Errors by number of instructions.", _lengths, has_page=False),
        ComparisonView(
            "extensions",
            "By extension",
            "Factor by which predictions are too slow (above 1) or too fast, for items with instructions of "
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
            "What items with large errors have in common: traits whose items have larger errors than all "
            "others, by their ranks (Mann and Whitney), after Holm’s correction.",
            _traits,
        ),
        ComparisonView(
            "excess",
            "Slower than predicted",
            "Experiments that take longer than a port mapping predicts, by the µops that limit them.",
            excess_tables,
            lambda columns: any(column.mapping_id for column in columns),
        ),
        ComparisonView(
            "within",
            "Tolerances",
            "The share of items within a tolerance, in per cent of the reference.",
            within_tables,
        ),
        ComparisonView(
            "differences",
            "Differences by scheme",
            "Mean difference of another measurement, per scheme of the experiments, the largest first.",
            difference_tables,
            lambda columns: any(column.kind == ComparedColumn.Kind.SET for column in columns),
        ),
        ComparisonView("matrix", "Matrix", "How often each two sources disagree.", _matrix),
        ComparisonView(
            "telling",
            "Smallest differences",
            "The shortest items on which a source and the reference disagree: the best ones to start with.",
            _distinguishing_tables,
        ),
    )
}
"""{name: view} of the views that are tables; heat maps are only on the page and in the API."""


def item_text(row: Comparison, item: PredictedExperiment | PredictedBlock) -> str:
    """The text of an experiment, or the assembly of a block."""
    if isinstance(item, PredictedBlock):
        return "; ".join(intel_or_digits(bytes(item.block.code), code_isa(row.isa)))
    return str(item.stored.value.experiment)
