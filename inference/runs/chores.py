"""Chores of the house: what a worker does beside runs, each in a process of its own. Other apps add theirs.

A chore says by a quick question whether there is something to do; then a management command does it. It is to
call `inference.runs.child.bind_to_parent`, and so ends with its worker. It gives way as runs do.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import logging
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from channels.db import database_sync_to_async
from django.conf import settings
from django.db import OperationalError
from django.utils.module_loading import import_string

from inference.agent.priority import set_niceness
from inference.core.compiled_mark import is_compiled
from inference.runs.child import PARENT_VARIABLE, end_with, giving_way

# Compiles what runs compute with, in a process beside a worker: nobody's first run shall wait for it.
#
# It is the last to get the processor, and ends with the worker.


logger = logging.getLogger(__name__)

_NICENESS = 19


async def warm() -> None:
    """Have the loops compiled unless they are, and log how long that took. Cancelled, it ends the process."""
    if importlib.util.find_spec("numba") is None:
        return
    if is_compiled():
        logger.info("the compiled evaluation is ready")
        return
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        __name__,
        str(os.getpid()),
        cwd=settings.BASE_DIR,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        said, _ = await process.communicate()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if process.returncode == 0:
        logger.info("the compiled evaluation is ready, after %.1f s", time.monotonic() - began)
    else:
        last = said.decode(errors="replace").strip().rpartition("\n")[2]
        logger.warning("compiling ahead failed, the first run will have to: %s", last)


def main() -> None:
    """The process: compile everything for the worker whose id is the argument."""
    if not end_with(int(sys.argv[1])):
        return
    set_niceness(_NICENESS)
    from inference.core.compiling_ahead import compile_all  # noqa: PLC0415  not in the worker, to keep it small

    compile_all()


if __name__ == "__main__":
    main()


LOOK_EVERY = 10.0


@dataclass(frozen=True)
class Chore:
    """`due` is the path of a function that says whether `command`, with its arguments, has work."""

    due: str
    command: tuple[str, ...]


CHORES: list[Chore] = []


def register(chore: Chore) -> None:
    """Add one; an app does so when it is ready."""
    CHORES.append(chore)


async def do_for_ever() -> None:
    """Look for chores that are due and do them, one after the other, until cancelled."""
    while True:
        for chore in CHORES:
            due: Callable[[], bool] = import_string(chore.due)
            try:
                if await database_sync_to_async(due)():
                    await _carry_out(chore)
            except OperationalError as error:
                logger.warning("the database does not answer: %s", error)
        await asyncio.sleep(LOOK_EVERY)


async def _carry_out(chore: Chore) -> None:
    process = await asyncio.create_subprocess_exec(
        *giving_way(*chore.command),
        env={**os.environ, PARENT_VARIABLE: str(os.getpid())},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        said, _ = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    words = " ".join(chore.command)
    for line in said.decode(errors="replace").splitlines():
        logger.info("%s: %s", words, line)
    if process.returncode:
        logger.error("%s has failed with status %s", words, process.returncode)
