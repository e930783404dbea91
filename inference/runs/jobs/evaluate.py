"""Evaluation runs: a mapping's predictions against an experiment set."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from inference.core.metrics import Scores, Unit
from inference.core.protocols import Json
from inference.exchange.evaluating import Comparison, compare_mapping, store_evaluation
from inference.exchange.stored import load_mapping, load_measurements
from inference.models import Evaluation, ExperimentSet, PortMapping, Run
from inference.runs.errors import ConfigError, JobError
from inference.runs.job import Store, Task
from inference.runs.journal import Entry

_FIELDS = ("mapping", "experiment_set", "unit")


class EvaluateJob:
    """Runs of kind `evaluate`: {"mapping": id, "experiment_set": id, "unit": "cycles" | "cpi" | "ipc"}."""

    short = True

    def check(self, config: Json) -> Json:
        """The description with its unit; raises `ConfigError`."""
        unknown = sorted(config.keys() - set(_FIELDS))
        if unknown:
            raise ConfigError(
                f"an evaluation has no field {unknown[0]!r}; its fields are {', '.join(_FIELDS)}"
            )
        unit = config.get("unit", Unit.CYCLES.value)
        if unit not in {known.value for known in Unit}:
            raise ConfigError(f"unit must be one of {', '.join(Unit)}, not {unit!r}")
        complete = {
            "mapping": config.get("mapping"),
            "experiment_set": config.get("experiment_set"),
            "unit": unit,
        }
        mapping, experiment_set = _rows(complete)
        if mapping is None:
            raise ConfigError(f"mapping: there is no port mapping with the id {complete['mapping']!r}")
        if experiment_set is None:
            raise ConfigError(f"experiment_set: there is none with the id {complete['experiment_set']!r}")
        if mapping.isa_id != experiment_set.isa_id:
            raise ConfigError(
                f"{mapping.name!r} and {experiment_set.name!r} are for different instruction sets"
            )
        return complete

    def submitted(self, run: Run) -> None:
        """Nothing refers to an evaluation run."""

    def work(self, task: Task) -> Store:
        """Predict, to be stored when the run is finished. Raises `JobError` where the rows are gone."""
        config = task.run.config
        mapping, experiment_set = _existing(config)
        measured = load_measurements(experiment_set)
        compared = compare_mapping(load_mapping(mapping), measured, Unit(config["unit"]))
        return partial(_store, config, compared)


def _rows(config: Json) -> tuple[PortMapping | None, ExperimentSet | None]:
    ids = config["mapping"], config["experiment_set"]
    if not all(type(pk) is int for pk in ids):
        raise ConfigError(f"mapping and experiment_set must be ids, not {ids[0]!r} and {ids[1]!r}")
    return PortMapping.objects.filter(pk=ids[0]).first(), ExperimentSet.objects.filter(pk=ids[1]).first()


def _existing(config: Json) -> tuple[PortMapping, ExperimentSet]:
    mapping, experiment_set = _rows(config)
    if mapping is None or experiment_set is None:
        raise JobError("the mapping or the experiment set to evaluate has been deleted")
    return mapping, experiment_set


def _store(config: Json, compared: Comparison) -> tuple[Json, Sequence[Entry]]:
    mapping, experiment_set = _existing(config)
    evaluation = store_evaluation(mapping, experiment_set, Unit(config["unit"]), compared)
    result = {
        "evaluation": evaluation.pk,
        "mapping": mapping.pk,
        "name": mapping.name,
        "scores": scores_of(evaluation),
    }
    return result, [log_of(evaluation), ("result", result)]


def log_of(evaluation: Evaluation) -> Entry:
    """What a stored evaluation found, as a line of the log."""
    judge = evaluation.experiment_set
    source = f"{evaluation.n} held-out experiments" if judge is None else f"{evaluation.n} of {judge.name}"
    mape = "undefined" if evaluation.mape is None else f"{evaluation.mape:.2f} %"
    return "log", {"level": "info", "text": f"mean absolute percentage error on {source}: {mape}"}


def scores_of(evaluation: Evaluation) -> Json:
    """The numbers of a stored evaluation, as results and events carry them."""
    return Scores(evaluation.n, evaluation.mape, evaluation.pearson, evaluation.kendall).as_json()
