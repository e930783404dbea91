"""What depends on a set, a mapping, a run or a machine, and what becomes of it when that is deleted."""

from __future__ import annotations

from collections.abc import Callable
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
from inference.web.contributions import DEPENDENTS, Dependent

ENDED = "kept, but cannot be run again"
NEEDED = "to be ended or cancelled first"
GONE = "deleted with it"
KEPT = "kept"
WITHOUT_IT = "kept without this part"
CONVERTED = "resource mappings converted from it"
FIRST = "to be deleted first"


def dependents_of(row: Named) -> list[Dependent]:
    """Everything that depends on a set, mapping, run or machine; kinds without any are left out."""
    if of := DEPENDENTS.get(row._meta.label):
        return of(row)
    for model, find in _FINDERS.items():
        if isinstance(row, model):
            return find(row)
    raise TypeError(f"nothing is known about what depends on a {type(row).__name__}")


@transaction.atomic
def delete_unless_needed(row: Named) -> list[Dependent]:
    """Delete a row unless something forbids that; what does, nothing where it is gone now."""
    blockers = [each for each in dependents_of(row) if each.blocks]
    if not blockers:
        row.delete()
    return blockers


def _of_set(row: ExperimentSet) -> list[Dependent]:
    return [
        *counted(row.measurements.count(), "measurement", GONE),
        *counted(row.evaluations.count(), "evaluation", GONE),
        *_users(_runs_with(row, "datasets", "experiment_set", "evaluate") | _runs_beside(row)),
    ]


def _of_mapping(row: PortMapping) -> list[Dependent]:
    return [
        *counted(row.evaluations.count(), "evaluation", GONE),
        *counted(row.front.exclude(picked=row).count(), "point of its front", GONE, "points of its front"),
        *counted(row.conversions.count(), "resource mapping converted from it", KEPT, CONVERTED),
        *counted(row.core_models.count(), "core model", WITHOUT_IT),
        *_users(_runs_with(row, "simulate", "mapping", "reference")),
    ]


def _of_resource_mapping(row: ResourceMapping) -> list[Dependent]:
    return [
        *counted(row.evaluations.count(), "evaluation", GONE),
        *_users(Run.objects.filter(kind="evaluate", config__resource_mapping=row.pk)),
    ]


def _of_run(row: Run) -> list[Dependent]:
    working = row.state not in Run.FINAL
    blocker = Dependent("It has not ended", "cancel it first", blocks=True)
    return [
        *([blocker] if working else []),
        *counted(row.held_out_evaluations.count(), "evaluation on what it held out", GONE),
        *counted(PortMapping.objects.filter(run=row).count(), "port mapping", KEPT),
        *counted(row.experiment_sets.count(), "experiment set", KEPT),
        *counted(row.latency_sets.count(), "latency set", KEPT),
        *counted(row.front_ends.count(), "front end", KEPT),
        *counted(StoredCoreModel.objects.filter(run=row).count(), "core model", KEPT),
        *counted(row.parts.count(), "run that is a part of it", KEPT, "runs that are parts of it"),
        *counted(row.forks.count(), "run that began as its copy", KEPT, "runs that began as its copies"),
    ]


def _of_machine(row: Machine) -> list[Dependent]:
    stop = "start the site with --no-agent first" if row.local else "stop it there first"
    connected = Dependent("Its agent is connected", stop, blocks=True)
    tokens = row.tokens.filter(revoked=None).count()
    return [
        *([connected] if row.is_online() else []),
        *counted(row.experiment_sets.count(), "experiment set", FIRST, blocks=True),
        *counted(row.mappings.count(), "port mapping", FIRST, blocks=True),
        *counted(row.resource_mappings.count(), "resource mapping", FIRST, blocks=True),
        *counted(row.latency_sets.count(), "latency set", FIRST, blocks=True),
        *counted(row.front_ends.count(), "front end", FIRST, blocks=True),
        *counted(row.core_models.count(), "core model", FIRST, blocks=True),
        *_users(runs_on(row)),
        *counted(tokens, "token", GONE),
        *counted(row.readings.count(), "reading of its noise", GONE, "readings of its noise"),
    ]


def _of_latency_set(row: LatencySet) -> list[Dependent]:
    return [
        *counted(row.schemes.count(), "scheme with its latencies", GONE, "schemes with their latencies"),
        *counted(row.core_models.count(), "core model", WITHOUT_IT),
    ]


def _of_front_end(row: MeasuredFrontEnd) -> list[Dependent]:
    return counted(row.core_models.count(), "core model", WITHOUT_IT)


_FINDERS: dict[type[Named], Callable[[Any], list[Dependent]]] = {
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
    """Runs whose description names a row: among the sources, or in a field of its own."""
    named = Q(**{f"config__source__{source}": row.pk})
    for one in (field, other):
        named |= Q(**{f"config__{one}": row.pk})
    lists = Run.objects.filter(**{f"config__source__{source}__isnull": False})
    listed: list[tuple[int, Any]] = list(lists.values_list("pk", f"config__source__{source}"))
    naming = [run for run, ids in listed if isinstance(ids, list) and row.pk in ids]
    return Run.objects.filter(named | Q(pk__in=naming))


def _runs_beside(row: ExperimentSet) -> QuerySet[Run]:
    """Unfinished runs that compare the set with another one, or merge it: what they made is there by then."""
    asked = Run.objects.filter(kind__in=("compare-sets", "merge-sets")).exclude(state__in=Run.FINAL)
    naming = [
        pk
        for pk, config in asked.values_list("pk", "config")
        if row.pk in (*config.get("sets", ()), config.get("first"), config.get("second"))
    ]
    return Run.objects.filter(pk__in=naming)


def _users(runs: QuerySet[Run]) -> list[Dependent]:
    ended = runs.filter(state__in=Run.FINAL).count()
    working = runs.count() - ended
    return [*counted(working, "unfinished run", NEEDED, blocks=True), *counted(ended, "run", ENDED)]


def counted(n: int, what: str, fate: str, plural: str = "", *, blocks: bool = False) -> list[Dependent]:
    """So many rows of a kind, nothing where there is none."""
    if n == 0:
        return []
    label = f"1 {what}" if n == 1 else f"{n:,} {plural or what + 's'}"
    return [Dependent(label, fate, blocks)]
