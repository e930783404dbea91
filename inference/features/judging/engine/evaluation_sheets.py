"""An evaluation as a comparison: its measurements beside the mapping, and tools whose answers came with them.

`Evaluation` stores what sums it up. Everything else is read from the measurements when it is looked at, and
stays in memory as the arrays of stored comparisons do. The rows made here are never saved: their ids are
below 0, where stored ones have none.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

import numpy as np

from inference.core.judging.sheet import AnswerSheet
from inference.core.protocols import Json
from inference.features.judging.engine.experiment_chunks import (
    experiment_items,
    measured_cycles,
    model_answers,
    tool_answers,
    tools_in,
)
from inference.models import ComparedColumn, Comparison, Evaluation
from inference.storage.evaluations import evaluated_chunks
from inference.storage.mappings import load_model
from inference.web.listed_mappings import evaluation_url

_IN_MEMORY = 2  # of 10^6 experiments, 120 MB each


@dataclass(frozen=True, eq=False)
class EvaluationSheet:
    """The answers of the mapping and then of the `tools`; `read`: measurements, settled or not."""

    sheet: AnswerSheet
    tools: tuple[str, ...]
    schemes: tuple[str, ...]
    read: int


@lru_cache(maxsize=_IN_MEMORY)
def evaluation_sheet(pk: int, _computed: datetime) -> EvaluationSheet:
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


def _comparison(evaluation: Evaluation) -> Comparison:
    answers = evaluation_sheet(evaluation.pk, evaluation.computed)
    items = answers.sheet.items
    return Comparison(
        pk=-evaluation.pk,
        isa=evaluation.predictor.isa,
        experiment_set=evaluation.experiment_set,
        source="what was held out" if evaluation.experiment_set is None else evaluation.experiment_set.name,
        read=answers.read,
        n=len(items),
        common=int(answers.sheet.common.sum()),
        made=evaluation.computed,
        schemes=list(answers.schemes),
        lengths=np.unique(items.lengths).tolist(),
    )


def evaluation_columns(row: Comparison) -> list[ComparedColumn]:
    """The columns of a comparison that an evaluation is."""
    evaluation = Evaluation.objects.select_related("mapping", "resource_mapping").get(pk=-row.pk)
    return _columns(row, evaluation)


def compared_evaluation(evaluation: Evaluation) -> tuple[Comparison, list[ComparedColumn]]:
    """An evaluation, whatever its unit, as a comparison with its columns."""
    row = _comparison(evaluation)
    return row, _columns(row, evaluation)


def evaluation_address(row: Comparison) -> str:
    """The tab that shows the comparison that an evaluation is."""
    return evaluation_url(Evaluation.objects.get(pk=-row.pk))


def _columns(row: Comparison, evaluation: Evaluation) -> list[ComparedColumn]:
    answers = evaluation_sheet(evaluation.pk, row.made)
    kinds = ComparedColumn.Kind
    of_mapping: Json = {
        "kind": kinds.MAPPING if evaluation.mapping_id is not None else kinds.RESOURCES,
        "name": evaluation.predictor.name,
        "mapping": evaluation.mapping,
        "resource_mapping": evaluation.resource_mapping,
    }
    of_tools: list[Json] = [{"kind": kinds.TOOL, "name": tool} for tool in answers.tools]
    return [
        ComparedColumn(
            comparison=row,
            position=position,
            summary={"lacks": answers.sheet.columns[position].lacking()},
            **fields,
        )
        for position, fields in enumerate([of_mapping, *of_tools])
    ]
