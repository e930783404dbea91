"""Periodic maintenance beside runs; each chore is a management command in a process of its own.

Apps register their chores when they are ready. The command must call `inference.runs.child.bind_to_parent`,
so that it ends with its worker; it has the niceness of runs.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass

from channels.db import database_sync_to_async
from django.db import OperationalError

from inference.runs.child import PARENT_VARIABLE, niced_command

logger = logging.getLogger(__name__)

POLL_INTERVAL = 10.0  # seconds


@dataclass(frozen=True)
class Chore:
    """`due` tells by a quick query whether `command` has work; it imports its modules when called."""

    due: Callable[[], bool]
    command: tuple[str, ...]


CHORES: list[Chore] = []


def register(chore: Chore) -> None:
    """Add a chore; call it from `AppConfig.ready`."""
    CHORES.append(chore)


async def run_chores() -> None:
    """Run the chores that are due, one after another, every `POLL_INTERVAL` seconds until cancelled."""
    while True:
        for chore in CHORES:
            try:
                if await database_sync_to_async(chore.due)():
                    await _run_chore(chore)
            except OperationalError as error:
                logger.warning("the database does not answer: %s", error)
        await asyncio.sleep(POLL_INTERVAL)


async def _run_chore(chore: Chore) -> None:
    process = await asyncio.create_subprocess_exec(
        *niced_command(*chore.command),
        env={**os.environ, PARENT_VARIABLE: str(os.getpid())},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    command = " ".join(chore.command)
    for line in output.decode(errors="replace").splitlines():
        logger.info("%s: %s", command, line)
    if process.returncode:
        logger.error("%s has failed with status %s", command, process.returncode)
