"""Runs that make one experiment set of several."""

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
    plan_merging,
    require_mergeable,
    said_of,
    store_merged,
)
from inference.formats.errors import ExchangeError
from inference.models import ExperimentSet, Run
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Store, Task
from inference.runs.request import OneOf, RunRequest, is_id
from inference.storage.names import free_name, free_or_refuse


class MergedSets(RunRequest):
    """`sets`: ids, in the order in which they count. `name` and `note` of the new set ("": made of theirs).

    `conflicts`: what becomes of experiments whose numbers are more than `tolerance` per cent apart, see
    `Conflicts`.
    """

    noun = "merging sets"
    sets: list[int] = []
    name: str = ""
    note: str = ""
    conflicts: Annotated[str, OneOf(Conflicts)] = Conflicts.FIRST.value
    tolerance: Annotated[float, Field(ge=0, le=1000)] = TOLERANCE


class MergeSetsJob:
    """Runs of kind `merge-sets`; see `MergedSets`."""

    def check(self, config: Json) -> Json:
        """The complete description; raises `ConfigError` and `ExchangeError`."""
        asked = MergedSets.read(config)
        require_mergeable(_sets(asked.sets), asked.tolerance)
        if asked.name:
            free_or_refuse(ExperimentSet, asked.name)
        return asked.as_json()

    def submitted(self, run: Run) -> None:
        """Nothing refers to such a run until its set is there."""

    def work(self, task: Task) -> Store:
        """Decide which measurements the new set gets; they are stored when the run is finished."""
        config = task.run.config
        labels = ["Look at every measurement", "Store the new set"]
        task.reporter.emit(PhaseStarted("look", 1, labels))
        merging = plan_merging(_existing(config["sets"]), Conflicts(config["conflicts"]), config["tolerance"])
        task.reporter.pulse()
        text = said_of(Conflicts(config["conflicts"]), merging)
        task.reporter.emit(Log("info", text))
        task.reporter.emit(PhaseStarted("store", 2, labels))
        return partial(_merge, task.run, merging)


def _merge(run: Run, merging: Merging) -> tuple[Json, Sequence[Event]]:
    config = run.config
    sets = _existing(config["sets"])
    name = config["name"] or free_name(ExperimentSet, " and ".join(each.name for each in sets[:3])[:180])
    made = store_merged(
        name,
        sets,
        merging,
        Conflicts(config["conflicts"]),
        config["tolerance"],
        note=config["note"],
        run=run,
    )
    result: Json = {"experiment_set": made.pk, "name": made.name, "rows": made.measurements.count()}
    text = f"{result['rows']:,} measurements stored as {made.name}"
    return result, [Log("info", text), ResultStored(result)]


def _sets(ids: Sequence[int]) -> list[ExperimentSet]:
    """The sets in the order of their ids; raises `ConfigError` for what is no id of one."""
    found = ExperimentSet.objects.select_related("isa", "machine").in_bulk([pk for pk in ids if is_id(pk)])
    for pk in ids:
        if pk not in found:
            raise ConfigError(f"there is no experiment set with the id {pk}")
    return [found[pk] for pk in ids]


def _existing(ids: Sequence[int]) -> list[ExperimentSet]:
    try:
        return _sets(ids)
    except (ConfigError, ExchangeError) as error:
        raise JobError(f"a set has been deleted: {error}") from error
