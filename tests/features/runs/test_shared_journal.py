"""Browsers that lack the same events share a reading; none misses what was written before it asked."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import asynccontextmanager

import pytest
from channels.db import database_sync_to_async
from django.db import OperationalError

from inference.features.running.runs import shared_journal
from inference.features.running.runs.shared_journal import SharedJournal
from inference.runs import journal, leases

ENTRY = ("log", {"level": "info", "text": "news"})


@pytest.fixture
def readings(monkeypatch):
    """What was read, as (run, number); the database answers when `go` is set."""

    class Readings(list):
        go = threading.Event()

    readings = Readings()

    def counted(run_id, seq, limit):
        events = journal.events_since(run_id, seq, limit)
        readings.append((run_id, seq))  # after the query: who sees this knows what the answer holds
        assert readings.go.wait(60)
        return events

    monkeypatch.setattr(shared_journal, "events_since", counted)
    readings.go.set()
    yield readings
    readings.go.set()


@asynccontextmanager
async def sharing():
    shared = SharedJournal()
    shared.enter()
    try:
        yield shared
    finally:
        shared.leave()


@database_sync_to_async
def claimed(site):
    return site.count("a run").pk, leases.claim("w")


def numbers(messages):
    assert all(json.loads(text)["seq"] == seq for seq, text in messages)
    return [seq for seq, _ in messages]


async def until(condition):
    while not condition():
        await asyncio.sleep(0.005)


async def test_many_who_lack_the_same_are_answered_by_one_query(site, readings):
    run, _ = await claimed(site)
    async with sharing() as shared:
        answers = await asyncio.gather(*(shared.after(run, 0) for _ in range(50)), shared.after(run, 1))
        assert [numbers(each) for each in answers] == [[1, 2]] * 50 + [[2]]
        assert readings == [(run, 0), (run, 1)]


async def test_what_was_written_before_somebody_asks_is_in_the_answer(site, readings):
    run, lease = await claimed(site)
    async with sharing() as shared:
        readings.go.clear()
        early = asyncio.create_task(shared.after(run, 2))
        await until(lambda: readings)  # the query has been made, and its answer is on the way
        await database_sync_to_async(journal.append)(lease, [ENTRY])
        late = asyncio.create_task(shared.after(run, 2))
        await asyncio.sleep(0)
        readings.go.set()
        assert numbers(await early) == []
        assert numbers(await late) == [3]


async def test_who_leaves_takes_nothing_from_the_others(site, readings):
    run, _ = await claimed(site)
    async with sharing() as shared:
        readings.go.clear()
        other = asyncio.create_task(shared.after(run, 7))  # keeps the thread
        await until(lambda: readings)
        leaving, staying = (asyncio.create_task(shared.after(run, 0)) for _ in range(2))
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.sleep(0)
        readings.go.set()
        assert numbers(await staying) == [1, 2]
        assert numbers(await other) == []
        assert len(readings) == 2


async def test_a_database_that_does_not_answer_is_asked_again(site, readings, monkeypatch):
    run, _ = await claimed(site)
    async with sharing() as shared:

        def broken(*_):
            raise OperationalError("no")

        with monkeypatch.context() as patch:
            patch.setattr(shared_journal, "events_since", broken)
            failed = await asyncio.gather(*(shared.after(run, 0) for _ in range(3)), return_exceptions=True)
        assert [type(each) for each in failed] == [OperationalError] * 3
        assert numbers(await shared.after(run, 0)) == [1, 2]


@pytest.mark.parametrize(
    ("lengths", "taken"), [([], 0), ([1, 1, 1], 3), ([999], 1), ([100, 200, 1], 2), ([299, 2, 1], 1)]
)
def test_a_page_has_few_bytes_and_never_none(
    monkeypatch: pytest.MonkeyPatch, lengths: list[int], taken: int
) -> None:
    monkeypatch.setattr(shared_journal, "PAGE_BYTES", 300)
    messages = [(seq, "x" * length) for seq, length in enumerate(lengths, 1)]
    assert shared_journal.first_page(messages) == messages[:taken]


async def test_pages_follow_each_other_without_a_gap(site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_journal, "PAGE_BYTES", 300)
    run_id, lease = await claimed(site)
    await database_sync_to_async(journal.append)(lease, [ENTRY] * 9)
    async with sharing() as shared:
        read: list[int] = []
        while page := await shared.after(run_id, len(read)):
            assert len(page) < 9
            read += numbers(page)
    assert read == list(range(1, 12))
