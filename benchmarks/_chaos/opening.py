"""Starts a site for a run of chaos, with what its database needs, and ends all of it."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks._chaos.message_faults import FaultyMessages
from benchmarks._chaos.scarce import Clock, NotHereError, SmallDisk
from benchmarks._chaos.world import SQLITE, Part, World
from tests.servers import PostgreSQL, Redis, free_port

WORKERS = 2
JOBS = 2
"""Inferences that each worker does at a time; measuring and short runs have slots beside them."""

_PREPARE_SECONDS = 600.0
_DISK_MEGABYTES = 192


@dataclass(frozen=True)
class Wanted:
    """What a site is to be like.

    `broken`: what is broken in it on purpose (`broken`). `clock`, `disk`: whether its clock can be set
    and its disk filled. `logs`: where to keep what its processes say.
    """

    database: str = SQLITE
    broken: str = ""
    clock: bool = False
    disk: bool = False
    logs: Path | None = None


@contextmanager
def opened(wanted: Wanted) -> Iterator[World]:
    """A site that is up, with Django of this process set up for its database: once per process.

    Raises `tests.servers.NotInstalledError`, and `NotHereError` where the clock cannot be set.
    """
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="pmweb-chaos-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        world = _built(stack, folder, wanted)
        stack.callback(_end, world, wanted.logs)
        world.web.start()
        assert world.web.process is not None
        world.web.process.wait_for("pmweb serves at", _PREPARE_SECONDS)
        world.message_faults.start()
        stack.callback(world.message_faults.stop)
        for worker in world.workers:
            worker.start()
        yield world


def _built(stack: ExitStack, folder: Path, wanted: Wanted) -> World:
    """The parts, none of them started; the servers that they need are."""
    home = folder / "home"
    home.mkdir()
    lacks: dict[str, str] = {}
    disk = _small_disk(stack, home, wanted, lacks)
    clock = Clock(folder / "clock") if wanted.clock else None
    settings = "benchmarks._chaos.broken_settings" if wanted.broken else "pmweb.settings"
    variables = {"DJANGO_SETTINGS_MODULE": settings, "PMWEB_BROKEN": wanted.broken}
    variables |= {"PMWEB_HOME": str(home), "PMWEB_RUNS_PER_USER": "0"}
    servers = None if wanted.database == SQLITE else _servers(stack)
    if servers is not None:
        postgresql, redis, name = servers
        variables |= {**postgresql.environment(name), "PMWEB_REDIS_URL": redis.url}
    _set_up_django(variables)
    variables |= clock.environment if clock else {}
    port = free_port()
    web = Part("web", folder / "web", ("serve", "--port", str(port)), variables)
    workers = [_worker(folder / f"worker-{k}", k, wanted, variables) for k in range(WORKERS)]
    message_faults = FaultyMessages(f"http://127.0.0.1:{port}")
    world = World(wanted.database, folder, variables, web, workers, message_faults, lacks=lacks)
    world.disk, world.clock = disk, clock
    if servers is not None:
        world.postgresql, world.redis, world.database_name = servers
    return world


def _worker(home: Path, number: int, wanted: Wanted, variables: dict[str, str]) -> Part:
    """Those of a spread-out site are on hosts of their own; those beside SQLite share its home."""
    own = {} if wanted.database == SQLITE else {"PMWEB_HOME": str(home / "home")}
    return Part(f"worker {number}", home, ("work", "--jobs", str(JOBS)), {**variables, **own})


def _small_disk(stack: ExitStack, home: Path, wanted: Wanted, lacks: dict[str, str]) -> SmallDisk | None:
    if not wanted.disk:
        return None
    try:
        if wanted.database != SQLITE:
            raise NotHereError("the disk of a database server is its own matter")
        disk = SmallDisk(home, _DISK_MEGABYTES)
    except NotHereError as error:
        lacks["disk"] = str(error)
        return None
    stack.callback(disk.remove)
    return disk


def _servers(stack: ExitStack) -> tuple[PostgreSQL, Redis, str]:
    """A private PostgreSQL and Redis, and the name of the site's database."""
    postgresql, redis = PostgreSQL(), Redis()
    for server in (postgresql, redis):
        stack.callback(server.remove)
        server.start()
    return postgresql, redis, postgresql.copy()


def _set_up_django(variables: dict[str, str]) -> None:
    os.environ |= variables
    import django

    django.setup()


def _end(world: World, logs: Path | None) -> None:
    from django.db import connections

    connections.close_all()
    for part in world.parts():
        part.kill()
    time.sleep(0.2)  # their children, which the kernel ends with them
    if logs is not None:
        logs.mkdir(parents=True, exist_ok=True)
        for part in world.parts():
            (logs / part.name.replace(" ", "-")).write_text(part.said())
