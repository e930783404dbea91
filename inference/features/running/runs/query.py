"""The list of runs, and what the page of one says first: what it waits for, or what failed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from inference.features.running.runs.kind_presentation import RunOutcome
from inference.features.running.runs.record import RunRecord
from inference.models import PortMapping, Run
from inference.runs.kinds import ahead_of, keeps
from inference.web.paging import Order, having_words, page_of

RUN_COLUMNS = {"created": "id", "name": "name", "state": "state", "time": "busy_seconds"}
"""Columns that runs can be sorted by, for `paging.Order`."""


def runs(text: str = "", state: str = "", kind: str = "") -> QuerySet[Run]:
    """All runs, those with a text in name or note, in a state, of a kind, where these are given."""
    rows = Run.objects.all()
    if text:
        rows = rows.filter(having_words(text))
    if state:
        rows = rows.filter(state=state)
    if kind:
        rows = rows.filter(kind=kind)
    return rows


def inferred_by(run: Run) -> QuerySet[PortMapping]:
    """The port mapping that the run has made, if it has: nothing is asked before it is done."""
    if run.state != Run.State.DONE:
        return PortMapping.objects.none()
    return PortMapping.objects.filter(run=run).order_by("id")


def newest_runs(request: HttpRequest, kind: str | Collection[str], *unread: str) -> dict[str, Any]:
    """What the list shows: a page of those with the text `q`, newest first. `unread` fields are not loaded.

    `any`: there are such runs at all; `working`: one of those shown has not ended.
    """
    q = request.GET.get("q", "").strip()
    kinds = [kind] if isinstance(kind, str) else list(kind)
    found = runs(q).filter(kind__in=kinds).defer(*unread)
    page = page_of(found, Order("created", descending=True), RUN_COLUMNS, request.GET.get("page", ""))
    return {
        "page": page,
        "q": q,
        "any": bool(page.rows) or Run.objects.filter(kind__in=kinds).exists(),
        "working": any(run.state in Run.UNFINISHED for run in page.rows),
    }


@dataclass(frozen=True)
class Waiting:
    """Of a queued run: the own `part` that is not over, the `whole` that goes on with it, or who is `ahead`
    of it, with how many `more`."""

    part: Run | None = None
    whole: Run | None = None
    ahead: Run | None = None
    more: int = 0


def waiting_of(run: Run) -> Waiting | None:
    """What a queued run waits for; None of any other."""
    if run.state != Run.State.QUEUED:
        return None
    part = run.parts.exclude(state__in=Run.FINAL).order_by("pk").first()
    if part is not None and part.state == Run.State.RUNNING:
        return Waiting(part=part)
    whole = run.part_of
    if whole is not None and whole.state not in Run.FINAL:
        return Waiting(whole=whole)
    ahead = ahead_of(run)
    return Waiting(part=part, ahead=ahead.first(), more=max(ahead.count() - 1, 0))


def kept_of(run: Run) -> list[RunOutcome]:
    """What a run has made so far, whatever becomes of it: sets of measurements, and results of its parts."""
    sets = [
        RunOutcome(row.name, reverse("set", args=[row.pk]), f"{row.measurements.count():,} measurements")
        for row in run.experiment_sets.order_by("pk")
    ]
    parts = [
        RunOutcome(part.result.get("name", part.name), reverse("run", args=[part.pk]), part.name)
        for part in run.parts.filter(state=Run.State.DONE).order_by("pk")
    ]
    return [*sets, *parts]


def keeping(run: Run) -> str:
    """What becomes the result of a run if it is stopped now; "" where it can only be cancelled."""
    return keeps(run) if run.state == Run.State.RUNNING else ""


@dataclass(frozen=True)
class RunFailure:
    """`what` failed in a line, at which `stage` ("" before the first), with `details` of many lines; `kept`:
    what there is all the same; `advice`: what to do, as far as the kind of failure says that."""

    what: str
    stage: str
    details: str
    kept: list[RunOutcome]
    advice: str


def failure_of(run: Run, record: RunRecord) -> RunFailure | None:
    """Of a failed run; None of any other."""
    if run.state != Run.State.FAILED:
        return None
    what, _, details = run.error.partition("\n")
    return RunFailure(what.strip(), record.stage, details.strip(), kept_of(run), _advice(what))


_ADVICE: Mapping[str, str] = {
    "out of memory": "Ask for fewer schemes or a smaller population, or let the run have more memory "
    "(PMWEB_RUN_MEMORY_MB).",
    "given up after": "Its process died every time: look at the last lines of the log and at the memory of "
    "the computer, then start it again.",
    "deleted": "What it needs is gone: choose something else in a new run.",
    "measured on something else": "Start a new run: the agent or the computer has changed.",
    "cannot measure": "Look at the machine's page, which says what is missing, then start the run again.",
    "nothing usable": "Look at the measurements that are kept: the computer may be too disturbed.",
}


def _advice(what: str) -> str:
    return next((advice for sign, advice in _ADVICE.items() if sign in what), "")
