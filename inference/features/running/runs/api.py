"""Runs: the list, starting every kind as forms and shell do, and what can be asked of one."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Schema, Status
from pydantic import ConfigDict, Field

from inference.core.protocols import Json
from inference.features.running.runs.archive import archive_of
from inference.features.running.runs.events_api import router as events_router
from inference.features.running.runs.kind_presentation import archived_kinds
from inference.features.running.runs.query import RUN_COLUMNS, runs
from inference.formats.errors import ExchangeError
from inference.models import Run
from inference.runs import lifecycle, webhooks
from inference.runs.kinds import RUN_KINDS, ahead_of, job
from inference.runs.webhook_address import URL_LIMIT
from inference.storage.names import NAME_LIMIT, NOTE_LIMIT
from inference.web.api import access
from inference.web.api.access import Deed, reading
from inference.web.api.document import FILE
from inference.web.api.errors import ProblemError
from inference.web.api.named_rows import NamedRows
from inference.web.api.paging import PageOf, Paging, listed, sorts
from inference.web.api.shapes import Input, Ref, RunOut, Text, Time, ref, run_json
from inference.web.file_answers import attachment
from inference.web.validation import Id


def examples() -> dict[str, Json]:
    """An example of a run's description for each kind: in the reference, and checked by a test."""
    return {name: kind.example for name, kind in RUN_KINDS.items()}


def described(**more: str) -> list[Json]:
    """Of each kind a body that describes a run of it; in the texts of `more`, {kind} stands for the kind."""
    return [
        {
            "kind": kind,
            "config": config,
            **{name: text.format(kind=kind) for name, text in more.items()},
        }
        for kind, config in examples().items()
    ]


router = Router()
router.add_router("", events_router)
RunSort = Annotated[str, sorts(RUN_COLUMNS)]


class WebhookOut(Schema):
    """An address that is told when the run ends."""

    url: str = Field(examples=["https://chat.example.org/hooks/pmweb"])
    attempts: int = Field(examples=[0])
    sent: Time | None
    error: str = Field(description="Why the last attempt failed.", examples=[""])


class RunInFull(RunOut):
    """A run with its complete description: everything that is needed to do it again."""

    config: dict[str, Any] = Field(examples=[examples()["infer"]])
    forked_from: Ref | None
    ahead: list[Ref] = Field(description="What it waits for.")
    events: int = Field(description="Number of its last event.", examples=[120])
    webhooks: list[WebhookOut]


def _with_examples(schema: Json) -> None:
    """Put in when the document is made: by then all apps have added theirs."""
    schema["examples"] = described()


def _with_named_examples(schema: Json) -> None:
    schema["examples"] = described(name="nightly {kind}")


class Described(Input):
    """What a run of some kind shall do."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=_with_examples)

    kind: str = Field(max_length=20, description="infer, measure, evaluate, campaign, …")
    config: dict[str, Any] = Field(
        description="As docs/api.md describes it for each kind; what is absent has its default."
    )


class NewRun(Described):
    """A run to be started. Without a name, one is made up."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=_with_named_examples)

    name: str = Field("", max_length=NAME_LIMIT, description="If empty, one is generated.")
    note: str = Field("", max_length=NOTE_LIMIT, description="Whatever shall be remembered.")
    forked_from: Id | None = Field(None, description="The run that this one is a changed copy of.")
    webhook: str = Field("", max_length=URL_LIMIT, description="Webhook to call when the run ends.")


class NewWebhook(Input):
    """The address to tell when a run ends; empty for none but the site's own."""

    url: str = Field(max_length=URL_LIMIT, examples=["https://chat.example.org/hooks/pmweb"])


RUNS = NamedRows(
    router,
    "/runs",
    "run",
    lambda: Run.objects.select_related("forked_from"),
    RunOut,
    lambda rows: [run_json(row) for row in rows],
)


@router.get("/runs", response=PageOf[RunOut])
def list_runs(
    request: HttpRequest,
    paging: Query[Paging],
    q: Text = "",
    state: Text = "",
    kind: Text = "",
    sort: RunSort = "-created",
) -> Any:
    """All runs, those with the text `q` in name or note, in a state, of a kind."""
    _known("state", state, Run.State.values)
    _known("kind", kind, list(RUN_KINDS))
    rows = runs(q.strip(), state, kind)
    return listed(rows, RUN_COLUMNS, sort, paging, RUNS.values)


@router.post("/runs", response={201: RunInFull})
def start_run(request: HttpRequest, data: NewRun) -> Any:
    """Start a run of any kind. A wrong description is refused as a whole, and says which field is wrong."""
    forked_from = None
    if data.forked_from is not None:
        forked_from = Run.objects.filter(pk=data.forked_from, kind=data.kind).first()
        if forked_from is None:
            what = f"There is no run of the kind {data.kind} with the number {data.forked_from}"
            raise ProblemError(422, what, where="body forked_from", right="the number of one, or null")
    made = lifecycle.submit(
        data.kind,
        data.config,
        data.name.strip() or lifecycle.unused_name(f"{data.kind.capitalize()} through the API"),
        user=access.account_of(request),
        forked_from=forked_from,
        note=data.note.strip(),
        webhook=data.webhook.strip(),
    )
    return Status(201, run_in_full(made))


@router.post("/runs/check", response=Described, auth=reading)
def check_run(request: HttpRequest, data: Described) -> Any:
    """Make the description of a run complete, or say what is wrong with it. Nothing is started."""
    return {"kind": data.kind, "config": job(data.kind).check(data.config)}


# Behind `/runs/check`, which is no run's number.
RUNS.add_changes("Delete a run that has ended, with its journal. What it has made stays.")


@router.get("/runs/{run_id}", response=RunInFull)
def get_run(request: HttpRequest, run_id: Id) -> Any:
    """A run with its description and result."""
    return run_in_full(RUNS.row(run_id))


@router.post("/runs/{run_id}/pause", response=RunOut)
def pause_run(request: HttpRequest, run_id: Id) -> Any:
    """Stop a run so that it can go on from where it is.

    Of one that is worked on, its worker hears of it soon.
    """
    return _asked(run_id, "pause")


@router.post("/runs/{run_id}/resume", response=RunOut)
def resume_run(request: HttpRequest, run_id: Id) -> Any:
    """Let a paused run go on."""
    return _asked(run_id, "resume")


@router.post("/runs/{run_id}/cancel", response=RunOut)
def cancel_run(request: HttpRequest, run_id: Id) -> Any:
    """Stop a run for good."""
    return _asked(run_id, "cancel")


@router.post("/runs/{run_id}/keep", response=RunOut)
def keep_run(request: HttpRequest, run_id: Id) -> Any:
    """Stop a run that is being worked on, with what there is as its result.

    For measuring runs, runs over a whole core, and PMEvo. One that has no result yet ends as cancelled.
    """
    return _asked(run_id, "keep")


@router.put("/runs/{run_id}/webhook", response=list[WebhookOut])
def set_webhook(request: HttpRequest, run_id: Id, data: NewWebhook) -> Any:
    """Say whom to tell when an unfinished run ends."""
    row = RUNS.row(run_id)
    with transaction.atomic():
        webhooks.replace(row, data.url.strip())
    return _webhooks(row)


@router.get("/runs/{run_id}/archive", response=bytes, openapi_extra={FILE: "application/zip"})
def get_archive(request: HttpRequest, run_id: Id) -> HttpResponse:
    """Everything about a run that has ended in one zip: description, versions, events, data, results.

    It imports elsewhere, by upload or `manage.py import` (docs/formats.md, which says of which kinds).
    """
    row = RUNS.row(run_id)
    try:
        content = archive_of(row)
    except ExchangeError as error:
        right = f"a run that has ended, of the kinds {', '.join(archived_kinds())}"
        raise ProblemError(409, str(error), where="path run_id", right=right) from error
    access.note(request, Deed.EXPORTED, row)
    return attachment(content, "application/zip", f"run {row.pk} {row.name}", "zip")


def _known(name: str, value: str, allowed: list[str]) -> None:
    if value and value not in allowed:
        raise ProblemError(
            422,
            f"There is no {name} {value[:40]!r}",
            where=f"query {name}",
            right=f"one of {', '.join(allowed)}",
        )


def _asked(run_id: int, wish: str) -> dict[str, Any]:
    """Do it; raises `RunStateError` where the run is in no state for it."""
    return run_json(lifecycle.WISHES[wish](RUNS.row(run_id)))


def run_in_full(row: Run) -> dict[str, Any]:
    return {
        **run_json(row),
        "config": row.config,
        "forked_from": ref(row.forked_from),
        "ahead": [ref(each) for each in ahead_of(row)],
        "events": row.next_seq - 1,
        "webhooks": _webhooks(row),
    }


def _webhooks(row: Run) -> list[dict[str, Any]]:
    """Without what an address may hold as a secret, for those who may only read."""
    return [dataclasses.asdict(each) for each in webhooks.told_of(row)]
