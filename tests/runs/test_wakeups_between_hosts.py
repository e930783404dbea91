"""Messages that only make things quicker: what they wake, and that losing them costs nothing."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest
from asgiref.sync import sync_to_async
from channels.exceptions import ChannelFull
from channels.layers import InMemoryChannelLayer
from django.conf import settings

from inference.models import Run
from inference.runs import journal, leases, wakeups
from tests.launched import wait_until


class Wire:
    """A channel layer that other processes could hear; `fault` is raised instead of delivering."""

    def __init__(self, fault=None):
        self.fault = fault
        self.sent = []
        self.waiting = []
        self.groups = set()

    async def group_send(self, group, message):
        if self.fault:
            raise self.fault
        self.sent.append((group, message))

    async def new_channel(self):
        if self.fault:
            raise self.fault
        return "specific.1"

    async def group_add(self, group, channel):
        self.groups.add(group)

    async def group_discard(self, group, channel):
        self.groups.discard(group)

    async def receive(self, channel):
        while not self.waiting:
            await asyncio.sleep(0.01)
        return self.waiting.pop()


@pytest.fixture
def layer(monkeypatch):
    wire = Wire()
    monkeypatch.setattr(wakeups, "get_channel_layer", lambda: wire)
    monkeypatch.setattr(wakeups, "_RETRY_DELAY", 0.01)
    return wire


def rung(layer):
    return {group for group, _ in layer.sent}


def test_a_new_run_and_its_events_are_announced_after_the_commit(site, layer):
    site.count("a run")
    wait_until(lambda: {"work", "run-news"} <= rung(layer), 60, "the wake-ups of a new run")
    layer.sent.clear()
    journal.append(leases.claim("w"), [("log", {"level": "info", "text": "x"})])
    wait_until(lambda: rung(layer) == {"run-news"}, 60, "the wake-ups of an event")
    assert layer.sent[0][1] == {"type": "wakeup", "topic": "run-news"}


@pytest.mark.parametrize("fault", [ChannelFull(), ConnectionError("the layer is down")])
def test_a_layer_that_fails_costs_nothing_and_is_told_once(site, layer, fault, caplog):
    layer.fault = fault
    with caplog.at_level(logging.WARNING):
        for k in range(3):
            site.count(f"run {k}")
        wait_until(lambda: "does not answer, polling instead" in caplog.text, 60, "a warning")
    assert leases.claim("w").run_id == Run.objects.order_by("id")[0].pk
    layer.fault = None
    site.count("another run")
    wait_until(lambda: "work" in rung(layer), 60, "a wakeup when the layer is back")
    assert caplog.text.count("does not answer, polling instead") == 1


def test_the_in_memory_layer_is_not_used_across_processes():
    assert not wakeups.crosses_processes(InMemoryChannelLayer())
    assert not wakeups.crosses_processes(None)
    assert wakeups.crosses_processes(Wire())


def test_a_bell_is_struck_from_elsewhere_as_long_as_it_is_open(tmp_path, monkeypatch, layer):
    monkeypatch.setattr(settings, "HOME", tmp_path)
    with (
        wakeups.Wakeup(wakeups.results_topic(7)) as wakeup,
        wakeups.Wakeup(wakeups.batches_topic(7)) as other,
    ):
        wait_until(lambda: layer.groups == {"results-7", "batches-7"}, 60, "the groups")
        layer.waiting.append({"type": "wakeup", "topic": "results-7"})
        assert wakeup.wait(60)
        assert not other.wait(0.01)
    wait_until(lambda: layer.groups == set(), 60, "the end of the groups")


def test_who_rings_never_waits_for_the_layer(layer, monkeypatch):
    stuck = threading.Event()

    async def group_send(group, message):
        stuck.set()
        await asyncio.sleep(60)  # it hangs

    monkeypatch.setattr(layer, "group_send", group_send)
    board = wakeups.current_relay()
    for _ in range(100):
        board.wake("work")
    assert stuck.wait(60)
    board.wake("run-news")


@pytest.mark.parametrize("topic", [wakeups.WORK, wakeups.NEWS])
async def test_without_a_layer_processes_of_this_host_hear_each_other(site, monkeypatch, topic):
    monkeypatch.setattr(settings, "HOME", site.home)
    wakeup = asyncio.Event()
    listening = asyncio.create_task(wakeups.listen(topic, wakeup))
    while not (site.home / "wakeups").is_dir() or not list((site.home / "wakeups").glob("[!.]*")):
        await asyncio.sleep(0.01)
    await sync_to_async(wakeups.announce)(topic)
    await asyncio.wait_for(wakeup.wait(), 60)
    listening.cancel()
    await asyncio.wait({listening})
    assert list((site.home / "wakeups").iterdir()) == []
