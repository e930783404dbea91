"""The list of runs, and what came of one."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from inference.models import PortMapping, Run
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
