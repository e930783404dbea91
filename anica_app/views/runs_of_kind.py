"""What lists of the runs of one kind have in common."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from inference.features.runs.query import RUN_COLUMNS, runs
from inference.models import Run
from inference.web.paging import Order, page_of


def newest_runs(request: HttpRequest, kind: str, *unread: str) -> dict[str, Any]:
    """What the list shows: a page of those with the text `q`, newest first. `unread` fields are not loaded.

    `any`: there are such runs at all; `working`: one of those shown has not ended.
    """
    q = request.GET.get("q", "").strip()
    found = runs(q, kind=kind).defer(*unread)
    page = page_of(found, Order("created", descending=True), RUN_COLUMNS, request.GET.get("page", ""))
    return {
        "page": page,
        "q": q,
        "any": bool(page.rows) or Run.objects.filter(kind=kind).exists(),
        "working": any(run.state in Run.UNFINISHED for run in page.rows),
    }
