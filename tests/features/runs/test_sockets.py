"""The WebSockets that browsers listen to, through Channels' own communicator, on a real database file."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest
from asgiref.sync import sync_to_async
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator

from inference.models import Run
from inference.runs import journal, leases, lifecycle
from inference.runs.watcher import shared_watcher
from inference.sockets import websocket_urlpatterns
from tests.listening import SOON, closing_code

APPLICATION = URLRouter(websocket_urlpatterns)


@asynccontextmanager
async def listening(address):
    """A connected socket of somebody whom the site has let in."""
    communicator = WebsocketCommunicator(APPLICATION, address)
    connected, _ = await communicator.connect(timeout=SOON)
    assert connected
    try:
        yield communicator
    finally:
        await communicator.disconnect(timeout=SOON)


async def receive(socket, count):
    return [await socket.receive_json_from(timeout=SOON) for _ in range(count)]


@sync_to_async
def claimed(site, name="a run"):
    run = site.count(name)
    return run, leases.claim("w")


@sync_to_async
def log(lease, *texts):
    journal.append(lease, [("log", {"level": "info", "text": text}) for text in texts])


async def test_the_journal_is_replayed_and_then_live_in_order(site):
    run, lease = await claimed(site)
    await log(lease, "a", "b")
    async with listening(f"/ws/runs/{run.pk}/") as socket:
        replayed = await receive(socket, 4)
        assert [m["seq"] for m in replayed] == [1, 2, 3, 4]
        assert [m["kind"] for m in replayed] == ["state", "state", "log", "log"]
        assert set(replayed[0]) == {"seq", "kind", "payload", "at"}
        for k in range(5):
            await log(lease, f"live {k}", "more")
        live = await receive(socket, 10)
        assert [m["seq"] for m in live] == list(range(5, 15))
        assert live[0]["payload"]["text"] == "live 0"
        assert await socket.receive_nothing(0.7)  # of all this nothing comes twice


async def test_a_browser_that_comes_back_gets_only_what_it_lacks(site):
    run, lease = await claimed(site)
    await log(lease, *"abcdef")
    async with listening(f"/ws/runs/{run.pk}/?since=6") as socket:
        assert [m["seq"] for m in await receive(socket, 2)] == [7, 8]
        await log(lease, "g")
        assert (await receive(socket, 1))[0]["seq"] == 9


@pytest.mark.parametrize("since", ["", "x", "-3", "9" * 40, "1.5"])
async def test_a_senseless_since_replays_everything(site, since):
    run, _ = await claimed(site)
    async with listening(f"/ws/runs/{run.pk}/?since={since}") as socket:
        assert [m["seq"] for m in await receive(socket, 2)] == [1, 2]


async def test_a_long_journal_comes_whole_and_in_order(site):
    run, lease = await claimed(site)
    await log(lease, *(str(k) for k in range(450)))
    async with listening(f"/ws/runs/{run.pk}/") as socket:
        assert [m["seq"] for m in await receive(socket, 452)] == list(range(1, 453))


async def test_several_browsers_share_one_watcher_that_ends_with_them(site):
    run, lease = await claimed(site)
    other, _ = await claimed(site, "another")
    async with (
        listening(f"/ws/runs/{run.pk}/") as first,
        listening(f"/ws/runs/{run.pk}/?since=2") as second,
        listening(f"/ws/runs/{other.pk}/") as third,
    ):
        await receive(first, 2)
        await receive(third, 2)
        task = shared_watcher()._task
        await log(lease, "news")
        assert (await receive(first, 1))[0]["seq"] == (await receive(second, 1))[0]["seq"] == 3
        assert await third.receive_nothing(0.7)  # of another run nothing comes
        assert shared_watcher()._task is task
    await asyncio.wait_for(asyncio.wait({task}), SOON)
    assert task.done()


async def test_a_run_that_never_was_or_is_deleted_closes_the_socket(site):
    async with listening("/ws/runs/4711/") as socket:
        assert await closing_code(socket) == 4404
    run, _ = await claimed(site)
    async with listening(f"/ws/runs/{run.pk}/") as socket:
        await receive(socket, 2)
        await sync_to_async(Run.objects.all().delete)()
        assert await closing_code(socket) == 4404


@pytest.mark.parametrize("address", ["/", "/ws/", "/ws/runs/x/", "/ws/runs/-1/", f"/ws/runs/{'9' * 5000}/"])
async def test_an_address_where_nothing_is_closes_the_socket_too(address):
    async with listening(address) as socket:
        assert await closing_code(socket) == 4404


async def test_a_number_beyond_the_database_disturbs_nobody_else(site):
    run, lease = await claimed(site)
    async with listening(f"/ws/runs/{run.pk}/") as socket:
        await receive(socket, 2)
        for _ in range(3):
            async with listening(f"/ws/runs/{10**30}/") as other:
                assert await closing_code(other) == 4404
        await log(lease, "still here")
        assert (await receive(socket, 1))[0]["payload"]["text"] == "still here"


async def test_what_a_browser_says_is_ignored(site):
    run, lease = await claimed(site)
    async with listening(f"/ws/runs/{run.pk}/") as socket:
        await receive(socket, 2)
        await socket.send_to(text_data='{"cancel": true}')
        await socket.send_to(bytes_data=b"\x00\xff")
        await log(lease, "still here")
        assert (await receive(socket, 1))[0]["payload"]["text"] == "still here"
        assert await sync_to_async(leases.requested_transition)(lease) == ""


async def test_the_list_tells_of_every_run_that_changes(site):
    run, lease = await claimed(site)
    async with listening("/ws/runs/") as socket:
        line = (await receive(socket, 1))[0]
        assert line == {
            "id": run.pk,
            "name": "a run",
            "kind": "count",
            "state": "running",
            "wanted": "",
            "progress": {},
            "error": "",
        }
        await sync_to_async(journal.append)(lease, [], progress={"done": 1})
        assert (await receive(socket, 1))[0]["progress"] == {"done": 1}
        await sync_to_async(lifecycle.cancel)(run)
        assert (await receive(socket, 1))[0]["wanted"] == "cancel"
        await sync_to_async(leases.fail)(lease, "it broke\nevidence")
        last = (await receive(socket, 1))[0]
        assert (last["state"], last["error"]) == ("failed", "it broke")
        assert await socket.receive_nothing(0.7)  # and nothing comes after the end


async def test_the_list_tells_of_runs_that_came_and_went_between_two_looks(site):
    await claimed(site)
    async with listening("/ws/runs/") as socket:
        await receive(socket, 1)
        brief, lease = await claimed(site, "brief")
        await sync_to_async(leases.finish)(lease, lambda: ({}, []))
        lines = await receive(socket, 1)
        while lines[-1]["state"] != "done":
            lines += await receive(socket, 1)
        assert {line["id"] for line in lines} == {brief.pk}
