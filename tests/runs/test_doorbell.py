"""Messages that only make things quicker: what they wake, and that losing them costs nothing."""

from __future__ import annotations

import asyncio
import logging

import pytest
from asgiref.sync import sync_to_async
from channels.exceptions import ChannelFull
from channels.layers import InMemoryChannelLayer
from django.conf import settings

from inference.models import Run
from inference.runs import doorbell, journal, leases


class Wire:
    """A channel layer that other processes could hear; `fault` is raised instead of delivering."""

    def __init__(self, fault=None):
        self.fault = fault
        self.sent = []
        self.waiting = []
        self.groups = []

    async def send(self, channel, message):
        if self.fault:
            raise self.fault
        self.sent.append((channel, message))

    async def group_send(self, group, message):
        await self.send(group, message)

    async def new_channel(self):
        return "specific.1"

    async def group_add(self, group, channel):
        self.groups.append((group, channel))

    async def receive(self, channel):
        if self.fault:
            fault, self.fault = self.fault, None
            raise fault
        while not self.waiting:
            await asyncio.sleep(0.01)
        return self.waiting.pop()


@pytest.fixture
def layer(monkeypatch):
    wire = Wire()
    monkeypatch.setattr(doorbell, "get_channel_layer", lambda: wire)
    return wire


def test_a_new_run_and_its_events_are_announced_after_the_commit(site, layer):
    run = site.count("a run")
    assert ("work", {"type": "work.waiting"}) in layer.sent
    layer.sent.clear()
    journal.append(leases.claim("w"), [("log", {"level": "info", "text": "x"})])
    assert layer.sent == [("run-news", {"type": "run.news", "run": run.pk})] * 2


@pytest.mark.parametrize("fault", [ChannelFull(), ConnectionError("the layer is down")])
def test_a_layer_that_fails_costs_nothing(site, layer, fault, caplog):
    layer.fault = fault
    with caplog.at_level(logging.CRITICAL):
        run = site.count("a run")
    assert leases.claim("w").run_id == run.pk
    assert Run.objects.get().state == "running"


def test_the_in_memory_layer_is_not_used_across_processes():
    assert not doorbell.crosses_processes(InMemoryChannelLayer())
    assert not doorbell.crosses_processes(None)
    assert doorbell.crosses_processes(Wire())


@pytest.mark.parametrize(
    ("listen", "announce"),
    [
        (doorbell.listen_for_work, doorbell.announce_work),
        (doorbell.listen_for_news, lambda: doorbell.announce_news(1)),
    ],
)
async def test_without_a_layer_processes_of_this_host_hear_each_other(site, monkeypatch, listen, announce):
    monkeypatch.setattr(settings, "HOME", site.home)
    bell = asyncio.Event()
    listening = asyncio.create_task(listen(InMemoryChannelLayer(), bell))
    while not (site.home / "bells").is_dir() or not list((site.home / "bells").glob("[!.]*")):
        await asyncio.sleep(0.01)
    await sync_to_async(announce)()
    await asyncio.wait_for(bell.wait(), 10)
    listening.cancel()
    await asyncio.wait({listening})
    assert list((site.home / "bells").iterdir()) == []


@pytest.mark.parametrize("listen", [doorbell.listen_for_work, doorbell.listen_for_news])
async def test_a_message_rings_and_a_failing_layer_is_heard_again(monkeypatch, listen):
    monkeypatch.setattr(doorbell, "_LISTEN_AGAIN_AFTER", 0.01)
    wire = Wire(ConnectionError("the layer is down"))
    bell = asyncio.Event()
    listening = asyncio.create_task(listen(wire, bell))
    wire.waiting.append({"type": "any"})
    await asyncio.wait_for(bell.wait(), 10)
    assert not listening.done()
    listening.cancel()
    await asyncio.wait({listening})
