"""The list of runs, and the page of one: live while it works, the permanent record afterwards."""

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
from inference.features.running.runs.kind_presentation import asked_of, outcomes_of, presentation_of
from inference.features.running.runs.query import RUN_COLUMNS, failure_of, keeping, kept_of, waiting_of
from inference.features.running.runs.query import runs as filtered_runs
from inference.features.running.runs.record import (
    REMEMBERED_RUNS,
    RunRecord,
    is_brief,
    last_words,
    record_of,
    whole_record_of,
)
from inference.figures.length_maps import length_figure
from inference.formats.errors import ExchangeError
from inference.models import ExperimentSet, Run, Upload
from inference.models.upload import UNDECIDED
from inference.runs import lifecycle
from inference.runs.errors import RunsError, RunStateError
from inference.runs.events import HeatMapDrawn
from inference.runs.kinds import RUN_KINDS, label_of
from inference.runs.leases import busy_seconds
from inference.runs.webhooks import replace, told_of
from inference.storage.listing import lengths_from
from inference.web.file_answers import attachment
from inference.web.naming import naming_paths
from inference.web.paging import Page, list_page
from inference.web.presentation import json_script
from inference.web.validation import one_of


def runs(request: HttpRequest) -> HttpResponse:
    """All runs, newest first, filtered by name or note, state and kind."""
    state = one_of(request, "state", tuple(Run.State.values))
    kind = one_of(request, "kind", tuple(RUN_KINDS))

    def context(page: Page[Run]) -> Json:
        outcomes = outcomes_of(page.rows)
        return {
            "rows": [(row, outcomes.get(row.pk), busy_seconds(row)) for row in page.rows],
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
    found = get_object_or_404(Run, pk=pk)
    record = record_of(found)
    asked = asked_of(found)
    kind = RUN_KINDS.get(found.kind)
    presentation = presentation_of(found.kind)
    return render(
        request,
        "inference/runs/run.html",
        {
            "run": found,
            "summary": found.kind if kind is None else kind.summary,
            "outcome": outcomes_of([found]).get(found.pk),
            "upload": _undecided(found),
            "record": record,
            "busy": busy_seconds(found),
            "webhooks": told_of(found),
            "waiting": waiting_of(found),
            "failure": failure_of(found, record),
            "keeping": keeping(found),
            "kept": kept_of(found) if found.state in Run.UNFINISHED else [],
            "judged_on": judged_on(found, record.heat_map),
            "idle": (*Run.FINAL, Run.State.QUEUED),
            **presentation.page(request, found, record),
            "has_archive": found.state in Run.FINAL and presentation.archived is not None,
            "stoppable": Run.UNFINISHED,
            "asked": [item for item in asked if not item.usual],
            "usual": [item for item in asked if item.usual],
            "live": _live_script(found, record),
        },
    )


def _undecided(found: Run) -> Upload | None:
    """The upload that the run was to read and has not: it can be decided upon again."""
    if found.state not in Run.FINAL:
        return None
    return Upload.objects.filter(UNDECIDED, run=found).only("file_name").first()


def _live_script(found: Run, record: RunRecord) -> SafeString:
    if not is_brief(found):
        return _script(found, record)
    remembered = _remembered(*last_words(found), judged_on(found, record.heat_map))
    return SafeString(zlib.decompress(remembered).decode())


@lru_cache(maxsize=REMEMBERED_RUNS)
def _remembered(pk: int, created: datetime, next_seq: int, judged: str) -> bytes:
    """Compressed, which makes a quarter of it: a web process shall not grow by megabytes."""
    found = Run.objects.get(pk=pk)
    return zlib.compress(_script(found, whole_record_of(found)).encode(), 1)


def _script(found: Run, record: RunRecord) -> SafeString:
    return json_script(_live(found, record), "run-record")


def _live(found: Run, record: RunRecord) -> Json:
    """What the page's script starts from."""
    return {
        "socket": f"/ws/runs/{found.pk}/",
        "since": record.seq,
        "live": found.state not in Run.FINAL,
        "state": found.state,
        "final": list(Run.FINAL),
        "progress": record.progress.payload() if record.progress else {},
        **presentation_of(found.kind).live(found, record),
        "heat_map": drawn(found, record.heat_map),
        "heat_map_url": reverse("run-heat-map", args=[found.pk]),
    }


def drawn(found: Run, heat_map: HeatMapDrawn | None) -> Json | None:
    """A heat map for the page: figures for plotly, and the source of the experiments named."""
    if heat_map is None:
        return None
    return {
        "figure": heat_map.figure.figure(),
        "scores": heat_map.scores.as_json(),
        "on": judged_on(found, heat_map),
        "lengths": length_figure(lengths_from(heat_map.lengths)),
    }


def judged_on(found: Run, heat_map: HeatMapDrawn | None) -> str:
    """What a heat map shows, to follow a number: an evaluation set goes by its name."""
    chosen = found.config.get("evaluate")
    if heat_map is None or heat_map.on != "held-out" or chosen is None:
        return "" if heat_map is None else heat_map.on
    names = ExperimentSet.objects.filter(pk=chosen).values_list("name", flat=True)
    return f"of {names.first() or 'a deleted set'}"


def run_heat_map(request: HttpRequest, pk: int) -> HttpResponse:
    """The newest heat map of a run as JSON: {"figure", "scores", "on", "lengths"}, or null."""
    found = get_object_or_404(Run, pk=pk)
    event = found.events.filter(kind=HeatMapDrawn.kind).exclude(payload={}).order_by("-seq").first()
    return JsonResponse(drawn(found, HeatMapDrawn.read(event.payload)) if event else None, safe=False)


def run_archive(request: HttpRequest, pk: int) -> HttpResponse:
    """Everything about a run that has ended, as a file."""
    run = get_object_or_404(Run, pk=pk)
    try:
        content = archive_of(run)
    except ExchangeError as error:
        messages.error(request, f"{error}.")
        return redirect("run", pk=pk)
    return attachment(content, "application/zip", f"run {run.pk} {run.name}", "zip")


def run_action(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    """Do it, or say why the run is in no state for it."""
    if action not in lifecycle.WISHES:
        raise Http404(f"a run can be asked to {', '.join(lifecycle.WISHES)}, not {action!r}")
    run = get_object_or_404(Run, pk=pk)
    try:
        lifecycle.WISHES[action](run)
    except RunStateError as error:
        messages.error(request, str(error))
    return redirect("run", pk=run.pk)


def run_webhook(request: HttpRequest, pk: int) -> HttpResponse:
    """Have the posted `url` told when the run ends, or nobody."""
    run = get_object_or_404(Run, pk=pk)
    url = request.POST.get("url", "").strip()
    try:
        with transaction.atomic():
            replace(run, url)
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
