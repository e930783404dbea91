"""What a finished run has made, as long as it is still there, and where to look at it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

from django.db.models import Model
from django.urls import reverse

from inference.core.protocols import Json
from inference.features.running.runs.kind_presentation import RunOutcome, presentation_of
from inference.models import (
    ExperimentSet,
    LatencySet,
    MeasuredFrontEnd,
    PortMapping,
    ResourceMapping,
    Run,
    StoredCoreModel,
)


def outcomes_of(runs: Iterable[Run]) -> dict[int, RunOutcome]:
    """{run id: outcome} of those runs that have one (a bounded number of queries, however many runs)."""
    groups: dict[Callable[[Sequence[Run]], dict[int, RunOutcome]], list[Run]] = {}
    for run in runs:
        groups.setdefault(presentation_of(run.kind).outcomes or _own, []).append(run)
    return dict(chain.from_iterable(outcomes(group).items() for outcomes, group in groups.items()))


_MADE: Mapping[str, tuple[type[Model], str]] = {
    "imported_run": (Run, "run"),
    "mapping": (PortMapping, "mapping"),
    "resource_mapping": (ResourceMapping, "resource-mapping"),
    "latency_set": (LatencySet, "latency-set"),
    "experiment_set": (ExperimentSet, "set"),
    "front_end": (MeasuredFrontEnd, "front-end"),
    "core_model": (StoredCoreModel, "core-model"),
}
"""What results name by ids, what counts most first: the model, and the name of its page's address."""


def _own(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """Of kinds whose results name rows of this app (a query for each kind of row at most)."""
    names = {key: _names(model, {run.result.get(key) for run in runs}) for key, (model, _) in _MADE.items()}
    outcomes = {}
    for run in runs:
        made = run.result
        for key, (_, page) in _MADE.items():
            if (pk := made.get(key)) in names[key]:
                url = reverse(page, args=[pk]) + _place(run)
                outcomes[run.pk] = RunOutcome(names[key][pk], url, _note(made))
                break
    return outcomes


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
