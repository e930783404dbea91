"""Queries for the list of runs; what a queued run waits for, and why a failed one failed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from inference.core.judging.accuracy import AccuracyJudgement, scores_judgement
from inference.core.metrics import Scores
from inference.features.running.runs.kind_presentation import RunOutcome
from inference.features.running.runs.record import RunRecord
from inference.models import PortMapping, Run
from inference.runs.kinds import ahead_of, partial_result
from inference.runs.plans import plan_of
from inference.web.paging import Order, having_words, page_of

RUN_COLUMNS = {"created": "id", "name": "name", "state": "state", "time": "busy_seconds"}
"""Columns that runs can be sorted by, for `paging.Order`."""


def runs(text: str = "", state: str = "", kind: str = "") -> QuerySet[Run]:
    """Runs with a text in name or note, in a state, of a kind; "" means any."""
    rows = Run.objects.all()
    if text:
        rows = rows.filter(having_words(text))
    if state:
        rows = rows.filter(state=state)
    if kind:
        rows = rows.filter(kind=kind)
    return rows


def inferred_by(run: Run) -> QuerySet[PortMapping]:
    """The run's port mapping. No query before the run is done."""
    if run.state != Run.State.DONE:
        return PortMapping.objects.none()
    return PortMapping.objects.filter(run=run).order_by("id")


def newest_runs(request: HttpRequest, kind: str | Collection[str], *unread: str) -> dict[str, Any]:
    """Context for a list of runs: a page of those with the text `q`, newest first.

    `unread` fields are not loaded. In the result, `any` is true if there are runs of these kinds at all,
    `working` if one on the page has not ended.
    """
    q = request.GET.get("q", "").strip()
    kinds = [kind] if isinstance(kind, str) else list(kind)
    rows = runs(q).filter(kind__in=kinds).defer(*unread)
    page = page_of(rows, Order("created", descending=True), RUN_COLUMNS, request.GET.get("page", ""))
    return {
        "page": page,
        "q": q,
        "any": bool(page.rows) or Run.objects.filter(kind__in=kinds).exists(),
        "working": any(run.state in Run.UNFINISHED for run in page.rows),
    }


@dataclass(frozen=True)
class Waiting:
    """What a queued run waits for: its unfinished `part`, the run `parent` of which it is a part, or the next
    run `ahead` of it in the queue with `more` others.
    """

    part: Run | None = None
    parent: Run | None = None
    ahead: Run | None = None
    more: int = 0


def plan_context(run: Run) -> dict[str, Any]:
    """What `inference/runs/steps.html` needs beside the run."""
    plan = plan_of(run)
    ends = None if plan.left is None else timezone.now() + timedelta(seconds=plan.left.likely)
    return {"plan": plan, "ends": ends}


def waiting_of(run: Run) -> Waiting | None:
    """What a queued run waits for; None for runs in other states."""
    if run.state != Run.State.QUEUED:
        return None
    part = run.parts.exclude(state__in=Run.FINAL).order_by("pk").first()
    if part is not None and part.state == Run.State.RUNNING:
        return Waiting(part=part)
    parent = run.part_of
    if parent is not None and parent.state not in Run.FINAL:
        return Waiting(parent=parent)
    ahead = ahead_of(run)
    return Waiting(part=part, ahead=ahead.first(), more=max(ahead.count() - 1, 0))


def partial_outcomes(run: Run) -> list[RunOutcome]:
    """The experiment sets of a run and the results of its finished parts, which stay even if it is
    cancelled.
    """
    sets = [
        RunOutcome(row.name, reverse("set", args=[row.pk]), f"{row.measurements.count():,} measurements")
        for row in run.experiment_sets.order_by("pk")
    ]
    parts = [
        RunOutcome(part.result.get("name", part.name), reverse("run", args=[part.pk]), part.name)
        for part in run.parts.filter(state=Run.State.DONE).order_by("pk")
    ]
    return [*sets, *parts]


def judgement_of(run: Run) -> AccuracyJudgement | None:
    """The verdict on the mapping that a run has inferred, by what it held out; None without that."""
    scores = run.result.get("held_out") if run.state == Run.State.DONE else None
    if not scores or scores.get("mape") is None:
        return None
    mixes = run.config.get("mixes") if run.config.get("evaluate") is None else None
    return scores_judgement(
        Scores(scores["n"], scores["mape"], scores.get("pearson"), scores.get("kendall")),
        "held-out experiments",
        min(scores["n"] / mixes, 1.0) if mixes else 1.0,
    )


def result_if_stopped(run: Run) -> str:
    """The partial result that stopping would keep, as text; "" if the run can only be cancelled."""
    return partial_result(run) if run.state == Run.State.RUNNING else ""


@dataclass(frozen=True)
class RunFailure:
    """Why a run failed.

    `what` is the first line of the error, `details` the remaining ones, `stage` the label of the failed stage
    ("" before the first). `outcomes` lists results that exist nevertheless. `advice` is "" for unknown
    errors.
    """

    what: str
    stage: str
    details: str
    outcomes: list[RunOutcome]
    advice: str


def failure_of(run: Run, record: RunRecord) -> RunFailure | None:
    """The failure of a failed run, None for runs in other states."""
    if run.state != Run.State.FAILED:
        return None
    message, _, details = run.error.partition("\n")
    return RunFailure(message.strip(), record.stage, details.strip(), partial_outcomes(run), _advice(message))


_ADVICE: Mapping[str, str] = {
    "out of memory": "Select fewer schemes or a smaller population, or allow the run more memory "
    "(PMWEB_RUN_MEMORY_MB).",
    "given up after": "Its process died at every attempt: check the last lines of the log and the memory of "
    "the computer, then start it again.",
    "deleted": "A row that it needs was deleted: choose another one in a new run.",
    "measured on something else": "Start a new run: the agent or the computer has changed.",
    "cannot measure": "The machine's page says what is missing: mend it, then start the run again.",
    "nothing usable": "Check the stored measurements: the computer may be too noisy.",
}


def _advice(message: str) -> str:
    return next((advice for sign, advice in _ADVICE.items() if sign in message), "")
