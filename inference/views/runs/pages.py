"""The list of runs, and the page of one: live while it works, the permanent record afterwards."""

from __future__ import annotations

import zlib
from datetime import datetime
from functools import lru_cache

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path, reverse
from django.utils.html import json_script
from django.utils.safestring import SafeString

from inference.core.protocols import Json
from inference.figures.heatmap import HeatMap
from inference.models import ExperimentSet, Run, Upload
from inference.models.upload import UNDECIDED
from inference.queries.paging import Order, page_of
from inference.queries.runs import RUN_COLUMNS
from inference.queries.runs import runs as filtered_runs
from inference.runs.leases import busy_seconds
from inference.runs.queue import ahead_of
from inference.runs.registry import JOBS
from inference.runs.webhooks import told_of
from inference.views.address import one_of
from inference.views.runs.asked import asked_of
from inference.views.runs.characterising import characterising
from inference.views.runs.evolved import evolution_live, evolved, lengths_drawn
from inference.views.runs.explained import explained
from inference.views.runs.measured_blocks import measured_blocks
from inference.views.runs.model_check import model_checked
from inference.views.runs.outcome import outcomes_of
from inference.views.runs.record import (
    REMEMBERED_RUNS,
    RunRecord,
    is_brief,
    last_words,
    record_of,
    whole_record_of,
)

SUMMARIES = {
    "infer": "Inference of a port mapping",
    "measure": "Measuring on a machine",
    "check-model": "How well the port mapping model describes a machine",
    "block": "Basic blocks on a machine",
    "import": "Import of an uploaded file",
    "evaluate": "Evaluation of a port mapping on measurements",
}


def runs(request: HttpRequest) -> HttpResponse:
    """All runs, newest first, filtered by name or note, state and kind."""
    q = request.GET.get("q", "").strip()
    state = one_of(request, "state", tuple(Run.State.values))
    kind = one_of(request, "kind", tuple(JOBS))
    order = Order.read(request.GET.get("sort", ""), RUN_COLUMNS, "-created")
    page = page_of(filtered_runs(q, state, kind), order, RUN_COLUMNS, request.GET.get("page", ""))
    outcomes = outcomes_of(page.rows)
    return render(
        request,
        "inference/runs.html",
        {
            "page": page,
            "rows": [(row, outcomes.get(row.pk), busy_seconds(row)) for row in page.rows],
            "q": q,
            "state": state,
            "kind": kind,
            "sort": str(order),
            "states": Run.State.choices,
            "kinds": list(JOBS),
            "any_run": bool(page.rows) or Run.objects.exists(),
        },
    )


def run(request: HttpRequest, pk: int) -> HttpResponse:
    """One run."""
    found = get_object_or_404(Run, pk=pk)
    record = record_of(found)
    last = record.last_generation
    asked = asked_of(found)
    ahead = ahead_of(found)
    return render(
        request,
        "inference/run.html",
        {
            "run": found,
            "summary": SUMMARIES.get(found.kind, found.kind),
            "outcome": outcomes_of([found]).get(found.pk),
            "upload": _undecided(found),
            "record": record,
            "busy": busy_seconds(found),
            "webhooks": told_of(found),
            "ahead": ahead.first(),
            "more_ahead": max(ahead.count() - 1, 0),
            "judged_on": judged_on(found, record.heat_map),
            "idle": (*Run.FINAL, Run.State.QUEUED),
            "draws": _evolves(found),
            "characterises": _characterises(found),
            **(explained(request, found, record.search) if _explains(found) else {}),
            **(evolved(request, found, record) if _evolves(found) else {}),
            **(characterising(request, found, record) if _characterises(found) else {}),
            **(model_checked(request, found) if found.kind == "check-model" else {}),
            **(measured_blocks(request, found, record) if found.kind == "block" else {}),
            "stoppable": Run.UNFINISHED,
            "best_error": None if last is None else 100 * last["best_error"],
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


def _evolves(found: Run) -> bool:
    """Whether the run tells of generations and heat maps."""
    return found.kind == "infer" and not (_explains(found) or _characterises(found))


def _explains(found: Run) -> bool:
    """Whether the run tells of counter-examples."""
    return found.kind == "infer" and found.config.get("algorithm") == "cegar"


def _characterises(found: Run) -> bool:
    """Whether the run tells of blocking instructions, and of the schemes that each stage leaves out."""
    return found.kind == "infer" and found.config.get("algorithm") == "explain"


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
        "progress": record.progress,
        **(evolution_live(found, record) if _evolves(found) else {}),
        "heat_map": drawn(found, record.heat_map),
        "heat_map_url": reverse("run-heat-map", args=[found.pk]),
    }


def drawn(found: Run, payload: Json) -> Json | None:
    """A `heat_map` event for the page: figures for plotly, and the source of the experiments named."""
    if not payload:
        return None
    return {
        "figure": HeatMap.from_json(payload["figure"]).figure(),
        "scores": payload["scores"],
        "on": judged_on(found, payload),
        "lengths": lengths_drawn(payload),
    }


def judged_on(found: Run, payload: Json) -> str:
    """What a `heat_map` event shows, to follow a number: an evaluation set goes by its name."""
    chosen = found.config.get("evaluate")
    if not payload or payload["on"] != "held-out" or chosen is None:
        return str(payload.get("on", ""))
    names = ExperimentSet.objects.filter(pk=chosen).values_list("name", flat=True)
    return f"of {names.first() or 'a deleted set'}"


def run_heat_map(request: HttpRequest, pk: int) -> HttpResponse:
    """The newest heat map of a run as JSON: {"figure", "scores", "on", "lengths"}, or null."""
    found = get_object_or_404(Run, pk=pk)
    event = found.events.filter(kind="heat_map").exclude(payload={}).order_by("-seq").first()
    return JsonResponse(drawn(found, event.payload) if event else None, safe=False)


urlpatterns = [
    path("runs/", runs, name="runs"),
    path("runs/<int:pk>/", run, name="run"),
    path("runs/<int:pk>/heat-map/", run_heat_map, name="run-heat-map"),
]
