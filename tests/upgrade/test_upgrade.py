"""Databases that older releases have filled: migrated by today's migrations, shown, and worked on.

`make` says how the dumps came about.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from inference.models import Evaluation, ExperimentSet, PortMapping, Run, RunEvent
from inference.models.schema import schema
from inference.runs import leases, lifecycle
from inference.runs.execute import Wishes, execute
from pmweb.accounts.administrator import ensure_administrator
from tests.runs.fixtures import opened
from tests.upgrade.make import COMMITS, restore

PAGES = (
    "/",
    "/runs/",
    "/mappings/",
    "/sets/",
    "/isas/",
    "/machines/",
    "/campaigns/",
    "/accounts/",
    "/storage/",
)


@pytest.fixture(params=sorted(COMMITS))
def upgraded(request, tmp_path: Path, django_db_blocker) -> Iterator[None]:
    """The database of a release, migrated."""
    restore(request.param, tmp_path / "pmweb.sqlite3")
    with opened(tmp_path, django_db_blocker):
        assert schema().lacks
        call_command("migrate", verbosity=0, skip_checks=True)
        yield


def test_an_older_site_is_migrated_shown_and_goes_on(upgraded: None, client: Client) -> None:
    assert schema() == type(schema())(lacks=False, unknown=())
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
        execute(lease, Wishes(lease))
    for run in Run.objects.exclude(name="cancelled"):
        assert run.state == "done", f"{run.name}: {run.error}"
        numbers = list(RunEvent.objects.filter(run=run).order_by("seq").values_list("seq", flat=True))
        assert numbers == list(range(1, run.next_seq))
        assert len(numbers) >= seen[run.pk]
    made = {name: PortMapping.objects.get(run__name=name) for name in ("paused", "interrupted", "waiting")}
    assert {client.get(f"/mappings/{row.pk}/").status_code for row in made.values()} == {200}
