"""Evaluations as comparisons: a mapping and annotated tools against the measurements of a set.

Runs of kind `evaluate` store the comparison. Other evaluations (of held-out experiments, by the shell, of
earlier versions) are computed from the measurements when they are viewed, and stay in memory as the arrays of
stored comparisons do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

import numpy as np
from django.db.models import QuerySet

from inference.core.evaluator import ThroughputModel, predicted_cycles
from inference.core.judging.sheet import Answers, AnswerSheet, ItemKind, Items
from inference.core.protocols import Json
from inference.core.tables import ExperimentTable, Floats, Int64s
from inference.features.judging.engine.query import SheetKey, UnsavedComparison, comparison_rows, sheet_of
from inference.features.judging.engine.request import EVALUATE
from inference.features.judging.engine.sources import AnswerSource, ComparisonColumn, SourceKind
from inference.models import ComparedColumn, Comparison, Evaluation, PortMapping, ResourceMapping
from inference.storage.evaluations import evaluated_chunks
from inference.storage.mappings import load_model
from inference.storage.streaming import Chunk
from inference.web.listed_mappings import evaluation_url

NOT_DESCRIBED = "has schemes that the mapping does not describe"
NO_ANSWER = "no answer came with the set"


def experiment_items(chunks: Sequence[Chunk]) -> Items:
    """The experiments of all chunks; the table of their schemes is built at its first use."""
    nothing = np.zeros(0, dtype=np.int64)
    tables = [chunk.table for chunk in chunks]  # lets the other arrays of the chunks be freed
    return Items(
        ItemKind.EXPERIMENTS,
        np.concatenate([nothing, *(chunk.ids for chunk in chunks)]),
        np.concatenate([nothing, *(chunk.table.lengths for chunk in chunks)]),
        experiments=np.concatenate([nothing, *(chunk.experiments for chunk in chunks)]),
        read_table=lambda: joined_tables(tables),
    )


def measured_cycles(chunks: Sequence[Chunk]) -> Floats:
    """The measured cycles of each item: float64[n], > 0."""
    return np.concatenate([np.zeros(0), *(chunk.cycles for chunk in chunks)])


def median_cycles(experiments: Int64s, cycles: Floats) -> tuple[Int64s, Floats, Int64s]:
    """(distinct experiments ascending, medians of their cycles, place of the first measurement of each)."""
    order = np.lexsort((cycles, experiments))
    distinct, first, counts = np.unique(experiments[order], return_index=True, return_counts=True)
    low, high = order[first + (counts - 1) // 2], order[first + counts // 2]
    places = np.minimum.reduceat(order, first) if len(first) else order
    return distinct, (cycles[low] + cycles[high]) / 2, places


def median_items(items: Items, cycles: Floats) -> tuple[Items, Floats]:
    """Each measured experiment once, at its first measurement, with the medians of their cycles."""
    assert items.experiments is not None, "they were measured"
    experiments, middle, places = median_cycles(items.experiments, cycles)

    def read_table() -> ExperimentTable:
        assert items.table is not None, "experiments have schemes"
        return items.table.selected(places, np.arange(items.table.n_schemes))

    once = replace(
        items,
        ids=items.ids[places],
        lengths=items.lengths[places],
        experiments=experiments,
        read_table=read_table,
    )
    return once, middle


def model_answers(
    chunks: Sequence[Chunk], model: ThroughputModel, pulse: Callable[[], None] = lambda: None
) -> Answers:
    """The predictions of a mapping; `pulse` is called before each chunk."""
    parts = [np.zeros(0)]
    for chunk in chunks:
        pulse()
        parts.append(predicted_cycles(model, chunk.table))
    return Answers.of(np.concatenate(parts), NOT_DESCRIBED)


def tool_answers(chunks: Sequence[Chunk], tool: str) -> Answers:
    """The answers of a tool that the file of the measurements had."""
    parts = (chunk.answers.get(tool, np.full(len(chunk.ids), np.nan)) for chunk in chunks)
    return Answers.of(np.concatenate([np.zeros(0), *parts]), NO_ANSWER)


def joined_tables(tables: Sequence[ExperimentTable]) -> ExperimentTable:
    """The tables concatenated, over their common schemes in the order of the texts."""
    schemes = sorted({scheme for table in tables for scheme in table.schemes})
    number = {scheme: k for k, scheme in enumerate(schemes)}
    parts = [_renumber_schemes(table, number) for table in tables]
    terms = np.concatenate([np.zeros(0, dtype=np.int64), *(np.diff(table.offsets) for table in tables)])
    return ExperimentTable(
        tuple(schemes),
        np.concatenate(([0], np.cumsum(terms))).astype(np.int64),
        np.concatenate([np.zeros(0, dtype=np.int32), *(scheme for scheme, _ in parts)]),
        np.concatenate([np.zeros(0, dtype=np.int32), *(count for _, count in parts)]),
        np.concatenate([np.zeros(0, dtype=np.int64), *(table.lengths for table in tables)]),
    )


def _renumber_schemes(table: ExperimentTable, number: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Schemes and multiplicities with new scheme numbers, ascending within each experiment."""
    fresh = np.array([number[scheme] for scheme in table.schemes], dtype=np.int32)[table.scheme]
    experiment = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    order = np.lexsort((fresh, experiment))
    return fresh[order], table.count[order]


_CACHED_SHEETS = 2  # sheets; one of 10^6 experiments takes 120 MB


def unsaved_comparison(
    key: SheetKey, columns: Iterable[Json], address: str, csv_address: str = "", **facts: Any
) -> Comparison:
    """A comparison of these arrays; `columns` and `facts`: fields of the rows."""
    sheet = sheet_of(key)
    lengths = np.unique(sheet.items.lengths).tolist()
    row = Comparison(pk=-1, n=len(sheet.items), common=int(sheet.common.sum()), lengths=lengths, **facts)
    compared_columns = [
        ComparedColumn(comparison=row, position=position, summary={"lacks": answers.lacking()}, **fields)
        for position, (fields, answers) in enumerate(zip(columns, sheet.columns, strict=True))
    ]
    row.unsaved = UnsavedComparison(key, compared_columns, address, csv_address)
    return row


@dataclass(frozen=True, eq=False)
class EvaluationSheet:
    """The answers of the mapping and then of tools; `read`: number of measurements read, settled or not."""

    sheet: AnswerSheet
    columns: tuple[ComparisonColumn, ...]
    schemes: tuple[str, ...]
    read: int


def sheet_of_chunks(
    row: PortMapping | ResourceMapping, measured: Iterable[Chunk], pulse: Callable[[], None] = lambda: None
) -> EvaluationSheet:
    """The sheet of a mapping, and of the tools with answers in the chunks, against the measurements."""
    chunks = list(measured)
    kind = SourceKind.MAPPING if isinstance(row, PortMapping) else SourceKind.RESOURCES
    mapping_column = ComparisonColumn(
        AnswerSource(kind, row.name, row), model_answers(chunks, load_model(row), pulse)
    )
    tools = [
        ComparisonColumn(AnswerSource(SourceKind.TOOL, tool), tool_answers(chunks, tool))
        for tool in dict.fromkeys(tool for chunk in chunks for tool in chunk.answers)
    ]
    columns = (mapping_column, *tools)
    answers = [column.answers for column in columns]
    return EvaluationSheet(
        AnswerSheet(experiment_items(chunks), measured_cycles(chunks), answers),
        columns,
        tuple(sorted({scheme for chunk in chunks for scheme in chunk.table.schemes})),
        sum(chunk.read for chunk in chunks),
    )


@lru_cache(maxsize=_CACHED_SHEETS)
def _evaluation_sheet(pk: int, _computed: datetime) -> EvaluationSheet:
    """Reads all measurements: some seconds for 10^6 of them."""
    related = ("mapping", "resource_mapping", "experiment_set__isa", "held_out_by")
    evaluation = Evaluation.objects.select_related(*related).get(pk=pk)
    return sheet_of_chunks(evaluation.predictor, evaluated_chunks(evaluation))


def _read(pk: int, computed: datetime) -> AnswerSheet:
    return _evaluation_sheet(pk, computed).sheet


def predictor_field(row: PortMapping | ResourceMapping) -> str:
    """The field of a run's description that has a mapping of this kind."""
    return "mapping" if isinstance(row, PortMapping) else "resource_mapping"


def stored_evaluations(
    predictor: PortMapping | ResourceMapping, experiment_set: int | None
) -> QuerySet[Comparison]:
    """The stored comparisons of runs that evaluated a mapping on a set, the newest first."""
    fields = {f"run__config__{predictor_field(predictor)}": predictor.pk}
    rows = comparison_rows().filter(run__kind=EVALUATE, run__config__experiment_set=experiment_set)
    return rows.filter(**fields).order_by("-pk")


def compared_evaluation(evaluation: Evaluation) -> Comparison:
    """The comparison of an evaluation in any unit: that stored by its run, else an unsaved one."""
    stored = stored_evaluations(evaluation.predictor, evaluation.experiment_set_id)
    row = stored.filter(made__gte=evaluation.computed).first()
    if row is not None:
        return row
    identity = (evaluation.pk, evaluation.computed)
    answers = _evaluation_sheet(*identity)
    return unsaved_comparison(
        SheetKey(_read, identity),
        [
            {"kind": column.source.column_kind, "name": column.source.name, **column.source.column_fields}
            for column in answers.columns
        ],
        evaluation_url(evaluation),
        isa=evaluation.predictor.isa,
        experiment_set=evaluation.experiment_set,
        source="what was held out" if evaluation.experiment_set is None else evaluation.experiment_set.name,
        read=answers.read,
        schemes=list(answers.schemes),
    )
