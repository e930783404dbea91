"""Dependents of rows with a name, their fate at a deletion, and the deletion itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from inference.models import (
    ExperimentSet,
    LatencySet,
    Machine,
    MeasuredFrontEnd,
    PortMapping,
    ResourceMapping,
    Run,
    StoredCoreModel,
)
from inference.models.named import Named
from inference.models.run import runs_on
from inference.web.contributions import Dependent, contributed

NO_REPEAT = "kept, but cannot be run again"
END_FIRST = "to be ended or cancelled first"
DELETED = "deleted with it"
RETAINED = "kept"
RETAINED_IN_PART = "kept without this part"
CONVERSIONS = "resource mappings converted from it"
DELETE_FIRST = "to be deleted first"

Finder = Callable[[Any], list[Dependent]]
"""Finds the dependents of a row; those of other apps are in `DEPENDENTS`, beside their models."""


def dependents_of(row: Named) -> list[Dependent]:
    """Dependents of a row with a name, by kind; kinds without rows are left out."""
    finders: Iterable[tuple[type[Named], Finder]] = (*_FINDERS.items(), *contributed("DEPENDENTS"))
    for model, find in finders:
        if isinstance(row, model):
            return find(row)
    raise TypeError(f"the dependents of a {type(row).__name__} are not defined")


@transaction.atomic
def delete_unless_needed(row: Named) -> list[Dependent]:
    """Delete a row unless a dependent forbids it; returns these dependents, [] after the deletion."""
    blockers = [dependent for dependent in dependents_of(row) if dependent.blocks]
    if not blockers:
        row.delete()
    return blockers


def _of_set(row: ExperimentSet) -> list[Dependent]:
    return [
        *count_of(row.measurements.count(), "measurement", DELETED),
        *count_of(row.evaluations.count(), "evaluation", DELETED),
        *_users(_runs_with(row, "datasets", "experiment_set", "evaluate") | _unfinished_set_runs(row)),
    ]


def _of_mapping(row: PortMapping) -> list[Dependent]:
    return [
        *count_of(row.evaluations.count(), "evaluation", DELETED),
        *count_of(
            row.front.exclude(picked=row).count(), "point of its front", DELETED, "points of its front"
        ),
        *count_of(row.conversions.count(), "resource mapping converted from it", RETAINED, CONVERSIONS),
        *count_of(row.core_models.count(), "core model", RETAINED_IN_PART),
        *_users(_runs_with(row, "simulate", "mapping", "reference")),
    ]


def _of_resource_mapping(row: ResourceMapping) -> list[Dependent]:
    return [
        *count_of(row.evaluations.count(), "evaluation", DELETED),
        *_users(Run.objects.filter(kind="evaluate", config__resource_mapping=row.pk)),
    ]


def _of_run(row: Run) -> list[Dependent]:
    working = row.state not in Run.FINAL
    blocker = Dependent("It has not ended", "cancel it first", blocks=True)
    return [
        *([blocker] if working else []),
        *count_of(row.held_out_evaluations.count(), "evaluation on what it held out", DELETED),
        *count_of(PortMapping.objects.filter(run=row).count(), "port mapping", RETAINED),
        *count_of(row.experiment_sets.count(), "experiment set", RETAINED),
        *count_of(row.latency_sets.count(), "latency set", RETAINED),
        *count_of(row.front_ends.count(), "front end", RETAINED),
        *count_of(StoredCoreModel.objects.filter(run=row).count(), "core model", RETAINED),
        *count_of(row.parts.count(), "run that is a part of it", RETAINED, "runs that are parts of it"),
        *count_of(row.forks.count(), "run that began as its copy", RETAINED, "runs that began as its copies"),
    ]


def _of_machine(row: Machine) -> list[Dependent]:
    stop = "start the site with --no-agent first" if row.local else "stop it there first"
    connected = Dependent("Its agent is connected", stop, blocks=True)
    tokens = row.tokens.filter(revoked=None).count()
    return [
        *([connected] if row.is_online() else []),
        *count_of(row.experiment_sets.count(), "experiment set", DELETE_FIRST, blocks=True),
        *count_of(row.mappings.count(), "port mapping", DELETE_FIRST, blocks=True),
        *count_of(row.resource_mappings.count(), "resource mapping", DELETE_FIRST, blocks=True),
        *count_of(row.latency_sets.count(), "latency set", DELETE_FIRST, blocks=True),
        *count_of(row.front_ends.count(), "front end", DELETE_FIRST, blocks=True),
        *count_of(row.core_models.count(), "core model", DELETE_FIRST, blocks=True),
        *_users(runs_on(row)),
        *count_of(tokens, "token", DELETED),
        *count_of(row.readings.count(), "reading of its noise", DELETED, "readings of its noise"),
    ]


def _of_latency_set(row: LatencySet) -> list[Dependent]:
    return [
        *count_of(row.schemes.count(), "scheme with its latencies", DELETED, "schemes with their latencies"),
        *count_of(row.core_models.count(), "core model", RETAINED_IN_PART),
    ]


def _of_front_end(row: MeasuredFrontEnd) -> list[Dependent]:
    return count_of(row.core_models.count(), "core model", RETAINED_IN_PART)


_FINDERS: dict[type[Named], Finder] = {
    ExperimentSet: _of_set,
    LatencySet: _of_latency_set,
    Machine: _of_machine,
    MeasuredFrontEnd: _of_front_end,
    PortMapping: _of_mapping,
    ResourceMapping: _of_resource_mapping,
    Run: _of_run,
    StoredCoreModel: lambda row: [],  # nothing refers to one
}


def _runs_with(row: ExperimentSet | PortMapping, source: str, field: str, other: str) -> QuerySet[Run]:
    """Runs whose description contains the row: among the sources, or in the fields `field` and `other`."""
    condition = Q(**{f"config__source__{source}": row.pk})
    for name in (field, other):
        condition |= Q(**{f"config__{name}": row.pk})
    with_sources = Run.objects.filter(**{f"config__source__{source}__isnull": False})
    sources: list[tuple[int, Any]] = list(with_sources.values_list("pk", f"config__source__{source}"))
    run_ids = [run for run, ids in sources if isinstance(ids, list) and row.pk in ids]
    return Run.objects.filter(condition | Q(pk__in=run_ids))


def _unfinished_set_runs(row: ExperimentSet) -> QuerySet[Run]:
    """Unfinished runs that compare or merge the set; ended ones have stored their results."""
    unfinished = Run.objects.filter(kind__in=("compare-sets", "merge-sets")).exclude(state__in=Run.FINAL)
    run_ids = [
        pk
        for pk, config in unfinished.values_list("pk", "config")
        if row.pk in (*config.get("sets", ()), config.get("first"), config.get("second"))
    ]
    return Run.objects.filter(pk__in=run_ids)


def _users(runs: QuerySet[Run]) -> list[Dependent]:
    ended = runs.filter(state__in=Run.FINAL).count()
    working = runs.count() - ended
    return [*count_of(working, "unfinished run", END_FIRST, blocks=True), *count_of(ended, "run", NO_REPEAT)]


def count_of(n: int, noun: str, fate: str, plural: str = "", *, blocks: bool = False) -> list[Dependent]:
    """A `Dependent` for `n` rows of a kind; [] for 0."""
    if n == 0:
        return []
    label = f"1 {noun}" if n == 1 else f"{n:,} {plural or noun + 's'}"
    return [Dependent(label, fate, blocks)]
