"""Chores of the house: what a worker does beside runs, each in a process of its own. Other apps add theirs.

A chore says by a quick question whether there is something to do; then a management command does it. It is to
call `inference.runs.child.bind_to_parent`, and so ends with its worker. It gives way as runs do.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass

from channels.db import database_sync_to_async
from django.db import OperationalError

from inference.runs.child import PARENT_VARIABLE, giving_way

logger = logging.getLogger(__name__)

LOOK_EVERY = 10.0


@dataclass(frozen=True)
class Chore:
    """`due` says whether `command`, with its arguments, has work; it imports what it needs when called."""

    due: Callable[[], bool]
    command: tuple[str, ...]


CHORES: list[Chore] = []


def register(chore: Chore) -> None:
    """Add one; an app does so when it is ready."""
    CHORES.append(chore)


async def do_for_ever() -> None:
    """Look for chores that are due and do them, one after the other, until cancelled."""
    while True:
        for chore in CHORES:
            try:
                if await database_sync_to_async(chore.due)():
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
