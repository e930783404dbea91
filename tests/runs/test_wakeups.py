"""Rings between processes of one host, through real sockets."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
import time

import pytest
from django.conf import settings

from inference.runs import wakeups
from inference.runs.wakeups import Wakeup, wake

LISTENER = """
import os, sys
from django.conf import settings
from pathlib import Path
settings.configure(HOME=Path(sys.argv[1]))
from inference.runs.wakeups import Wakeup
wakeup = Wakeup("topic")
print("listening", flush=True)
print("heard" if wakeup.wait(30) else "nothing", flush=True)
os.kill(os.getpid(), 19)
"""


@pytest.fixture(params=["short", "deep" * 40])
def folder(request, tmp_path, monkeypatch):
    """Where the sockets are: also where a path is longer than a socket's address may be."""
    home = tmp_path / request.param
    home.mkdir()
    monkeypatch.setattr(settings, "HOME", home)
    return home / "wakeups"


def test_a_ring_is_heard_once_by_everybody_who_listens_for_it(folder):
    with Wakeup("topic") as one, Wakeup("topic") as two, Wakeup("topic-2") as other:
        for _ in range(100):  # more than a socket remembers
            wake("topic")
        assert one.wait(60)
        assert two.wait(60)
        assert not one.wait(0.01)
        assert not other.wait(0.01)


def test_a_ring_before_the_wait_is_not_lost_and_one_to_nobody_costs_nothing(folder):
    wake("topic")
    with Wakeup("topic") as wakeup:
        assert not wakeup.wait(0.01)
        wake("topic")
        assert wakeup.wait(60)


def test_the_folder_is_private_and_empty_when_nobody_listens(folder):
    with Wakeup("topic"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert len(list(folder.iterdir())) == 1
    assert list(folder.iterdir()) == []


def test_another_process_hears_and_what_it_leaves_when_killed_is_removed(folder):
    with subprocess.Popen(
        [sys.executable, "-c", LISTENER, str(folder.parent)],
        cwd=settings.BASE_DIR,
        stdout=subprocess.PIPE,
        text=True,
    ) as listener:
        assert listener.stdout.readline() == "listening\n"
        with Wakeup("unrelated"):  # opening a wakeup removes no living one
            wake("topic")
        assert listener.stdout.readline() == "heard\n"
        listener.send_signal(signal.SIGKILL)
        listener.wait()
    left = list(folder.iterdir())
    assert len(left) == 1
    wake("topic")
    assert list(folder.iterdir()) == []


def test_opening_a_bell_removes_what_others_left(folder):
    lost = Wakeup("other")
    lost._socket.close()
    with Wakeup("topic"):
        assert [path.name.split(".")[0] for path in folder.iterdir()] == ["topic"]


async def test_a_ring_sets_an_event_of_the_loop(folder):
    event = asyncio.Event()
    with Wakeup("topic") as wakeup, wakeup.sets(event):
        wake("topic")
        await asyncio.wait_for(event.wait(), 60)
        event.clear()
        await asyncio.sleep(0.05)  # a ring is heard once
        assert not event.is_set()


async def test_where_no_socket_can_be_everybody_looks(tmp_path, monkeypatch, caplog):
    (tmp_path / "wakeups").write_text("no folder")
    monkeypatch.setattr(settings, "HOME", tmp_path)
    with Wakeup("topic") as wakeup, wakeup.sets(asyncio.Event()):
        wake("topic")
        started = time.monotonic()
        assert not wakeup.wait(0.05)
        assert time.monotonic() - started >= 0.05
    assert "polling instead" in caplog.text


def test_names_fit_into_the_room_that_is_left_for_them():
    longest = f".batches-{2**40}.{os.getpid()}.{'0' * 8}"
    assert len(longest) < wakeups._NAME_LIMIT
