"""A thread with a database connection that stays open from message to message.

What Channels offers opens and closes a connection for every call, which takes longer than what an agent's
message asks of the database, and shares its thread with everything else that browsers are told.
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
    """One thread for all that use it; it ends with its last user."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._users = 0
        self._executor: ThreadPoolExecutor | None = None

    def enter(self) -> None:
        if self._executor is None:
            self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=self._name)
        self._users += 1

    def leave(self) -> None:
        """Use it no longer: after the last call has come back."""
        self._users -= 1
        if not self._users and self._executor is not None:
            self._executor.submit(connections.close_all)
            self._executor.shutdown(wait=False)
            self._executor = None

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the function returns or raises there."""
        assert self._executor is not None, "only who has entered may ask"
        asked = partial(_with_a_sound_connection, partial(function, *args, **kwargs))
        return await asyncio.get_running_loop().run_in_executor(self._executor, asked)


def _with_a_sound_connection(function: Callable[[], T]) -> T:
    try:
        return function()
    except DatabaseError:
        connections.close_all()  # whatever is the matter with it, the next call gets a new one
        raise
