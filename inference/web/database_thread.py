"""A thread with a database connection that stays open from message to message.

Channels' own function opens and closes a connection for every call, which takes longer than the queries of an
agent's message, and it shares a thread with the WebSockets of browsers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from django.db import DatabaseError, connections

P = ParamSpec("P")
T = TypeVar("T")


class DatabaseThread:
    """A thread for several users; it ends when the last one has left."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._users = 0
        self._executor: ThreadPoolExecutor | None = None

    def enter(self) -> None:
        if self._executor is None:
            self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=self._name)
        self._users += 1

    def leave(self) -> None:
        """Call it after the user's last `run` has returned."""
        self._users -= 1
        if not self._users and self._executor is not None:
            self._executor.submit(connections.close_all)
            self._executor.shutdown(wait=False)
            self._executor = None

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the function on the thread; returns its value or raises its error. `enter` comes first."""
        assert self._executor is not None, "call enter() first"
        call = partial(_reset_on_error, partial(function, *args, **kwargs))
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)


def _reset_on_error(function: Callable[[], T]) -> T:
    try:
        return function()
    except DatabaseError:
        connections.close_all()  # the connection may be broken: the next call opens a new one
        raise
