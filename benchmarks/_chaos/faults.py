"""The faults: what each does to the site, and which runs it hits.

| fault | what happens | a kill of |
|---|---|---|
| `child` | SIGKILL for the process of a run | that run |
| `worker` | SIGKILL for a worker; its runs' processes end with it | all runs that it holds |
| `agent` | SIGKILL for a machine's agent | the runs that measure there |
| `web` | SIGKILL for the web process, or for its supervisor too | the runs that measure anywhere |
| `connections` | PostgreSQL ends every connection to the site's database | all runs that are worked on |
| `redis` | SIGKILL for Redis, which comes back empty after a moment | none: it carries wake-up calls alone |
| `freeze` | a worker and its runs' processes stand still until others hold their leases, then go on | none |
| `mail` | messages between agent and site are lost, doubled, swapped; or the connection is cut | none |
| `disk` | the file system with the database has no room for a moment | none |
| `clock` | the time of day jumps for the whole site, and back again | none |

A kill counts for a kind of run if it hit one that was being worked on and needs what was killed.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random

from django.db import connection

from benchmarks._chaos.message_faults import DOUBLE, LOSE, SWAP
from benchmarks._chaos.world import MACHINES, World
from inference.models import Run
from inference.runs.journal import LEASE_TIME
from inference.runs.kinds import machine_id_of
from inference.runs.leases import GRACE_PERIOD
from tests.launched import descendants

KILLS = frozenset(("child", "worker", "agent", "web", "connections"))

_MOMENT = (0.5, 2.0)  # least and most seconds until a fault is mended
_FREEZE_SECONDS = LEASE_TIME.total_seconds() + GRACE_PERIOD + 2.0
"""Long enough for the frozen process to lose its lease."""

_JUMPS = (-3600.0, -30.0, 30.0, 3600.0)  # seconds by which the clock is set
_DELIVERED = ""


@dataclass(frozen=True)
class Fault:
    """One that has happened: what, when (seconds from the beginning), and which runs it hit."""

    name: str
    moment: float
    hit: frozenset[int]
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.name}{f' ({self.detail})' if self.detail else ''} at {self.moment:.1f} s"


@dataclass
class Struck:
    """What a fault did; `mend` undoes it, so many seconds later."""

    hit: Iterable[int] = ()
    detail: str = ""
    mend: Callable[[], None] | None = None
    after: float = 0.0


@dataclass
class Strikes:
    """Does faults to a world; each method returns None where there is nothing to strike at the moment.

    `running`: the runs that are being worked on, as the caller has just read them.
    """

    world: World
    dice: Random
    running: list[Run] = field(default_factory=list)

    def on_run(self) -> dict[str, int]:
        """Faults that are aimed at a run, with how often one is chosen for each other's."""
        usual = {"child": 6, "worker": 2, "agent": 2, "web": 1}
        return usual | ({"connections": 3} if self.world.postgresql else {})

    def on_site(self) -> dict[str, int]:
        """Faults of the whole site."""
        weights = {"mail": 5, "freeze": 1}
        weights |= {"redis": 3} if self.world.redis else {}
        weights |= {"disk": 2} if self.world.disk else {}
        return weights | ({"clock": 2} if self.world.clock else {})

    def strike(self, name: str, target: Run | None) -> Struck | None:
        """Let a fault of `on_run` or `on_site` happen."""
        done: Struck | None = getattr(self, f"_{name}")(target)
        return done

    def _child(self, target: Run) -> Struck | None:
        child = self.world.child_of(target)
        if child is None:
            return None
        os.kill(child, signal.SIGKILL)
        return Struck([target.pk])

    def _worker(self, target: Run) -> Struck | None:
        part = self.world.worker_of(target)
        if part is None:
            return None
        hit = [run.pk for run in self.running if run.worker == target.worker]
        part.kill()
        return Struck(hit, part.name)

    def _agent(self, target: Run) -> Struck | None:
        measured_on = machine_id_of(target.config)
        name = next((machine for machine in MACHINES if self.world.machine(machine).pk == measured_on), None)
        if name is None:
            return None
        self.world.agents[name].kill()
        return Struck([run.pk for run in self.running if machine_id_of(run.config) == measured_on], name)

    def _web(self, target: Run) -> Struck | None:
        """Kill the web process, alone or with its supervisor: that hits all runs that measure."""
        if machine_id_of(target.config) is None:
            return None
        part = self.world.web
        pids = [pid for pid, command in descendants(part.pid).items() if "daphne" in command]
        alone = bool(pids) and self.dice.random() < 0.5
        if alone:
            os.kill(pids[0], signal.SIGKILL)
        else:
            part.kill()
        hit = [run.pk for run in self.running if machine_id_of(run.config) is not None]
        return Struck(hit, "its supervisor starts it again" if alone else "with its supervisor")

    def _connections(self, target: Run) -> Struck:
        assert self.world.postgresql is not None
        ended = self.world.postgresql.cut_connections(self.world.database_name)
        connection.close()  # ours is one of them
        return Struck([run.pk for run in self.running], f"{ended} of them")

    def _redis(self, target: None) -> Struck | None:
        redis = self.world.redis
        if redis is None or not redis.answers():
            return None
        redis.end(signal.SIGKILL)
        return Struck(mend=redis.start, after=self.dice.uniform(*_MOMENT))

    def _freeze(self, target: None) -> Struck | None:
        part = self.dice.choice(self.world.workers)
        if not part.runs():
            return None
        still = [part.pid, *descendants(part.pid)]
        _signal(still, signal.SIGSTOP)
        return Struck(detail=part.name, mend=lambda: _signal(still, signal.SIGCONT), after=_FREEZE_SECONDS)

    def _mail(self, target: None) -> Struck:
        name = self.dice.choice(MACHINES)
        if self.dice.random() < 0.3 and self.world.message_faults.cut(self.world.tokens[name]):
            return Struck(detail=f"cut to {name}")
        plans = [self.dice.choices([_DELIVERED, LOSE, DOUBLE, SWAP], k=3) for _ in range(2)]
        self.world.message_faults.plan(self.world.tokens[name], *plans)
        deeds = "/".join(",".join(deed or "ok" for deed in plan) for plan in plans)
        return Struck(detail=f"{name}: {deeds}")

    def _disk(self, target: None) -> Struck | None:
        disk = self.world.disk
        if disk is None:
            return None
        disk.fill()
        return Struck(mend=disk.clear, after=self.dice.uniform(*_MOMENT))

    def _clock(self, target: None) -> Struck | None:
        clock = self.world.clock
        if clock is None:
            return None
        jump = self.dice.choice(_JUMPS)
        clock.set(jump)
        return Struck(detail=f"{jump:+.0f} s", mend=lambda: clock.set(0), after=self.dice.uniform(3.0, 6.0))


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
