"""The journal: numbers, order, one transaction."""

from __future__ import annotations

import threading

import pytest
from django.db import IntegrityError, connections

from inference.models import RunCheckpoint, RunEvent
from inference.runs import journal, leases, lifecycle
from inference.runs.kinds import RUN_KINDS
from tests.runs.counting.job import COUNTING
from tests.runs.fixtures import numbers, payloads


@pytest.fixture
def run(db, monkeypatch):
    monkeypatch.setitem(RUN_KINDS, "count", COUNTING)
    return lifecycle.submit("count", {}, "a run")


@pytest.fixture
def lease(run):
    return leases.claim("w")


def log(text):
    return ("log", {"level": "info", "text": text})


def test_events_progress_and_checkpoint_are_written_together(run, lease):
    first = journal.append(lease, [log("a"), log("b")], checkpoint=b"npz", progress={"done": 1})
    run.refresh_from_db()
    assert numbers(run) == [1, 2, first, first + 1]
    assert run.progress == {"done": 1}
    assert bytes(run.checkpoint.data) == b"npz"
    assert run.next_seq == first + 2


def test_when_one_event_cannot_be_stored_nothing_is(run, lease):
    run.refresh_from_db()
    before = run.next_seq
    with pytest.raises(IntegrityError):
        journal.append(lease, [log("good"), (None, {})], checkpoint=b"npz", progress={"done": 1})
    run.refresh_from_db()
    assert (run.next_seq, run.progress) == (before, {})
    assert numbers(run) == list(range(1, before))
    assert not RunCheckpoint.objects.exists()


def test_events_are_read_on_from_a_number_in_pages(run, lease):
    journal.append(lease, [log(str(k)) for k in range(10)])
    start = journal.events_since(run.pk, 2, limit=4)
    assert [event["seq"] for event in start] == [3, 4, 5, 6]
    rest = journal.events_since(run.pk, 6)
    assert [event["payload"]["text"] for event in rest] == [str(k) for k in range(4, 10)]
    assert set(rest[0]) == {"seq", "kind", "payload", "at"}
    assert journal.events_since(run.pk, 12) == []


def test_a_late_reader_gets_only_the_last_picture_and_progress(run, lease):
    for k in range(3):
        entries = [("heat_map", {"k": k}), ("progress", {"done": k}), ("generation", {"generation": k})]
        journal.append(lease, entries)
    seen = [(event["kind"], event["payload"]) for event in journal.events_since(run.pk, 2)]
    assert [kind for kind, _ in seen] == ["generation", "generation", "heat_map", "progress", "generation"]
    assert ("heat_map", {"k": 2}) in seen
    assert ("progress", {"done": 2}) in seen


def test_of_long_curves_a_reader_can_have_a_part_with_the_newest_point(run, lease):
    told = [("generation", {"generation": k}) for k in range(20)]
    first = journal.append(lease, [log("before"), *told, log("after")])
    points = [number for number in range(first + 1, first + 21) if number % 6 == 0 or number == first + 20]
    seen = [event["seq"] for event in journal.events_since(run.pk, 2, points=6)]
    assert seen == [first, *points, first + 21]
    assert len(points) < 5


def test_replaced_heat_maps_keep_their_number_but_not_their_bulk(run, lease):
    journal.append(lease, [("heat_map", {"figure": 1})])
    journal.append(lease, [("heat_map", {"figure": 2})])
    assert payloads(run, "heat_map") == [{}, {"figure": 2}]
    assert numbers(run) == [1, 2, 3, 4]


def test_user_and_worker_writing_at_once_leave_no_gap(site):
    run = site.count("a run")
    lease = leases.claim("w")

    def work():
        for k in range(30):
            journal.append(lease, [log(str(k)), log("more")], checkpoint=b"x" * k)
        connections.close_all()

    def change_mind():
        for _ in range(15):
            lifecycle.pause(run)
            lifecycle.resume(run)
        connections.close_all()

    threads = [threading.Thread(target=work), threading.Thread(target=change_mind)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert numbers(run) == list(range(1, 63))
    told = [p["text"] for p in payloads(run, "log") if p["text"] != "more"]
    assert told == [str(k) for k in range(30)]


def test_the_database_refuses_a_number_twice(run):
    with pytest.raises(IntegrityError):
        RunEvent.objects.create(run=run, seq=1, kind="log", payload={})
