"""An evaluation as a comparison: its measurements beside the mapping, and tools whose answers came with them.

`Evaluation` stores what sums it up. Everything else is read from the measurements when it is looked at, and
stays in memory as the arrays of stored comparisons do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

import numpy as np

from inference.core.arrays import Floats
from inference.core.judging.sheet import Answers, AnswerSheet, ItemKind, Items
from inference.core.predicting import ThroughputModel, predicted_cycles
from inference.core.protocols import Json
from inference.core.tables import ExperimentTable
from inference.features.judging.engine.query import Key, unsaved_comparison
from inference.models import ComparedColumn, Comparison, Evaluation
from inference.storage.evaluations import evaluated_chunks
from inference.storage.resource_mappings import load_model
from inference.storage.streaming import Chunk
from inference.web.listed_mappings import evaluation_url

NOT_DESCRIBED = "has schemes that the mapping does not describe"
NO_ANSWER = "no answer came with the set"


def experiment_items(chunks: Sequence[Chunk]) -> Items:
    """The experiments of all chunks; the table of their schemes is made at its first use."""
    nothing = np.zeros(0, dtype=np.int64)
    tables = [chunk.table for chunk in chunks]  # without the rest of the chunks, which may then go
    return Items(
        ItemKind.EXPERIMENTS,
        np.concatenate([nothing, *(chunk.ids for chunk in chunks)]),
        np.concatenate([nothing, *(chunk.table.lengths for chunk in chunks)]),
        experiments=np.concatenate([nothing, *(chunk.experiments for chunk in chunks)]),
        read_table=lambda: joined_tables(tables),
    )


def measured_cycles(chunks: Sequence[Chunk]) -> Floats:
    """What was measured of each item: float64[n], > 0."""
    return np.concatenate([np.zeros(0), *(chunk.cycles for chunk in chunks)])


def model_answers(
    chunks: Sequence[Chunk], model: ThroughputModel, pulse: Callable[[], None] = lambda: None
) -> Answers:
    """What a mapping says; `pulse` is called before each chunk."""
    parts = [np.zeros(0)]
    for chunk in chunks:
        pulse()
        parts.append(predicted_cycles(model, chunk.table))
    return Answers.of(np.concatenate(parts), NOT_DESCRIBED)


def tools_in(chunks: Sequence[Chunk]) -> list[str]:
    """The tools whose answers came with the measurements, in the order of their first answers."""
    return list(dict.fromkeys(tool for chunk in chunks for tool in chunk.answers))


def tool_answers(chunks: Sequence[Chunk], tool: str) -> Answers:
    """What a tool says that had answers in the file of the measurements."""
    parts = (chunk.answers.get(tool, np.full(len(chunk.ids), np.nan)) for chunk in chunks)
    return Answers.of(np.concatenate([np.zeros(0), *parts]), NO_ANSWER)


def joined_tables(tables: Sequence[ExperimentTable]) -> ExperimentTable:
    """Tables one after the other, over the schemes of all of them in the order of their texts."""
    schemes = sorted({scheme for table in tables for scheme in table.schemes})
    number = {scheme: k for k, scheme in enumerate(schemes)}
    parts = [_renumbered(table, number) for table in tables]
    terms = np.concatenate([np.zeros(0, dtype=np.int64), *(np.diff(table.offsets) for table in tables)])
    return ExperimentTable(
        tuple(schemes),
        np.concatenate(([0], np.cumsum(terms))).astype(np.int64),
        np.concatenate([np.zeros(0, dtype=np.int32), *(scheme for scheme, _ in parts)]),
        np.concatenate([np.zeros(0, dtype=np.int32), *(count for _, count in parts)]),
        np.concatenate([np.zeros(0, dtype=np.int64), *(table.lengths for table in tables)]),
    )


def _renumbered(table: ExperimentTable, number: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Schemes and multiplicities with other numbers, which rise within each experiment again."""
    fresh = np.array([number[scheme] for scheme in table.schemes], dtype=np.int32)[table.scheme]
    experiment = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    order = np.lexsort((fresh, experiment))
    return fresh[order], table.count[order]


_IN_MEMORY = 2  # of 10^6 experiments, 120 MB each


@dataclass(frozen=True, eq=False)
class EvaluationSheet:
    """The answers of the mapping and then of the `tools`; `read`: measurements, settled or not."""

    sheet: AnswerSheet
    tools: tuple[str, ...]
    schemes: tuple[str, ...]
    read: int


@lru_cache(maxsize=_IN_MEMORY)
def _evaluation_sheet(pk: int, _computed: datetime) -> EvaluationSheet:
    """Reads the measurements once: some seconds for 10^6 of them."""
    related = ("mapping", "resource_mapping", "experiment_set__isa", "held_out_by")
    evaluation = Evaluation.objects.select_related(*related).get(pk=pk)
    chunks = list(evaluated_chunks(evaluation))
    tools = tools_in(chunks)
    columns = [
        model_answers(chunks, load_model(evaluation.predictor)),
        *(tool_answers(chunks, tool) for tool in tools),
    ]
    return EvaluationSheet(
        AnswerSheet(experiment_items(chunks), measured_cycles(chunks), columns),
        tuple(tools),
        tuple(sorted({scheme for chunk in chunks for scheme in chunk.table.schemes})),
        sum(chunk.read for chunk in chunks),
    )


def _read(pk: int, computed: datetime) -> AnswerSheet:
    return _evaluation_sheet(pk, computed).sheet


def compared_evaluation(evaluation: Evaluation) -> Comparison:
    """An evaluation, whatever its unit, as a comparison."""
    kinds, identity = ComparedColumn.Kind, (evaluation.pk, evaluation.computed)
    answers = _evaluation_sheet(*identity)
    of_mapping: Json = {
        "kind": kinds.MAPPING if evaluation.mapping_id is not None else kinds.RESOURCES,
        "name": evaluation.predictor.name,
        "mapping": evaluation.mapping,
        "resource_mapping": evaluation.resource_mapping,
    }
    of_tools: list[Json] = [{"kind": kinds.TOOL, "name": tool} for tool in answers.tools]
    return unsaved_comparison(
        Key(_read, identity),
        [of_mapping, *of_tools],
        evaluation_url(evaluation),
        isa=evaluation.predictor.isa,
        experiment_set=evaluation.experiment_set,
        source="what was held out" if evaluation.experiment_set is None else evaluation.experiment_set.name,
        read=answers.read,
        schemes=list(answers.schemes),
    )
