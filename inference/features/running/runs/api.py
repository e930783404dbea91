"""API of runs: list, start, check, pause, cancel and archive runs of every kind."""

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
from inference.formats.problems import ExchangeError
from inference.models import Run
from inference.runs import lifecycle, webhooks
from inference.runs.kinds import RUN_KINDS, ahead_of, job
from inference.runs.plans import plan_of
from inference.runs.webhook_address import URL_LIMIT
from inference.storage.names import NAME_LIMIT, NOTE_LIMIT
from inference.web.api import access
from inference.web.api.access import AuditAction, read_access
from inference.web.api.document import FILE
from inference.web.api.errors import ProblemError
from inference.web.api.named_rows import NamedRows
from inference.web.api.paging import PageOf, Paging, allowed_sorts, list_answer
from inference.web.api.shapes import Input, Ref, RunOut, Text, Time, ref, run_json
from inference.web.file_answers import attachment
from inference.web.validation import Id


def examples() -> dict[str, Json]:
    """{kind: example configuration of a run}, for the API's reference; a test checks that each is valid."""
    return {name: kind.example for name, kind in RUN_KINDS.items()}


def example_bodies(**extra_fields: str) -> list[Json]:
    """Example request bodies, one per kind of run.

    Args:
        extra_fields: Fields of every body; "{kind}" in their texts is replaced by the kind.
    """
    return [
        {
            "kind": kind,
            "config": config,
            **{name: text.format(kind=kind) for name, text in extra_fields.items()},
        }
        for kind, config in examples().items()
    ]


router = Router()
router.add_router("", events_router)
RunSort = Annotated[str, allowed_sorts(RUN_COLUMNS)]


class WebhookOut(Schema):
    """An address that is called when the run ends."""

    url: str = Field(examples=["https://chat.example.org/hooks/pmweb"])
    attempts: int = Field(examples=[0])
    sent: Time | None
    error: str = Field(description="Why the last attempt failed.", examples=[""])


class RunStepOut(Schema):
    """A step of a run. Times are seconds of work."""

    label: str = Field(examples=["Latencies"])
    state: str = Field(description="done, current, stopped or later", examples=["current"])
    seconds: float | None = Field(description="Time spent; null before its turn.", examples=[41.5])
    expected: float | None = Field(description="Time of the complete step in earlier runs.", examples=[112.6])
    left: float | None = Field(description="Time that it still takes.", examples=[71.0])
    run: int | None = Field(description="The run that this step is, of runs with parts.", examples=[18])
    reused: bool = Field(description="Whether an earlier run takes its place.", examples=[False])


class RunPlanOut(Schema):
    """The steps of a run, and how long it still takes: seconds, null where that cannot be estimated."""

    left: float | None = Field(description="Likely time until the run ends.", examples=[755.0])
    least: float | None = Field(description="It rarely takes less.", examples=[580.0])
    most: float | None = Field(description="It rarely takes more.", examples=[980.0])
    basis: str = Field(
        description="alike (such runs on this computer), scaled (other ones), reference (another computer), "
        "or nothing",
        examples=["alike"],
    )
    runs: int = Field(description="Number of earlier runs that the estimate rests on.", examples=[1])
    slowdown: float = Field(
        description="Time so far, relative to earlier runs on this computer.", examples=[1.0]
    )
    reason: str = Field(examples=["As the last such run on this computer took."])
    steps: list[RunStepOut]


class RunInFull(RunOut):
    """A run with its complete configuration, from which it can be repeated."""

    config: dict[str, Any] = Field(examples=[examples()["infer"]])
    forked_from: Ref | None
    ahead: list[Ref] = Field(description="What the run waits for.")
    events: int = Field(description="Number of the run's last event.", examples=[120])
    plan: RunPlanOut
    webhooks: list[WebhookOut]


def _with_examples(schema: Json) -> None:
    """Runs when the document is generated: only then all apps have registered their kinds."""
    schema["examples"] = example_bodies()


def _with_named_examples(schema: Json) -> None:
    schema["examples"] = example_bodies(name="nightly {kind}")


class Described(Input):
    """The configuration of a run."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=_with_examples)

    kind: str = Field(max_length=20, description="infer, measure, evaluate, campaign, …")
    config: dict[str, Any] = Field(
        description="Configuration of this kind of run (docs/api.md); absent fields have defaults."
    )


class CheckedRun(Schema):
    """A complete configuration, and how long such a run takes."""

    kind: str = Field(examples=["infer"])
    config: dict[str, Any] = Field(examples=[examples()["infer"]])
    plan: RunPlanOut


class NewRun(Described):
    """A run to start. Without a name, one is generated."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=_with_named_examples)

    name: str = Field(
        "", max_length=NAME_LIMIT, description="Name of the run; if empty, it is made of the run's subject."
    )
    note: str = Field("", max_length=NOTE_LIMIT, description="Note of the run.")
    forked_from: Id | None = Field(None, description="The run that this one is a changed copy of.")
    webhook: str = Field("", max_length=URL_LIMIT, description="Webhook to call when the run ends.")


class NewWebhook(Input):
    """The address to call when a run ends; if empty, only the site's own webhook is called."""

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
    """Lists runs, optionally with the text `q` in name or note, in a state, of a kind."""
    _require_choice("state", state, Run.State.values)
    _require_choice("kind", kind, list(RUN_KINDS))
    rows = runs(q.strip(), state, kind)
    return list_answer(rows, RUN_COLUMNS, sort, paging, RUNS.values)


@router.post("/runs", response={201: RunInFull})
def start_run(request: HttpRequest, data: NewRun) -> Any:
    """Start a run of any kind. An invalid configuration is rejected; the error names the field."""
    forked_from = None
    if data.forked_from is not None:
        forked_from = Run.objects.filter(pk=data.forked_from, kind=data.kind).first()
        if forked_from is None:
            problem = f"There is no run of kind {data.kind} with number {data.forked_from}"
            raise ProblemError(
                422, problem, where="body forked_from", right="the number of such a run, or null"
            )
    run = lifecycle.submit(
        data.kind,
        data.config,
        data.name,
        user=access.account_of(request),
        forked_from=forked_from,
        note=data.note.strip(),
        webhook=data.webhook.strip(),
    )
    return Status(201, run_in_full(run))


@router.post("/runs/check", response=CheckedRun, auth=read_access)
def check_run(request: HttpRequest, data: Described) -> Any:
    """Complete a configuration with defaults and estimate its time, or report what is invalid, without
    starting it.
    """
    config = job(data.kind).check(data.config)
    return {
        "kind": data.kind,
        "config": config,
        "plan": plan_of(Run(kind=data.kind, config=config)).as_json(),
    }


# After `/runs/check`: routes match in order, and `check` is no number of a run.
RUNS.add_changes("Delete a run that has ended, with its journal. Its results stay.")


@router.get("/runs/{run_id}", response=RunInFull)
def get_run(request: HttpRequest, run_id: Id) -> Any:
    """A run with its description and result."""
    return run_in_full(RUNS.row(run_id))


@router.post("/runs/{run_id}/pause", response=RunOut)
def pause_run(request: HttpRequest, run_id: Id) -> Any:
    """Pause a run so that it can be resumed.

    The worker of a running one reacts within seconds.
    """
    return _transition(run_id, "pause")


@router.post("/runs/{run_id}/resume", response=RunOut)
def resume_run(request: HttpRequest, run_id: Id) -> Any:
    """Put a paused run back into the queue, to continue from its checkpoint."""
    return _transition(run_id, "resume")


@router.post("/runs/{run_id}/cancel", response=RunOut)
def cancel_run(request: HttpRequest, run_id: Id) -> Any:
    """Cancel an unfinished run; it ends without a result."""
    return _transition(run_id, "cancel")


@router.post("/runs/{run_id}/keep", response=RunOut)
def keep_run(request: HttpRequest, run_id: Id) -> Any:
    """Stop a running run and store its partial result.

    For measuring runs, profiles of a core, and PMEvo. A run without a partial result ends as cancelled.
    """
    return _transition(run_id, "keep")


@router.put("/runs/{run_id}/webhook", response=list[WebhookOut])
def set_webhook(request: HttpRequest, run_id: Id, data: NewWebhook) -> Any:
    """Set the address to call when an unfinished run ends."""
    row = RUNS.row(run_id)
    with transaction.atomic():
        webhooks.replace_webhook(row, data.url.strip())
    return _webhooks(row)


@router.get("/runs/{run_id}/archive", response=bytes, openapi_extra={FILE: "application/zip"})
def get_archive(request: HttpRequest, run_id: Id) -> HttpResponse:
    """A zip of a run that has ended: configuration, versions, events, data, results.

    It can be imported elsewhere, by upload or `manage.py import` (docs/formats.md lists the kinds).
    """
    row = RUNS.row(run_id)
    try:
        content = archive_of(row)
    except ExchangeError as error:
        right = f"a run that has ended, of kind {', '.join(archived_kinds())}"
        raise ProblemError(409, str(error), where="path run_id", right=right) from error
    access.log_action(request, AuditAction.EXPORTED, row)
    return attachment(content, "application/zip", f"run {row.pk} {row.name}", "zip")


def _require_choice(name: str, value: str, allowed: list[str]) -> None:
    if value and value not in allowed:
        raise ProblemError(
            422,
            f"There is no {name} {value[:40]!r}",
            where=f"query {name}",
            right=f"one of {', '.join(allowed)}",
        )


def _transition(run_id: int, action: str) -> dict[str, Any]:
    """Applies an action of `lifecycle.TRANSITIONS`. Raises `RunStateError` if the run's state does not allow
    it.
    """
    return run_json(lifecycle.TRANSITIONS[action](RUNS.row(run_id)))


def run_in_full(row: Run) -> dict[str, Any]:
    return {
        **run_json(row),
        "config": row.config,
        "forked_from": ref(row.forked_from),
        "ahead": [ref(run) for run in ahead_of(row)],
        "events": row.next_seq - 1,
        "plan": plan_of(row).as_json(),
        "webhooks": _webhooks(row),
    }


def _webhooks(row: Run) -> list[dict[str, Any]]:
    """Addresses are shortened: their paths may contain secrets, and accounts that may only read see this."""
    return [dataclasses.asdict(webhook) for webhook in webhooks.visible_webhooks(row)]
