"""Compiles loops ahead of the first run, in a process beside the worker.

The process has the lowest priority and ends with the worker.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import logging
import os
import sys
import time

from django.conf import settings

from inference.agent.priority import set_session_niceness
from inference.core.compiled_mark import is_compiled
from inference.runs.lifeline import set_parent_death_signal

logger = logging.getLogger(__name__)

_NICENESS = 19  # the lowest priority: compiling ahead must not slow any run


async def warm() -> None:
    """Compile the loops unless they are cached, and log the time; a cancellation ends the process."""
    if importlib.util.find_spec("numba") is None:
        return
    if is_compiled():
        logger.info("the compiled evaluation is ready")
        return
    started = time.monotonic()
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
        output, _ = await process.communicate()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if process.returncode == 0:
        logger.info("the compiled evaluation is ready, after %.1f s", time.monotonic() - started)
    else:
        last_line = output.decode(errors="replace").strip().rpartition("\n")[2]
        logger.warning("compiling ahead failed; the first run will compile: %s", last_line)


def main() -> None:
    """Entry point of the process; its argument is the worker's process id."""
    if not set_parent_death_signal(int(sys.argv[1])):
        return
    os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)  # `os.nice` would add to the worker's niceness
    set_session_niceness(_NICENESS)
    from inference.core.compiling_ahead import compile_all  # noqa: PLC0415  not in the worker, to keep it small

    compile_all()


if __name__ == "__main__":
    main()
