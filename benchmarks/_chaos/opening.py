"""Starts a site for a run of chaos, with what its database needs, and ends all of it."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks._chaos.message_faults import FaultyMessages
from benchmarks._chaos.scarce import Clock, NotHereError, SmallDisk
from benchmarks._chaos.world import POSTGRESQL, Part, World
from tests.servers import PostgreSQL, Redis, free_port

WORKERS = 2
JOBS = 2
"""Inferences that each worker does at a time; measuring and short runs have slots beside them."""

_PREPARE_SECONDS = 600.0  # until the site serves on an empty database
_DISK_MEGABYTES = 192  # small enough to be filled at once


@contextmanager
def opened(options: Namespace) -> Iterator[World]:
    """A site that is up, with Django of this process set up for its database: once per process.

    `options` are those of `python -m benchmarks._chaos`. Raises `tests.servers.NotInstalledError`, and
    `NotHereError` where the clock cannot be set.
    """
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="pmweb-chaos-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        world = _built(stack, folder, options)
        stack.callback(_end, world, options.logs)
        world.web.start()
        assert world.web.process is not None
        world.web.process.wait_for("pmweb serves at", _PREPARE_SECONDS)
        world.message_faults.start()
        stack.callback(world.message_faults.stop)
        for worker in world.workers:
            worker.start()
        yield world


def _built(stack: ExitStack, folder: Path, options: Namespace) -> World:
    """The parts, none of them started; the servers that they need are."""
    home = folder / "home"
    disk, lacks = (None, {}) if options.only_kills else _small_disk(stack, home, options.database)
    home.mkdir(exist_ok=True)
    variables = {
        "DJANGO_SETTINGS_MODULE": "pmweb.settings",
        "PMWEB_HOME": str(home),
        "PMWEB_RUNS_PER_USER": "0",
    }
    postgresql, redis, database_name = None, None, ""
    if options.database == POSTGRESQL:
        postgresql, redis = PostgreSQL(), Redis()
        for server in (postgresql, redis):
            stack.callback(server.remove)
            server.start()
        database_name = postgresql.copy()
        variables |= {**postgresql.environment(database_name), "PMWEB_REDIS_URL": redis.url}
    _set_up_django(variables)
    clock = Clock(folder / "clock") if options.clock else None
    variables |= clock.environment if clock else {}
    port = free_port()
    workers = []
    for number in range(WORKERS):
        place = folder / f"worker-{number}"
        # Those of a spread-out site are on hosts of their own; those beside SQLite share its home.
        own = {"PMWEB_HOME": str(place / "home")} if options.database == POSTGRESQL else {}
        command = ("work", "--jobs", str(JOBS))
        workers.append(Part(f"worker {number}", place, command, {**variables, **own}))
    return World(
        folder=folder,
        variables=variables,
        web=Part("web", folder / "web", ("serve", "--port", str(port)), variables),
        workers=workers,
        message_faults=FaultyMessages(f"http://127.0.0.1:{port}"),
        postgresql=postgresql,
        database_name=database_name,
        redis=redis,
        disk=disk,
        clock=clock,
        lacks=lacks,
    )


def _small_disk(stack: ExitStack, home: Path, database: str) -> tuple[SmallDisk | None, dict[str, str]]:
    """A disk for the database, or why there is none."""
    if database == POSTGRESQL:
        return None, {"disk": "the disk of a database server is its own matter"}
    try:
        disk = SmallDisk(home, _DISK_MEGABYTES)
    except NotHereError as error:
        return None, {"disk": str(error)}
    stack.callback(disk.remove)
    return disk, {}


def _set_up_django(variables: dict[str, str]) -> None:
    os.environ |= variables
    import django

    django.setup()


def _end(world: World, logs: Path | None) -> None:
    """Kill all parts of a site and keep what they have written, in `logs` if given."""
    from django.db import connections

    connections.close_all()
    for part in world.parts():
        part.kill()
    time.sleep(0.2)  # their children, which the kernel ends with them
    if logs is not None:
        logs.mkdir(parents=True, exist_ok=True)
        for part in world.parts():
            (logs / part.name.replace(" ", "-")).write_text(part.said())
