"""What an older site must be able to do once it is migrated: show what it has, and go on with its runs."""

from __future__ import annotations

from django.test import Client

from inference.models import Evaluation, ExperimentSet, PortMapping, Run, RunEvent
from inference.models.schema import Schema, schema
from inference.runs import leases, lifecycle
from inference.runs.execute import StopRequests, execute
from pmweb.accounts.people import ensure_administrator

PAGES = (
    *("/", "/runs/", "/mappings/", "/sets/", "/isas/", "/machines/", "/campaigns/"),
    *("/accounts/", "/audit/", "/storage/", "/about/"),
)


def check_that_it_goes_on(client: Client) -> None:
    """Every page answers, and every run that was not over comes to its end, with a journal without gaps."""
    assert schema() == Schema(lacks=False, unknown=())
    client.force_login(ensure_administrator())
    states = dict(Run.objects.values_list("name", "state"))
    assert states == {
        "evolved": "done",
        "judged": "done",
        "exact": "done",
        "paused": "paused",
        "interrupted": "queued",
        "waiting": "queued",
        "cancelled": "cancelled",
    }
    seen = {run.pk: RunEvent.objects.filter(run=run).count() for run in Run.objects.all()}
    addresses = [
        *PAGES,
        *(f"/runs/{run.pk}/" for run in Run.objects.all()),
        *(f"/mappings/{row.pk}/" for row in PortMapping.objects.all()),
        *(f"/sets/{row.pk}/" for row in ExperimentSet.objects.all()),
    ]
    answers = {address: client.get(address).status_code for address in addresses}
    assert set(answers.values()) == {200}, answers
    assert Evaluation.objects.exists()
    lifecycle.resume(Run.objects.get(name="paused"))
    while (lease := leases.claim("new worker")) is not None:
        execute(lease, StopRequests(lease))
    for run in Run.objects.exclude(name="cancelled"):
        assert run.state == "done", f"{run.name}: {run.error}"
        numbers = list(RunEvent.objects.filter(run=run).order_by("seq").values_list("seq", flat=True))
        assert numbers == list(range(1, run.next_seq))
        assert len(numbers) >= seen[run.pk]
    made = {name: PortMapping.objects.get(run__name=name) for name in ("paused", "interrupted", "waiting")}
    assert {client.get(f"/mappings/{row.pk}/").status_code for row in made.values()} == {200}
