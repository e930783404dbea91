"""A site with everything real: web process, workers, simulated agents; SQLite, or PostgreSQL and Redis.

Each process is started again when it has died, as a service manager does. The process that has this world
reads and writes the same database, past all that is killed.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from benchmarks._chaos.message_faults import FaultyMessages
from benchmarks._chaos.scarce import Clock, SmallDisk
from tests.launched import descendants
from tests.processes import Process
from tests.servers import PostgreSQL, Redis

if TYPE_CHECKING:
    from inference.models import Machine, Run

T = TypeVar("T")

SQLITE, POSTGRESQL = "sqlite", "postgresql"
DATABASES = (SQLITE, POSTGRESQL)
MACHINES = ("east", "north", "west")
PACE = 150
"""Experiments per second of a simulated agent: a batch takes long enough to be caught."""

_BEARER = "Bearer "


@dataclass
class Part:
    """A process of the site that is started again when it has died."""

    name: str
    home: Path
    command: tuple[str, ...]
    environment: Mapping[str, str]
    process: Process | None = None

    def start(self) -> None:
        """Start it unless it runs."""
        if not self.runs():
            self.process = Process(self.home, *self.command, environment=self.environment)

    def runs(self) -> bool:
        return self.process is not None and not self.process.has_ended

    @property
    def pid(self) -> int:
        """The process id of the last start."""
        assert self.process is not None
        return self.process.pid

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()

    def said(self) -> str:
        """All that it has said, over all starts."""
        log = self.home / "log"
        return log.read_text(errors="replace") if log.exists() else ""


@dataclass
class World:
    """The parts of a site; `chaos.opening` makes one."""

    folder: Path
    variables: dict[str, str]
    web: Part
    workers: list[Part]
    message_faults: FaultyMessages
    agents: dict[str, Part] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    postgresql: PostgreSQL | None = None
    database_name: str = ""
    redis: Redis | None = None
    disk: SmallDisk | None = None
    clock: Clock | None = None
    lacks: dict[str, str] = field(default_factory=dict)

    def parts(self) -> list[Part]:
        return [self.web, *self.workers, *self.agents.values()]

    def revive(self) -> None:
        for part in self.parts():
            part.start()

    def machine(self, name: str) -> Machine:
        """The row of one of the machines."""
        from inference.models import Machine

        return Machine.objects.get(name=name)

    def worker_of(self, run: Run) -> Part | None:
        """The worker that holds a run, if it is one that lives."""
        pid = run.worker.rpartition(":")[2]
        return next((part for part in self.workers if part.runs() and str(part.pid) == pid), None)

    def child_of(self, run: Run) -> int | None:
        """The process id of a run's own process."""
        worker = self.worker_of(run)
        if worker is None:
            return None
        for pid, command in descendants(worker.pid).items():
            if command == f"run {run.pk}":
                return pid
        return None

    def hire_agents(self, truth: str) -> None:
        """Start an agent for each machine; `truth` is the file with the mapping that they simulate."""
        from inference.runs.machines import sessions

        for name in MACHINES:
            token = sessions.create_token(self.machine(name))
            self.tokens[name] = f"{_BEARER}{token}"
            command = ("simulate-agent", "--server", self.message_faults.address, "--mapping", truth)
            file = self.folder / f"token-{name}"
            file.touch(0o600)
            file.write_text(token)
            options = (
                "--token-file",
                str(file),
                "--pace",
                str(PACE),
                "--noise",
                "0.001",
                "--counters",
                "uops",
            )
            home = self.folder / f"agent-{name}"
            self.agents[name] = Part(f"agent {name}", home, (*command, *options), self.variables)
            self.agents[name].start()

    def complaints(self) -> dict[str, int]:
        """How often each part has written a traceback."""
        counted = {part.name: part.said().count("Traceback (most recent") for part in self.parts()}
        return {name: count for name, count in counted.items() if count}


def write_truth(world: World, document: object) -> str:
    """The mapping that the agents simulate, as a file."""
    path = world.folder / "truth.json"
    path.write_text(json.dumps(document))
    return str(path)


def steady(action: Callable[[], T], seconds: float = 60.0) -> T:
    """What a function of the database answers; asked again while the disk is full or a connection was cut."""
    from django.db import OperationalError, connection

    deadline = time.monotonic() + seconds
    while True:
        try:
            return action()
        except OperationalError as error:
            if time.monotonic() > deadline:
                raise
            sys.stderr.write(f"asking again: {error}\n")
            with contextlib.suppress(Exception):
                connection.close()
            time.sleep(0.2)
