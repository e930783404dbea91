"""The child process of a run: how it is started, and what it does to itself first.

A child must not outlive its worker: whoever takes the run over would compute beside it. Linux sends a signal
when the parent dies; asked for in the child itself (not between fork and exec of a process with threads), so
a parent that died before that is noticed by comparing process ids.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys

from django.conf import settings

from inference.agent import priority
from inference.runs.errors import JobError
from inference.runs.journal import Lease
from inference.runs.lifeline import end_with

LEASE_VARIABLE = "PMWEB_LEASE"
PARENT_VARIABLE = "PMWEB_LEASE_HOLDER"


async def start(lease: Lease) -> asyncio.subprocess.Process:
    """Start `manage.py execute-run` for a claimed run, in a process group of its own.

    Its output, both streams in one, is a pipe.
    """
    return await asyncio.create_subprocess_exec(
        *giving_way("execute-run", str(lease.run_id)),
        env={**os.environ, LEASE_VARIABLE: lease.as_text(), PARENT_VARIABLE: str(os.getpid())},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )


def giving_way(*arguments: str) -> tuple[str, ...]:
    """The command line of a `manage.py` that gives way to the site's pages."""
    niceness = str(settings.RUN_NICENESS)
    manage = str(settings.BASE_DIR / "manage.py")
    return sys.executable, priority.__file__, niceness, sys.executable, manage, *arguments


def bind_to_parent() -> None:
    """Die when the worker dies, and keep within the memory limit.

    Raises `JobError` where the worker is gone already.
    """
    if not end_with(int(os.environ[PARENT_VARIABLE])):
        raise JobError("the worker that started this process is gone")
    limit_memory(settings.RUN_MEMORY_LIMIT_BYTES)


def limit_memory(limit: int | None) -> None:
    """Let allocations beyond `limit` bytes of writable private memory fail with `MemoryError`.

    Not the address space: compilers and thread pools reserve far more of that than they ever use.
    """
    if limit is not None:
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        if most != resource.RLIM_INFINITY:
            limit = min(limit, most)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, most))
