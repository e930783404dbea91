"""An evaluation as a comparison: its measurements beside the mapping, and tools whose answers came with them.

`Evaluation` stores what sums it up. Everything else is read from the measurements when it is looked at, and
stays in memory as the arrays of stored comparisons do.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from inference.core.judging.sheet import AnswerSheet
from inference.core.protocols import Json
from inference.features.judging.engine.experiment_chunks import (
    experiment_items,
    measured_cycles,
    model_answers,
    tool_answers,
    tools_in,
)
from inference.features.judging.engine.query import Key, unsaved_comparison
from inference.models import ComparedColumn, Comparison, Evaluation
from inference.storage.evaluations import evaluated_chunks
from inference.storage.resource_mappings import load_model
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
