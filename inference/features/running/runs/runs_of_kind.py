"""What operations on the runs of one kind have in common: starting one, listing them, needing a done one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Status
from pydantic import Field

from inference.core.protocols import Json
from inference.features.running.runs.query import RUN_COLUMNS
from inference.models import Run
from inference.runs.lifecycle import submit, unused_name
from inference.storage.names import NAME_LIMIT
from inference.web.api import access
from inference.web.api.errors import ProblemError
from inference.web.api.paging import Paging, listed
from inference.web.api.shapes import run_json

NameOfRun = Annotated[
    str, Field(max_length=NAME_LIMIT, description="Of the run; if empty, one is generated.")
]


def submitted(
    request: HttpRequest,
    kind: str,
    config: Json,
    usual_name: str,
    name: str = "",
    *,
    note: str = "",
    forked_from: Run | None = None,
) -> Run:
    """A new run of the caller's; without a name, one is made up from the usual one. Raises as `submit`."""
    chosen = name.strip() or unused_name(usual_name)
    user = access.account_of(request)
    return submit(kind, config, chosen, user=user, forked_from=forked_from, note=note.strip())


def started(
    request: HttpRequest,
    kind: str,
    config: Json,
    usual_name: str,
    name: str = "",
    *,
    forked_from: Run | None = None,
) -> Status[dict[str, Any]]:
    """The answer (201) of an operation that starts a run and has no more to say, as `RunOut`."""
    made = submitted(request, kind, config, usual_name, name, forked_from=forked_from)
    return Status(201, run_json(made))


def listed_runs(
    rows: QuerySet[Run], paging: Paging, shape: Callable[[Run], dict[str, Any]] = run_json
) -> dict[str, Any]:
    """A page of these runs as an answer, the newest first."""
    return listed(rows, RUN_COLUMNS, "-created", paging, lambda found: [shape(row) for row in found])


def done_run(run_id: int, kind: str, where: str) -> Run:
    """The run of this number and kind. Raises `Http404`, and `not_done` before it has ended well."""
    row = get_object_or_404(Run, pk=run_id, kind=kind)
    if row.state != Run.State.DONE:
        raise not_done(row, where)
    return row


def not_done(row: Run, where: str) -> ProblemError:
    """The answer (409) where a result is asked for that is not there; `where` names the path's parameter."""
    return ProblemError(
        409, f"The run {row.name!r} is {row.state}", where=f"path {where}", right="one that is done"
    )
