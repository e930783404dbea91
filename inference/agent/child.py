"""The process that runs foreign machine code: it may crash, hang or be killed, and is then replaced.

It talks over a stream socket, one JSON object per line:

| from the agent | |
|---|---|
| `{"frame": …, "settings": …}` | what the following items are timed with |
| `{"items": [item, …], "quiet": …}` | time each of them once, in this order; what the sentinel shall show |

| to the agent | |
|---|---|
| `{"ready": …, "counters", "note"}` | it is confined so, and counts these events, or none for this reason |
| `{"unfit": reason}` | instead: why it cannot measure |
| `{"start": id}` | an item comes next: whoever crashes now is this one |
| `{"id", "cycles", "ghz", "sentinel", "counters"}` | its timing, and what was counted per copy |
| `{"id", "error"}` | why the item makes no sense |
| `{"id", "disturbed"}` | crude cycles of a timing that was disturbed, to be repeated |
| `{"done": true}` | all of them |
"""

from __future__ import annotations

import dataclasses
import faulthandler
import gc
import json
import os
import socket
from collections.abc import Iterator
from typing import Any

from inference.agent.block_timer import timer as timer_for
from inference.agent.code_pages import CodePagesError, GuardedPages
from inference.agent.counters import CountersError, ProcessorCounters, open_counters
from inference.agent.facts import identity
from inference.agent.frame import FrameError
from inference.agent.harness import AlteredError, DisturbedError, HarnessError, Timer
from inference.agent.protocol import BatchItem, Frame, Settings
from inference.agent.sandbox import confine, die_with_parent, keep_only

UNCONFINED = (
    "this kernel cannot keep machine code from the rest of the computer (no filter of system calls); where "
    "there is nothing to lose, start the agent with --without-sandbox"
)
ALTERED = 77
"""Exit status of a process whose code has been changed: nothing that it says is of use any more."""


def serve(connection: socket.socket, core: int | None, parent: int, *, sandboxed: bool = True) -> None:
    """Answer until the agent hangs up; `sandboxed`: only where this process can be confined."""
    if not die_with_parent(parent):
        return
    keep_only(connection.fileno())
    if core is not None:
        os.sched_setaffinity(0, {core})
    faulthandler.disable()  # a crash is a result here, nothing to print a traceback for
    gc.disable()  # a collection in the middle of a sample would be measured
    gc.freeze()  # what was inherited is not looked through again and again, nor is it this process's to end
    try:
        GuardedPages(1, executable=True)
    except CodePagesError as error:
        _say(connection, {"unfit": str(error)})
        return
    counters, note = _counters()
    confinement = confine()
    if sandboxed and not confinement.is_complete:
        _say(connection, {"unfit": UNCONFINED})
        return
    _say(
        connection,
        {"ready": dataclasses.asdict(confinement), "counters": counters.names, "note": note},
    )
    timer: Timer | None = None
    for message in _messages(connection):
        if "frame" in message:
            try:
                timer = timer_for(Frame.read(message["frame"]), Settings.read(message["settings"]), counters)
            except (FrameError, CodePagesError) as error:
                _say(connection, {"unfit": str(error)})
                return
        elif timer is not None:
            for item in message["items"]:
                _time(connection, timer, BatchItem.read(item), message["quiet"])
            _say(connection, {"done": True})
        gc.collect()


def _counters() -> tuple[ProcessorCounters, str]:
    """What this processor can count, or why it is nothing."""
    try:
        return open_counters(*identity()), ""
    except CountersError as error:
        return ProcessorCounters(()), str(error)


def _time(connection: socket.socket, timer: Timer, item: BatchItem, quiet: float | None) -> None:
    _say(connection, {"start": item.id})
    try:
        timing = timer.time(item, None if item.latency_bound else quiet)
    except HarnessError as error:
        _say(connection, {"id": item.id, "error": str(error)})
    except AlteredError:
        os._exit(ALTERED)
    except DisturbedError as error:
        _say(connection, {"id": item.id, "disturbed": error.cycles})
    else:
        _say(connection, {"id": item.id, **dataclasses.asdict(timing)})


def _say(connection: socket.socket, message: dict[str, Any]) -> None:
    connection.sendall(json.dumps(message).encode() + b"\n")


def _messages(connection: socket.socket) -> Iterator[dict[str, Any]]:
    pending = bytearray()
    while received := connection.recv(1 << 16):
        pending += received
        while (end := pending.find(b"\n")) >= 0:
            line = bytes(pending[:end])
            del pending[: end + 1]
            yield json.loads(line)
