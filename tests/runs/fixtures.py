"""A site on a real SQLite file: this process and those it starts see the same rows."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from asgiref.sync import SyncToAsync
from django.conf import settings
from django.db import connections

from inference.models import Run, RunEvent
from inference.runs import leases, lifecycle
from inference.runs.fork_server import StopRequests, execute
from inference.runs.kinds import RUN_KINDS
from tests.launched import descendants
from tests.prepared import DATABASE, migrated_file
from tests.runs.counting.job import COUNTING


def environment(home: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PMWEB_HOME": str(home),
        "DJANGO_SETTINGS_MODULE": "tests.runs.site_settings",
    }


@pytest.fixture(scope="session")
def migrated(tmp_path_factory):
    """A freshly migrated database file, to be copied."""
    return migrated_file(tmp_path_factory)


@dataclass
class Site:
    """A database file with the processes that work on it."""

    home: Path
    processes: list[subprocess.Popen] = field(default_factory=list)

    def manage(self, *arguments: str) -> subprocess.Popen:
        process = subprocess.Popen(
            [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments],
            env=environment(self.home),
            stdout=subprocess.PIPE,
            stderr=(self.home / f"log-{len(self.processes)}").open("wb"),
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    def worker(self, jobs: int = 1) -> subprocess.Popen:
        return self.manage("work", "--jobs", str(jobs))

    def count(self, name: str, **config) -> Run:
        return lifecycle.submit("count", config, name)

    def stop(self):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()


@contextmanager
def connected_site(home: Path) -> Iterator[Site]:
    """A site on the default database as the settings name it now; afterwards all is as it was."""
    close_worker_thread_connections()  # an earlier test may have left one to another database
    original = connections["default"]
    connections["default"] = connections.create_connection("default")
    made = Site(home)
    try:
        yield made
    finally:
        made.stop()
        close_worker_thread_connections()
        connections["default"].close()
        connections["default"] = original


@contextmanager
def opened(migrated: Path, home: Path, blocker):
    """This process's default database becomes a file of its own, with the settings of the real one."""
    shutil.copy(migrated, home / DATABASE)
    with pytest.MonkeyPatch.context() as patch, blocker.unblock():
        patch.setitem(RUN_KINDS, "count", COUNTING)
        patch.setenv("PMWEB_HOME", str(home))
        patch.setenv("DJANGO_SETTINGS_MODULE", "tests.runs.site_settings")
        patch.setitem(connections.settings["default"], "NAME", home / DATABASE)
        with connected_site(home) as made:
            yield made


@pytest.fixture
def site(migrated, tmp_path, django_db_blocker):
    """A site of its own for one test, without a worker."""
    with opened(migrated, tmp_path, django_db_blocker) as made:
        yield made


@pytest.fixture(scope="module")
def staffed(migrated, tmp_path_factory, django_db_blocker):
    """A site for the tests of a module, with one worker that does three runs at a time."""
    with opened(migrated, tmp_path_factory.mktemp("staffed"), django_db_blocker) as made:
        made.worker(jobs=3)
        yield made


def close_worker_thread_connections():
    """The thread in which async code uses the ORM keeps its connection to the file otherwise."""
    SyncToAsync.single_thread_executor.submit(forget_connection).result()


def forget_connection():
    """Let the calling thread connect anew, to whatever the settings say now."""
    if hasattr(connections._connections, "default"):
        connections["default"].close()
        del connections["default"]


def wait_for(condition, seconds: float = 180.0):
    """The condition's first true value; fails with its last one after so many seconds."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited {seconds} s, still {value!r}"
        time.sleep(0.05)
    return value


def state(run: Run) -> str:
    run.refresh_from_db()
    return run.state


def done_with_interruptions(run: Run, patience: int, most: int):
    """Carry a submitted run out in attempts, of which the first `most` are stopped after a few questions."""
    stops = 0
    while state(run) != "done":
        lease = leases.claim(f"w{stops}")

        class Impatient(StopRequests):
            calls = 0

            def __call__(self):
                self.calls += 1
                return "stop" if self.calls > patience else super().__call__()

        execute(lease, Impatient(lease) if stops < most else StopRequests(lease))
        stops += 1
        assert stops < 2 * most + 2, run.error
    assert stops > most // 2, "the run was meant to be interrupted"


def reached(run: Run, step: int) -> bool:
    """Whether the journal tells of this step."""
    return any(p["number"] >= step for p in payloads(run, "step"))


def hurry(run: Run):
    """Let what is left of a counting run, at its next start, take no time."""
    run.refresh_from_db()
    Run.objects.filter(pk=run.pk).update(config=run.config | {"pause": 0.0})


def payloads(run: Run, kind: str) -> list[dict]:
    rows = RunEvent.objects.filter(run=run, kind=kind).order_by("seq")
    return list(rows.values_list("payload", flat=True))


def numbers(run: Run) -> list[int]:
    return list(RunEvent.objects.filter(run=run).order_by("seq").values_list("seq", flat=True))


def assert_journal_is_whole(run: Run, steps: int):
    """Numbers without gaps, every step told exactly once and in order."""
    assert numbers(run) == list(range(1, len(numbers(run)) + 1))
    assert [p["number"] for p in payloads(run, "step")] == list(range(1, steps + 1))


def child_of(worker: subprocess.Popen, run: Run) -> int | None:
    """The id of the process in which a worker does a run."""
    return process_below(worker, f"run {run.pk}")


def process_below(worker: subprocess.Popen, called: str) -> int | None:
    """The id of a process that a worker has started, whose name or command line has this at its end."""
    ids = (pid for pid, command in descendants(worker.pid).items() if command.rstrip().endswith(called))
    return next(ids, None)


def status(process: Path) -> list[str]:
    """State, parent and so on: what /proc says behind the name."""
    return (process / "stat").read_text().rpartition(")")[2].split()
