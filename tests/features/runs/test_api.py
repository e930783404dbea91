"""Runs by the API: started as forms and shell start them, and followed to their end."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth.models import User
from django.test import AsyncClient

from inference.features.running.runs import events_api
from inference.models import ExperimentSet, Machine, PortMapping, Run
from inference.runs import leases
from inference.runs.journal import append
from inference.runs.lifecycle import submit
from pmweb.models import AuditEntry
from tests.heads import behind_head
from tests.rows.programs import Program
from tests.work import work_off


def done(run_id: int) -> None:
    """Let a worker do a run."""
    work_off(Run.objects.get(pk=run_id))


def test_an_evaluation_is_started_followed_and_found(
    program: Program, mapping: PortMapping, experiment_set: ExperimentSet, administrator: User
) -> None:
    config = {"mapping": mapping.pk, "experiment_set": experiment_set.pk}
    status, run = program("POST", "/runs", {"kind": "evaluate", "config": config, "note": "by a script"})
    assert status == 201
    assert run["config"] == {**config, "unit": "cycles"}
    assert (run["state"], run["note"]) == ("queued", "by a script")
    row = Run.objects.get(pk=run["id"])
    assert row.created_by == administrator
    assert AuditEntry.objects.filter(action="started", object_id=row.pk, via="API").exists()
    done(row.pk)
    ended = program.get(f"/runs/{row.pk}")
    assert ended["state"] == "done", ended["error"]
    (listed,) = program.get(f"/mappings/{mapping.pk}/evaluations")["items"]
    assert listed["id"] == ended["result"]["evaluation"]
    path = f"/evaluations/{listed['id']}"
    shown = program.get(path)
    (imul,) = program.get(f"{path}/schemes?q=imul")["items"]
    scheme = mapping.isa.schemes.get(text=imul["scheme"])
    assert len(program.get(f"{path}/measurements?scheme={scheme.pk}")) == imul["n"]
    assert program("GET", f"{path}/schemes?sort=-age")[0] == 422
    assert sum(map(sum, shown["heat_map"]["counts"])) == shown["n"] == 2


def test_the_same_description_as_a_form_or_command_gives_the_same_run(
    program: Program, experiment_set: ExperimentSet
) -> None:
    config = {"source": {"datasets": [experiment_set.pk]}, "ports": 3, "settings": {"population": 40}}
    by_api = program("POST", "/runs", {"kind": "infer", "config": config, "name": "by the API"})[1]
    assert by_api["config"] == submit("infer", config, "by a form").config
    status, checked = program("POST", "/runs/check", {"kind": "infer", "config": config})
    assert (status, checked["config"]) == (200, by_api["config"])
    assert Run.objects.count() == 2


@pytest.mark.parametrize(
    ("kind", "config", "said"),
    [
        ("dance", {}, "dance"),
        ("infer", {"colour": "red"}, "colour"),
        ("infer", {"source": {"datasets": [10**20]}}, "datasets"),
        ("evaluate", {"mapping": "one"}, "mapping must be a whole number"),
        ("measure", {"machine": 5}, "machine"),
        ("import", {"upload": {"a": 1}}, "upload"),
        ("block", {"machine": [1]}, "machine"),
        ("check-model", {"machine": None}, "machine"),
    ],
)
def test_wrong_descriptions_are_refused_and_say_why(
    program: Program, isa: Any, kind: str, config: Any, said: str
) -> None:
    for path in ("/runs", "/runs/check"):
        status, answer = program("POST", path, {"kind": kind, "config": config})
        assert status == 422
        assert said in answer["detail"]
    assert not Run.objects.exists()


def test_a_name_that_is_taken_is_a_conflict(program: Program, run: Run) -> None:
    status, answer = program("POST", "/runs", {"kind": "infer", "config": run.config, "name": run.name})
    assert status == 409
    assert "a run (2)" in answer["problems"][0]["right"]


def test_runs_are_paused_resumed_and_cancelled(program: Program, run: Run) -> None:
    for wish, state in (("pause", "paused"), ("resume", "queued"), ("cancel", "cancelled")):
        status, answer = program("POST", f"/runs/{run.pk}/{wish}")
        assert (status, answer["state"]) == (200, state)
    status, answer = program("POST", f"/runs/{run.pk}/resume")
    assert status == 409
    assert "cancelled" in answer["detail"]


def test_a_webhook_is_named_with_the_run_or_later_and_shown_without_its_secret(
    program: Program, run: Run
) -> None:
    secret = "https://chat.example.org/hooks/s3cret"
    body = {"kind": "infer", "config": run.config, "webhook": secret}
    (shown,) = program("POST", "/runs", body)[1]["webhooks"]
    assert shown["url"] == "https://chat.example.org/…"
    status, answer = program("PUT", f"/runs/{run.pk}/webhook", {"url": secret})
    assert (status, len(answer)) == (200, 1)
    assert program("PUT", f"/runs/{run.pk}/webhook", {"url": ""})[1] == []
    for wrong in (
        "ftp://example.org/",
        "file:///etc/passwd",
        "https://",
        "https://user:pw@example.org/",
        "a b",
    ):
        status, answer = program("PUT", f"/runs/{run.pk}/webhook", {"url": wrong})
        assert status == 422, wrong
        assert "http" in answer["detail"]


def test_a_measuring_run_is_started_on_a_machine(program: Program, machine: Machine) -> None:
    config = {"machine": machine.pk, "schemes": "all", "plan": "singletons"}
    status, run = program("POST", "/runs", {"kind": "measure", "config": config})
    assert status == 201, run
    assert run["config"]["plan"] == "singletons"


def test_an_inference_on_a_machine_is_started_once(program: Program, machine: Machine) -> None:
    path = f"/machines/{machine.pk}/inferences"
    first, second = (program("POST", path, {"what": "starter"}) for _ in range(2))
    assert (first[0], second[0]) == (201, 200), first[1]
    assert first[1]["id"] == second[1]["id"]
    assert Run.objects.get(pk=first[1]["id"]).config["schemes"] == "starter"


def test_a_check_of_the_model_is_read_and_taken_away(program: Program, model_check: Run) -> None:
    path = f"/runs/{model_check.pk}/model-check"
    told = program.get(path)
    assert (told["asked"], told["compared"], told["within"]) == (3, 2, 1)
    assert told["verdicts"]["not measured"] == 1
    assert told["mixes"][0]["scores"]["n"] == 3
    assert told["orders"][0]["share"] == 0.25
    (wrong,) = program.get(f"{path}/schemes?verdict=discrepancy")["items"]
    assert wrong["error"] == -50.0
    table = behind_head(program.raw("GET", f"{path}/exports/schemes").content.decode())
    assert table.count("\n") == 4
    assert program("GET", f"{path}/exports/colours")[0] == 422


# ---- events


def log(text: str) -> tuple[str, dict[str, str]]:
    return "log", {"level": "info", "text": text}


def test_events_come_in_pages_until_the_run_has_ended(program: Program, run: Run) -> None:
    lease = leases.claim("a test", only=run.pk)
    append(lease, [log(str(number)) for number in range(5)])
    seen, since, ended = [], 0, False
    while not ended:
        page = program.get(f"/runs/{run.pk}/events?since={since}&limit=3")
        seen += page["items"]
        since, ended = page["next"], page["ended"]
        if len(seen) == 7:
            assert not ended
            leases.fail(lease, "enough")
    assert [event["seq"] for event in seen] == list(range(1, 9))
    assert seen[-1]["payload"] == {"state": "failed", "error": "enough"}
    assert "versions" in seen[1]["payload"], "which software does the run"
    again = program.get(f"/runs/{run.pk}/events?since={since}")
    assert again == {"items": [], "next": since, "ended": True}


async def _streamed(token: str, path: str, **headers: str) -> list[dict[str, str]]:
    """The events of a stream that ends."""
    response = await AsyncClient().get(
        f"/api/v1{path}",
        headers={"Authorization": f"Bearer {token}", "Accept": "text/event-stream", **headers},
    )
    assert response.status_code == 200, response.content
    assert response["Content-Type"] == "text/event-stream"
    text = "".join([part.decode() async for part in response.streaming_content])
    blocks = [block.splitlines() for block in text.split("\n\n") if block]
    return [dict(line.split(": ", 1) for line in block if not line.startswith(":")) for block in blocks]


def test_a_stream_goes_on_while_the_run_does_and_ends_with_it(
    program: Program, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = leases.claim("a test", only=run.pk)
    assert lease is not None
    path = f"/runs/{run.pk}/events"
    happens = [lambda: append(lease, [log("while it streams")]), lambda: leases.fail(lease, "enough")]

    async def news(*_: object) -> bool:
        """What it waits for happens; one connection cannot serve the stream and somebody else at a time."""
        await sync_to_async(happens.pop(0))()
        return True

    async def followed() -> list[dict[str, str]]:
        return await asyncio.wait_for(_streamed(program.token, path), 60)

    monkeypatch.setattr(events_api, "_wait_for_news", news)
    events = async_to_sync(followed)()  # the database is that of this thread
    assert [each.get("id") for each in events] == ["1", "2", "3", "4", None]
    assert [each["event"] for each in events] == ["state", "state", "log", "state", "end"]
    assert json.loads(events[2]["data"])["payload"]["text"] == "while it streams"
    rest = async_to_sync(_streamed)(program.token, path, **{"Last-Event-ID": "2"})
    assert [each.get("id") for each in rest] == ["3", "4", None]
