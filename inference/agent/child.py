"""The measuring process, which runs foreign machine code: it may crash, hang or be killed, and is replaced
then.

Messages over a stream socket, one JSON object per line:

| from the agent | |
|---|---|
| `{"frame": …, "settings": …}` | frame and settings of the following items |
| `{"items": [item, …], "quiet": …}` | time each item once, in this order; cycles of an undisturbed sentinel |

| to the agent | |
|---|---|
| `{"ready": …, "counters", "note"}` | its confinement, the events that it counts, or why none |
| `{"unfit": reason}` | instead: why it cannot measure |
| `{"start": id}` | the item that is timed next, and to blame for a crash |
| `{"id", "cycles", "ghz", "sentinel", "counters"}` | its timing, and events per copy |
| `{"id", "error"}` | why the item cannot be timed |
| `{"id", "disturbed"}` | crude cycles of a disturbed timing, which is to be repeated |
| `{"done": true}` | all items are done |
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
"""Exit status of a process whose code was changed: its messages are not to be trusted."""


def serve(connection: socket.socket, core: int | None, parent: int, *, sandboxed: bool = True) -> None:
    """Serve until the agent hangs up. `sandboxed`: refuse to measure where the process cannot be confined."""
    if not die_with_parent(parent):
        return
    keep_only(connection.fileno())
    if core is not None:
        os.sched_setaffinity(0, {core})
    faulthandler.disable()  # a crash is a result here, nothing to print a traceback for
    gc.disable()  # a collection in the middle of a sample would be measured
    gc.freeze()  # inherited objects are neither scanned again nor finalised by this process
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
    """(counters of this processor, "" or why there are none)."""
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
