"""Pages of runs: the list, and a run's page, live while it works and its record afterwards."""

from __future__ import annotations

import zlib
from datetime import datetime
from functools import lru_cache

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils.safestring import SafeString

from inference.core.protocols import Json
from inference.features.running.runs.archive import archive_of
from inference.features.running.runs.kind_presentation import config_lines, outcomes_of, presentation_of
from inference.features.running.runs.query import (
    RUN_COLUMNS,
    failure_of,
    judgement_of,
    partial_outcomes,
    plan_context,
    result_if_stopped,
    waiting_of,
)
from inference.features.running.runs.query import runs as filtered_runs
from inference.features.running.runs.record import (
    REMEMBERED_RUNS,
    RunRecord,
    cache_key,
    full_record_of,
    is_brief,
    record_of,
)
from inference.figures.length_maps import length_figure
from inference.formats.problems import ExchangeError
from inference.models import ExperimentSet, Run, Upload
from inference.models.run import UNDECIDED
from inference.runs import lifecycle
from inference.runs.errors import RunsError, RunStateError
from inference.runs.events import HeatMapEvent
from inference.runs.kinds import RUN_KINDS, label_of
from inference.runs.leases import busy_seconds
from inference.runs.plans import plan_of
from inference.runs.webhooks import replace_webhook, visible_webhooks
from inference.storage.listing import lengths_from
from inference.web.file_answers import attachment
from inference.web.naming import naming_paths
from inference.web.paging import Page, list_page
from inference.web.presentation import json_script
from inference.web.validation import choice_parameter


def runs(request: HttpRequest) -> HttpResponse:
    """Lists runs, newest first, filtered by name or note, state and kind."""
    state = choice_parameter(request, "state", tuple(Run.State.values))
    kind = choice_parameter(request, "kind", tuple(RUN_KINDS))

    def context(page: Page[Run]) -> Json:
        outcomes = outcomes_of(page.rows)
        return {
            "rows": [
                {
                    "run": row,
                    "outcome": outcomes.get(row.pk),
                    "busy": busy_seconds(row),
                    "plan": plan_of(row) if row.state == Run.State.RUNNING else None,
                    "judgement": judgement_of(row),
                }
                for row in page.rows
            ],
            "state": state,
            "kind": kind,
            "states": Run.State.choices,
            "kinds": sorted(((name, label_of(name)) for name in RUN_KINDS), key=lambda pair: pair[1]),
        }

    return list_page(
        request,
        "inference/runs/list.html",
        lambda text: filtered_runs(text, state, kind),
        RUN_COLUMNS,
        "-created",
        context,
    )


def run(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Run, pk=pk)
    record = record_of(row)
    lines = config_lines(row)
    kind = RUN_KINDS.get(row.kind)
    presentation = presentation_of(row.kind)
    return render(
        request,
        "inference/runs/run.html",
        {
            "run": row,
            "summary": row.kind if kind is None else kind.summary,
            "outcome": outcomes_of([row]).get(row.pk),
            "upload": _pending_upload(row),
            "record": record,
            **plan_context(row),
            "judgement": judgement_of(row),
            "busy": busy_seconds(row),
            "webhooks": visible_webhooks(row),
            "waiting": waiting_of(row),
            "failure": failure_of(row, record),
            "keeping": result_if_stopped(row),
            "kept": partial_outcomes(row) if row.state in Run.UNFINISHED else [],
            "judged_on": judged_on(row, record.heat_map),
            "idle": (*Run.FINAL, Run.State.QUEUED),
            **presentation.page(request, row, record),
            "has_archive": row.state in Run.FINAL and presentation.archived is not None,
            "stoppable": Run.UNFINISHED,
            "config_lines": [item for item in lines if not item.usual],
            "usual": [item for item in lines if item.usual],
            "live": _live_script(row, record),
        },
    )


def _pending_upload(row: Run) -> Upload | None:
    """The upload whose import this run was, if it has failed: the user can import it again."""
    if row.state not in Run.FINAL:
        return None
    return Upload.objects.filter(UNDECIDED, run=row).only("file_name").first()


def _live_script(row: Run, record: RunRecord) -> SafeString:
    if not is_brief(row):
        return _script(row, record)
    compressed = _compressed_script(*cache_key(row), judged_on(row, record.heat_map))
    return SafeString(zlib.decompress(compressed).decode())


@lru_cache(maxsize=REMEMBERED_RUNS)
def _compressed_script(pk: int, created: datetime, next_seq: int, judged: str) -> bytes:
    """The script of a finished run, compressed to about a quarter so that web processes stay small."""
    row = Run.objects.get(pk=pk)
    return zlib.compress(_script(row, full_record_of(row)).encode(), 1)


def _script(row: Run, record: RunRecord) -> SafeString:
    return json_script(_live(row, record), "run-record")


def _live(row: Run, record: RunRecord) -> Json:
    return {
        "socket": f"/ws/runs/{row.pk}/",
        "since": record.seq,
        "live": row.state not in Run.FINAL,
        "state": row.state,
        "final": list(Run.FINAL),
        "progress": record.progress.payload() if record.progress else {},
        **presentation_of(row.kind).live(row, record),
        "heat_map": heat_map_json(row, record.heat_map),
        "heat_map_url": reverse("run-heat-map", args=[row.pk]),
    }


def heat_map_json(row: Run, heat_map: HeatMapEvent | None) -> Json | None:
    """A heat map for the page: figures for plotly, and the name of the experiments."""
    if heat_map is None:
        return None
    return {
        "figure": heat_map.figure.figure(),
        "scores": heat_map.scores.as_json(),
        "on": judged_on(row, heat_map),
        "lengths": length_figure(lengths_from(heat_map.lengths)),
    }


def judged_on(row: Run, heat_map: HeatMapEvent | None) -> str:
    """The experiments of a heat map, as text that follows a number: "held-out", "of SET NAME"; "" without
    one.
    """
    evaluated = row.config.get("evaluate")
    if heat_map is None or heat_map.on != "held-out" or evaluated is None:
        return "" if heat_map is None else heat_map.on
    names = ExperimentSet.objects.filter(pk=evaluated).values_list("name", flat=True)
    return f"of {names.first() or 'a deleted set'}"


def run_heat_map(request: HttpRequest, pk: int) -> HttpResponse:
    """The newest heat map of a run as JSON: {"figure", "scores", "on", "lengths"}, or null."""
    row = get_object_or_404(Run, pk=pk)
    event = row.events.filter(kind=HeatMapEvent.kind).exclude(payload={}).order_by("-seq").first()
    return JsonResponse(heat_map_json(row, HeatMapEvent.read(event.payload)) if event else None, safe=False)


def run_archive(request: HttpRequest, pk: int) -> HttpResponse:
    run = get_object_or_404(Run, pk=pk)
    try:
        content = archive_of(run)
    except ExchangeError as error:
        messages.error(request, f"{error}.")
        return redirect("run", pk=pk)
    return attachment(content, "application/zip", f"run {run.pk} {run.name}", "zip")


def run_action(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    """Applies an action, or shows why the run's state does not allow it."""
    if action not in lifecycle.TRANSITIONS:
        raise Http404(f"there is no action {action!r}; the actions are {', '.join(lifecycle.TRANSITIONS)}")
    run = get_object_or_404(Run, pk=pk)
    try:
        lifecycle.TRANSITIONS[action](run)
    except RunStateError as error:
        messages.error(request, str(error))
    return redirect("run", pk=run.pk)


def run_webhook(request: HttpRequest, pk: int) -> HttpResponse:
    """Sets the webhook of a run to the posted `url`; an empty one removes it."""
    run = get_object_or_404(Run, pk=pk)
    url = request.POST.get("url", "").strip()
    try:
        with transaction.atomic():
            replace_webhook(run, url)
    except RunsError as error:
        messages.error(request, f"{error}.")
    else:
        messages.success(request, "Saved." if url else "No webhook will be called when the run ends.")
    return redirect("run", pk=pk)


urlpatterns = [
    path("runs/", runs, name="runs"),
    path("runs/<int:pk>/", run, name="run"),
    path("runs/<int:pk>/heat-map/", run_heat_map, name="run-heat-map"),
    path("runs/<int:pk>/archive/", run_archive, name="run-archive"),
    *naming_paths(Run, "run", "runs"),
    path("runs/<int:pk>/webhook/", run_webhook, name="run-webhook"),
    path("runs/<int:pk>/<slug:action>/", run_action, name="run-action"),
]
