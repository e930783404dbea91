"""The page that lists the operations, and the client in the documentation."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from inference.models import ExperimentSet, PortMapping, Run
from inference.runs import leases, wakeups
from inference.runs.fork_server import StopRequests, execute
from inference.web.api import reference
from tests.api.generated import generated_client
from tests.api.test_operations import OPERATIONS
from tests.rows.programs import Program

DOCUMENTATION = Path(settings.BASE_DIR) / "docs" / "api.md"


def test_the_page_shows_every_operation_with_a_request_and_an_answer(
    client: Client, administrator: User
) -> None:
    client.force_login(administrator)
    with CaptureQueriesContext(connection) as queries:
        page = client.get("/api/")
    assert page.status_code == 200
    assert len(queries) <= 6
    text = page.content.decode()
    assert re.findall(r"<style|<script(?![^>]*\ssrc=)[^>]*>|\son\w+=|\sstyle=", text) == []
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', text), "nothing comes from another host"
    shown = {each.anchor: each for group in reference.groups() for each in group.operations}
    assert shown.keys() == {name.replace("_", "-") for name in OPERATIONS}
    for anchor, each in shown.items():
        assert f'id="{anchor}"' in text
        assert each.requests
        assert each.answers
        assert each.requests[0][1].startswith("curl ")
        assert "{" not in each.path.format(**dict.fromkeys(re.findall(r"{(\w+)}", each.path), ""))


def test_the_page_is_found_from_every_other(client: Client, administrator: User) -> None:
    client.force_login(administrator)
    assert '<a href="/api/">API</a>' in client.get("/runs/").content.decode()


def test_an_operation_is_found_by_its_words() -> None:
    found = {each.anchor: each for group in reference.groups() for each in group.operations}
    assert "csv" in found["export-set"].words
    assert "avx512" in found["list-schemes"].words


@pytest.mark.django_db(transaction=True)
def test_the_client_in_the_documentation_works(
    live_server: Any,
    program: Program,
    experiment_set: ExperimentSet,
    mapping: PortMapping,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is run as it stands there, against a site that does each run at once."""

    def do_at_once(topic: str) -> None:
        if topic == wakeups.WORK:
            transaction.on_commit(work)

    monkeypatch.setattr(wakeups, "announce", do_at_once)
    (script,) = re.findall(r"```python\n(.*?)```", DOCUMENTATION.read_text(), re.DOTALL)
    client = generated_client()
    monkeypatch.setitem(sys.modules, client.__name__, client)
    names: dict[str, Any] = {"__name__": "documented"}
    exec(compile(script, str(DOCUMENTATION), "exec"), names)
    names["main"](client.Pmweb(live_server.url, program.token))
    told = capsys.readouterr().out
    assert mapping.name in told
    assert "0.67 cycles" in told
    made = ExperimentSet.objects.get(name="from a script")
    assert f"{made.measurements.count()} measurements" in told
    run = Run.objects.get(kind="evaluate")
    assert (run.state, run.result["scores"]["n"]) == ("done", 2)
    assert "MAPE" in told


def work() -> None:
    """What a worker would do."""
    lease = leases.claim("a test")
    if lease is not None:
        execute(lease, StopRequests(lease))
