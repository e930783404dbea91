"""What an older site must be able to do once it is migrated: show what it has, and go on with its runs."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.test import Client

from anica_app.models import Campaign, Discovery, Family
from inference.models import (
    ISA,
    BasicBlockSet,
    Evaluation,
    ExperimentSet,
    InstructionScheme,
    LatencySet,
    Machine,
    MeasuredFrontEnd,
    PortMapping,
    ResourceMapping,
    Run,
    RunEvent,
    StoredCoreModel,
    Upload,
)
from inference.models.schema import Schema, schema
from inference.runs import leases, lifecycle
from inference.runs.fork_server import StopRequests, execute
from pmweb.accounts.people import ensure_administrator

PAGES = (
    *("/", "/runs/", "/mappings/", "/sets/", "/isas/", "/machines/", "/campaigns/", "/campaigns/matrices/"),
    *("/latencies/", "/front-ends/", "/core-models/", "/resource-mappings/", "/block-sets/", "/comparisons/"),
    *("/accuracy/", "/blocks/", "/predictors/", "/sets/compare/", "/shares/", "/account/"),
    *("/accounts/", "/audit/", "/storage/", "/about/"),
)
ROW_PAGES = {
    "/isas/{}/": ISA,
    "/schemes/{}/": InstructionScheme,
    "/machines/{}/": Machine,
    "/runs/{}/": Run,
    "/mappings/{}/": PortMapping,
    "/resource-mappings/{}/": ResourceMapping,
    "/sets/{}/": ExperimentSet,
    "/latencies/{}/": LatencySet,
    "/front-ends/{}/": MeasuredFrontEnd,
    "/core-models/{}/": StoredCoreModel,
    "/block-sets/{}/": BasicBlockSet,
    "/campaigns/{}/": Campaign,
    "/discoveries/{}/": Discovery,
    "/families/{}/": Family,
    "/uploads/{}/": Upload,
    "/accounts/{}/": User,
}
OUTCOME_PAGES = {
    "/accuracy/{}/": "accuracy-check",
    "/blocks/{}/": "ask",
    "/campaigns/matrices/{}/": "matrix",
    "/comparisons/{}/": "comparison",
}
"""Pages of what a run of a kind came to, by the number of the run."""

STATES = {
    "evolved": "done",
    "judged": "done",
    "exact": "done",
    "paused": "paused",
    "interrupted": "queued",
    "waiting": "queued",
    "cancelled": "cancelled",
}


def check_that_it_goes_on(client: Client) -> None:
    """Every page answers, and every run that was not over comes to its end, with a journal without gaps."""
    assert schema() == Schema(needs_migration=False, unknown=())
    client.force_login(ensure_administrator())
    states = dict(Run.objects.values_list("name", "state"))
    assert states.items() >= STATES.items()
    events = {run.pk: RunEvent.objects.filter(run=run).count() for run in Run.objects.all()}
    addresses = [*PAGES, *addresses_of_rows()]
    answers = {address: client.get(address, follow=True).status_code for address in addresses}
    assert set(answers.values()) == {200}, {at: status for at, status in answers.items() if status != 200}
    assert Evaluation.objects.exists()
    lifecycle.resume(Run.objects.get(name="paused"))
    while (lease := leases.claim("new worker")) is not None:
        execute(lease, StopRequests(lease))
    for run in Run.objects.all():
        ended = "cancelled" if states[run.name] == "cancelled" else "done"
        assert run.state == ended, f"{run.name}: {run.error}"
        numbers = list(RunEvent.objects.filter(run=run).order_by("seq").values_list("seq", flat=True))
        assert numbers == list(range(1, run.next_seq))
        assert len(numbers) >= events[run.pk]
    inferred = {
        name: PortMapping.objects.get(run__name=name) for name in ("paused", "interrupted", "waiting")
    }
    assert {client.get(f"/mappings/{row.pk}/").status_code for row in inferred.values()} == {200}


def addresses_of_rows() -> list[str]:
    """The pages of all rows that have one."""
    rows = [(page, model._default_manager.all()) for page, model in ROW_PAGES.items()]
    rows += [(page, Run.objects.filter(kind=kind)) for page, kind in OUTCOME_PAGES.items()]
    return [page.format(pk) for page, query in rows for pk in query.values_list("pk", flat=True)]
