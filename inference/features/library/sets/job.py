"""Runs of kind `merge-sets`: merge several experiment sets into a new one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from pydantic import Field

from inference.core.events import Event, Log, PhaseStarted, ResultStored
from inference.core.protocols import Json
from inference.features.library.sets.merging import (
    TOLERANCE,
    Conflicts,
    Merging,
    log_line,
    plan_merging,
    require_mergeable,
    store_merged,
)
from inference.formats.problems import ExchangeError
from inference.models import ExperimentSet, Run
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Job, Store, Task
from inference.runs.request import AllowedTexts, RunRequest, is_id
from inference.storage.names import check_name_free, enumerated, free_name, row_names


class MergedSets(RunRequest):
    """Configuration of a merge.

    `sets`: ids, in order of priority. `name` and `note` of the new set; without a name, it is composed of
    theirs. `conflicts`: what to do with experiments whose times differ by more than `tolerance` per cent, see
    `Conflicts`.
    """

    noun = "merging sets"
    sets: list[int] = []
    name: str = ""
    note: str = ""
    conflicts: Annotated[str, AllowedTexts(Conflicts)] = Conflicts.FIRST.value
    tolerance: Annotated[float, Field(ge=0, le=1000)] = TOLERANCE


class MergeSetsJob(Job):
    def check(self, config: Json) -> Json:
        """The completed configuration. Raises `ConfigError` and `ExchangeError`."""
        request = MergedSets.read(config)
        require_mergeable(_sets(request.sets), request.tolerance)
        if request.name:
            check_name_free(ExperimentSet, request.name)
        return request.as_json()

    def default_name(self, config: Json) -> str:
        return config["name"] or enumerated(row_names(ExperimentSet, config["sets"]))

    def submitted(self, run: Run) -> None:
        """Does nothing: no row refers to the run before it is done."""

    def work(self, task: Task) -> Store:
        """Decides which measurements the new set gets; they are stored when the run finishes."""
        config = task.run.config
        labels = ["Compare measurements", "Store the new set"]
        task.reporter.emit(PhaseStarted("look", 1, labels))
        merging = plan_merging(
            _existing_sets(config["sets"]), Conflicts(config["conflicts"]), config["tolerance"]
        )
        task.reporter.pulse()
        text = log_line(Conflicts(config["conflicts"]), merging)
        task.reporter.emit(Log("info", text))
        task.reporter.emit(PhaseStarted("store", 2, labels))
        return partial(_merge, task.run, merging)


def _merge(run: Run, merging: Merging) -> tuple[Json, Sequence[Event]]:
    config = run.config
    sets = _existing_sets(config["sets"])
    name = config["name"] or free_name(ExperimentSet, " and ".join(row.name for row in sets[:3])[:180])
    merged = store_merged(
        name,
        sets,
        merging,
        Conflicts(config["conflicts"]),
        config["tolerance"],
        note=config["note"],
        run=run,
    )
    result: Json = {"experiment_set": merged.pk, "name": merged.name, "rows": merged.measurements.count()}
    text = f"{result['rows']:,} measurements stored as {merged.name}"
    return result, [Log("info", text), ResultStored(result)]


def _sets(ids: Sequence[int]) -> list[ExperimentSet]:
    """The sets in the order of their ids. Raises `ConfigError` for an unknown id."""
    rows = ExperimentSet.objects.select_related("isa", "machine").in_bulk([pk for pk in ids if is_id(pk)])
    for pk in ids:
        if pk not in rows:
            raise ConfigError(f"there is no experiment set with the id {pk}")
    return [rows[pk] for pk in ids]


def _existing_sets(ids: Sequence[int]) -> list[ExperimentSet]:
    try:
        return _sets(ids)
    except (ConfigError, ExchangeError) as error:
        raise JobError(f"a set has been deleted: {error}") from error


JOBS = {"merge-sets": MergeSetsJob}
