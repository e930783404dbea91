"""Runs of kind `evaluate`, which compare a mapping's predictions with an experiment set."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

from inference.core.events import Event, Log, ResultStored
from inference.core.experiment import Unit
from inference.core.metrics import Residuals, SchemeError
from inference.core.protocols import Json
from inference.features.judging.engine.evaluation_sheets import (
    predictor_field,
    sheet_of_chunks,
)
from inference.features.judging.engine.judge_jobs import ComparisonSummary, store_comparison, summarise_sheet
from inference.models import ExperimentSet, PortMapping, ResourceMapping, Run
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Job, Store, Task
from inference.runs.request import RunRequest, read_row
from inference.storage.evaluations import (
    Predictions,
    scores_of,
    store_evaluation,
    summary_of,
)
from inference.storage.names import result_name, row_names
from inference.storage.streaming import set_chunks

_PREDICTORS: dict[str, type[PortMapping] | type[ResourceMapping]] = {
    "mapping": PortMapping,
    "resource_mapping": ResourceMapping,
}


class EvaluationConfig(RunRequest):
    """The row id of a port mapping or of a resource mapping, and that of the experiment set."""

    noun = "an evaluation"
    mapping: int | None = None
    resource_mapping: int | None = None
    experiment_set: int
    unit: Literal["cycles", "cpi", "ipc"] = "cycles"


class EvaluateJob(Job):
    def check(self, config: Json) -> Json:
        """The complete description. Raises `ConfigError` for different instruction sets."""
        request = EvaluationConfig.read(config)
        field = _field(config)
        predictor = read_row(_PREDICTORS[field], field, getattr(request, field))
        assert isinstance(predictor, PortMapping | ResourceMapping), "_PREDICTORS has only these"
        experiment_set = read_row(ExperimentSet, "experiment_set", request.experiment_set)
        if predictor.isa_id != experiment_set.isa_id:
            raise ConfigError(
                f"{predictor.name!r} and {experiment_set.name!r} are for different instruction sets"
            )
        return {field: predictor.pk, "experiment_set": experiment_set.pk, "unit": request.unit}

    def default_name(self, config: Json) -> str:
        (experiments,) = row_names(ExperimentSet, [config["experiment_set"]])
        field = _field(config)
        return result_name(*row_names(_PREDICTORS[field], [config[field]]), f"accuracy on {experiments}")

    def work(self, task: Task) -> Store:
        """Predict all measurements. Raises `JobError` if the mapping or the set has been deleted."""
        config = task.run.config
        predicts, experiment_set = _existing_rows(config)
        chunks = set_chunks(experiment_set, answers=True)
        read = sheet_of_chunks(predicts, chunks, task.reporter.pulse)
        items = read.sheet.items
        assert items.table is not None, "experiments have schemes"
        points, residuals = read.sheet.compare(0, Unit(config["unit"])), Residuals()
        residuals.add(items.table, points.at, points.reference, points.predicted)
        predictions = Predictions(
            items.ids[points.at], points.reference, points.predicted, read.read - len(points)
        ).with_cached_properties()
        summary = summarise_sheet(task, read.sheet, read.columns)
        return partial(_store, task.run, predictions, residuals.by_scheme, read.read, summary)


def _field(config: Json) -> str:
    """The field of the description that has the mapping. Raises `ConfigError` for several."""
    named = [field for field in _PREDICTORS if config.get(field) is not None]
    if len(named) > 1:
        raise ConfigError(f"an evaluation is of one predictor: give one of {', '.join(named)}")
    return named[0] if named else "mapping"


def _existing_rows(config: Json) -> tuple[PortMapping | ResourceMapping, ExperimentSet]:
    field = _field(config)
    predicts = _PREDICTORS[field].objects.filter(pk=config[field]).first()
    experiment_set = ExperimentSet.objects.filter(pk=config["experiment_set"]).first()
    if predicts is None or experiment_set is None:
        raise JobError("the mapping or the experiment set to evaluate has been deleted")
    return predicts, experiment_set


def _store(
    run: Run, predictions: Predictions, schemes: Sequence[SchemeError], read: int, summary: ComparisonSummary
) -> tuple[Json, Sequence[Event]]:
    predicts, experiment_set = _existing_rows(run.config)
    unit = Unit(run.config["unit"])
    evaluation = store_evaluation(predicts, experiment_set, unit, predictions, schemes)
    store_comparison(run, experiment_set, read, summary)
    result = {
        "evaluation": evaluation.pk,
        predictor_field(predicts): predicts.pk,
        "name": predicts.name,
        "scores": scores_of(evaluation),
    }
    log: Event = Log("info", summary_of(evaluation))
    return result, [log, ResultStored(result)]


JOBS = {"evaluate": EvaluateJob}
