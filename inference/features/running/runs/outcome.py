"""What a finished run has made, as long as it is still there, and where to look at it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from django.db.models import Model
from django.urls import reverse

from inference.core.protocols import Json
from inference.features.running.runs.kind_presentation import RunOutcome, presentation_of
from inference.models import ExperimentSet, LatencySet, PortMapping, ResourceMapping, Run


def outcomes_of(runs: Iterable[Run]) -> dict[int, RunOutcome]:
    """{run id: outcome} of those runs that have one (a bounded number of queries, however many runs)."""
    groups: dict[Callable[[Sequence[Run]], dict[int, RunOutcome]], list[Run]] = {}
    for run in runs:
        groups.setdefault(presentation_of(run.kind).outcomes or _own, []).append(run)
    return dict(chain.from_iterable(outcomes(group).items() for outcomes, group in groups.items()))


def _own(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """Of this app's kinds (five queries at most)."""
    shown = [run for run in runs if run.result]
    mappings = _names(PortMapping, {run.result.get("mapping") for run in shown})
    sets = _names(ExperimentSet, {run.result.get("experiment_set") for run in shown})
    resources = _names(ResourceMapping, {run.result.get("resource_mapping") for run in shown})
    latencies = _names(LatencySet, {run.result.get("latency_set") for run in shown})
    imported = _names(Run, {run.result.get("imported_run") for run in shown})
    found = {run.pk: _outcome(run, mappings, resources, sets, latencies, imported) for run in shown}
    return {pk: outcome for pk, outcome in found.items() if outcome is not None}


def _outcome(
    run: Run,
    mappings: dict[int, str],
    resources: dict[int, str],
    sets: dict[int, str],
    latencies: dict[int, str],
    imported: dict[int, str],
) -> RunOutcome | None:
    made = run.result
    if made.get("imported_run") in imported:
        return RunOutcome(imported[made["imported_run"]], reverse("run", args=[made["imported_run"]]))
    if made.get("mapping") in mappings:
        url = reverse("mapping", args=[made["mapping"]])
        return RunOutcome(mappings[made["mapping"]], url + _place(run), _note(made))
    if made.get("resource_mapping") in resources:
        url = reverse("resource-mapping", args=[made["resource_mapping"]])
        return RunOutcome(resources[made["resource_mapping"]], url + _place(run))
    if made.get("latency_set") in latencies:
        return RunOutcome(latencies[made["latency_set"]], reverse("latency-set", args=[made["latency_set"]]))
    if made.get("experiment_set") in sets:
        url = reverse("set", args=[made["experiment_set"]])
        return RunOutcome(sets[made["experiment_set"]], url, _note(made))
    return None


def _note(made: Json) -> str:
    """How many schemes an explainable inference could explain, or follow the model."""
    if "characterised" in made:
        return f"{made['characterised']:,} of {made.get('asked', 0):,} schemes characterised"
    if "compared" in made:
        return f"{made.get('within', 0):,} of {made['compared']:,} schemes within 10 % of the model"
    return ""


def _place(run: Run) -> str:
    """Where on a mapping's page, or below it, the result is."""
    if run.kind != "evaluate":
        return str(run.result.get("place", ""))
    return f"?tab=accuracy&set={run.config['experiment_set']}&unit={run.config['unit']}"


def _names(model: type[Model], ids: set[int | None]) -> dict[int, str]:
    wanted = ids - {None}
    return dict(model._default_manager.filter(pk__in=wanted).values_list("pk", "name")) if wanted else {}
