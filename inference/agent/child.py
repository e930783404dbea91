"""The process that runs foreign machine code: it may crash, hang or be killed, and is then replaced.

It talks over a stream socket, one JSON object per line:

| from the agent | |
|---|---|
| `{"frame": …, "settings": …}` | what the following items are timed with |
| `{"items": [item, …], "quiet": …}` | time each of them once, in this order; what the sentinel shall show |

| to the agent | |
|---|---|
| `{"ready": …}` | it is confined as described, or `{"unfit": reason}` |
| `{"start": id}` | an item comes next: whoever crashes now is this one |
| `{"id", "cycles", "ghz", "sentinel"}` | its timing |
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

from inference.agent.code_pages import CodePagesError, Region
from inference.agent.frame import FrameError
from inference.agent.harness import DisturbedError, HarnessError, Timer
from inference.agent.protocol import Frame, Item, Settings
from inference.agent.sandbox import confine, die_with_parent


def serve(connection: socket.socket, core: int | None, parent: int) -> None:
    """Answer until the agent hangs up."""
    if not die_with_parent(parent):
        return
    if core is not None:
        os.sched_setaffinity(0, {core})
    faulthandler.disable()  # a crash is a result here, nothing to print a traceback for
    gc.disable()  # a collection in the middle of a sample would be measured
    try:
        Region(1, executable=True)
    except CodePagesError as error:
        _say(connection, {"unfit": str(error)})
        return
    _say(connection, {"ready": dataclasses.asdict(confine())})
    timer: Timer | None = None
    for message in _messages(connection):
        if "frame" in message:
            try:
                timer = Timer(Frame.read(message["frame"]), Settings.read(message["settings"]))
            except FrameError as error:
                _say(connection, {"unfit": str(error)})
                return
        elif timer is not None:
            for item in message["items"]:
                _time(connection, timer, Item.read(item), message["quiet"])
            _say(connection, {"done": True})
        gc.collect()


def _time(connection: socket.socket, timer: Timer, item: Item, quiet: float | None) -> None:
    _say(connection, {"start": item.id})
    try:
        timing = timer.time(item, quiet)
    except HarnessError as error:
        _say(connection, {"id": item.id, "error": str(error)})
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
