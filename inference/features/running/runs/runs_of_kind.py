"""Shared parts of API operations on runs of one kind: start one, list them, require a finished one."""

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
from inference.web.api.paging import Paging, list_answer
from inference.web.api.shapes import run_json

NameOfRun = Annotated[
    str,
    Field(
        max_length=NAME_LIMIT,
        description='Name of the run. If empty, it is named by what it is of, such as "Zen 4 · latencies".',
    ),
]


def submit_run(
    request: HttpRequest,
    kind: str,
    config: Json,
    name: str = "",
    *,
    default_name: str = "",
    note: str = "",
    forked_from: Run | None = None,
) -> Run:
    """Start a run of the requesting account.

    Args:
        kind: A key of `RUN_KINDS`.
        config: Description of the run.
        name: Unique name from the request; "" for the default.
        default_name: Default where it says more than the kind's; made unique by a number.

    Raises:
        ConfigError: The description or the name is wrong.
        LimitError: The account has too many unfinished runs.
        DuplicateRunNameError: Another run has the name.
    """
    run_name = name.strip() or (default_name and unused_name(default_name))
    user = access.account_of(request)
    return submit(kind, config, run_name, user=user, forked_from=forked_from, note=note.strip())


def start_response(
    request: HttpRequest,
    kind: str,
    config: Json,
    name: str = "",
    *,
    default_name: str = "",
    forked_from: Run | None = None,
) -> Status[dict[str, Any]]:
    """Start a run as `submit_run` does; the answer 201 has a `RunOut`."""
    run = submit_run(request, kind, config, name, default_name=default_name, forked_from=forked_from)
    return Status(201, run_json(run))


def listed_runs(
    rows: QuerySet[Run], paging: Paging, shape: Callable[[Run], dict[str, Any]] = run_json
) -> dict[str, Any]:
    """The answer with a page of these runs, the newest first."""
    return list_answer(rows, RUN_COLUMNS, "-created", paging, lambda page: [shape(row) for row in page])


def done_run(run_id: int, kind: str, where: str) -> Run:
    """The finished run of this number and kind. Raises `Http404`, and `not_done` if it is not done."""
    row = get_object_or_404(Run, pk=run_id, kind=kind)
    if row.state != Run.State.DONE:
        raise not_done(row, where)
    return row


def not_done(row: Run, where: str) -> ProblemError:
    """The answer 409 for a run without a result yet; `where` is the parameter of the path."""
    return ProblemError(
        409, f"The run {row.name!r} is {row.state}", where=f"path {where}", right="a run that is done"
    )
