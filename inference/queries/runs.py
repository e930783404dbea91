"""The list of runs, and what came of one."""

from __future__ import annotations

from django.db.models import QuerySet

from inference.models import PortMapping, Run
from inference.queries.by_name import having_words

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
