"""Workers with real processes on a real database file: starting, dying, stopping."""

from __future__ import annotations

import asyncio
import os
import signal
from datetime import timedelta
from pathlib import Path

import pytest
from channels.layers import InMemoryChannelLayer
from django.utils import timezone

from inference.core.compiling_ahead import compile_all
from inference.models import ISA, ExperimentSet, Run, RunCheckpoint, Upload
from inference.runs import lifecycle
from inference.runs import worker as worker_module
from inference.runs.journal import Lease
from inference.runs.worker import RunWorker
from inference.storage.instruction_sets import new_isa
from tests.launched import is_alive
from tests.runs.counting.job import counted
from tests.runs.fixtures import (
    assert_journal_is_whole,
    child_of,
    hurry,
    payloads,
    process_below,
    reached,
    state,
    status,
    wait_for,
)


def expire_lease(run):
    """As if ten seconds had passed since the last heartbeat."""
    Run.objects.filter(pk=run.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


def test_runs_are_done_side_by_side_and_each_exactly_once(site):
    runs = [site.count(f"run {k}", steps=4, pause=0.05) for k in range(3)]
    site.worker(jobs=2)
    site.worker(jobs=1)
    wait_for(lambda: all(state(run) == "done" for run in runs))
    for run in runs:
        assert run.result["value"] == counted(4)
        assert_journal_is_whole(run, 4)
        assert [p["state"] for p in payloads(run, "state")] == ["queued", "running", "done"]
        assert run.busy_seconds > 0
    assert ISA.objects.count() == 3


def test_an_import_is_done_while_a_long_run_has_the_worker_s_only_slot(site):
    new_isa("toy", ["a", "b"], "a test")
    upload = Upload.objects.create(file_name="mine.csv", beginning=b"experiment,cycles\na,1.0\n", sha256="0")
    long = site.count("long", steps=100_000, pause=0.05)
    site.worker(jobs=1)
    wait_for(lambda: reached(long, 1))
    waiting = site.count("next", steps=1)
    run = lifecycle.submit("import", {"upload": upload.pk, "isa": "toy"}, "an import")
    wait_for(lambda: state(run) in Run.FINAL)
    assert (run.state, run.error) == ("done", "")
    assert ExperimentSet.objects.get().measurements.count() == 1
    assert (state(long), state(waiting)) == ("running", "queued")


def test_a_run_goes_on_from_its_checkpoint_when_worker_and_child_are_killed(site):
    run = site.count("survivor", steps=400, pause=0.05)
    worker = site.worker()
    wait_for(lambda: reached(run, 5) and RunCheckpoint.objects.filter(run=run).exists())
    child = child_of(worker, run)
    worker.kill()
    worker.wait()
    wait_for(lambda: not is_alive(child))
    assert state(run) == "running"
    hurry(run)
    expire_lease(run)
    site.worker()
    wait_for(lambda: state(run) == "done")
    assert run.result["value"] == counted(400)
    assert_journal_is_whole(run, 400)
    assert run.lease_token == 2
    assert ISA.objects.count() == 1


def test_a_run_gives_way_as_far_as_the_environment_says(site, monkeypatch):
    monkeypatch.setenv("PMWEB_RUN_NICENESS", "7")
    run = site.count("nice", steps=100_000, pause=0.05)
    worker = site.worker()
    wait_for(lambda: reached(run, 1))
    nicer = os.getpriority(os.PRIO_PROCESS, child_of(worker, run)) - os.getpriority(
        os.PRIO_PROCESS, worker.pid
    )
    assert nicer == 7


def test_a_stopped_worker_puts_its_run_back_with_the_checkpoint(site):
    run = site.count("handover", steps=400, pause=0.05)
    first = site.worker()
    wait_for(lambda: reached(run, 4))
    first.terminate()
    assert first.wait(60) == 0
    assert state(run) == "queued"
    assert run.attempts == 0
    assert RunCheckpoint.objects.filter(run=run).exists()
    hurry(run)
    site.worker()
    wait_for(lambda: state(run) == "done")
    assert run.result["value"] == counted(400)
    assert_journal_is_whole(run, 400)


def compiling(worker) -> int | None:
    """The process that compiles ahead for a worker."""
    return process_below(worker, f"inference.runs.warming {worker.pid}")


def test_a_worker_compiles_ahead_once_and_says_so(site):
    compile_all()
    site.worker()
    log = site.home / "log-0"
    wait_for(lambda: b"the compiled evaluation is ready\n" in log.read_bytes())
    assert log.read_bytes().count(b"compiled evaluation") == 1


def test_compiling_ahead_delays_no_run_and_dies_with_its_worker(site, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "empty"))  # so that it takes long
    run = site.count("quick", steps=1)
    worker = site.worker()
    process = wait_for(lambda: compiling(worker))
    wait_for(lambda: not is_alive(process) or int(status(Path(f"/proc/{process}"))[16]) == 19)
    wait_for(lambda: state(run) == "done")
    assert is_alive(process)
    worker.kill()
    worker.wait()
    wait_for(lambda: not is_alive(process))


def test_a_worker_that_is_stopped_leaves_nothing_compiling(site, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "empty"))
    worker = site.worker()
    process = wait_for(lambda: compiling(worker))
    worker.terminate()
    assert worker.wait(60) == 0
    wait_for(lambda: not is_alive(process))
    assert b"Traceback" not in (site.home / "log-0").read_bytes()


def test_ctrl_c_stops_a_worker_without_a_traceback(site):
    worker = site.worker()
    log = site.home / "log-0"
    wait_for(lambda: b"is ready" in log.read_bytes())
    worker.send_signal(signal.SIGINT)
    assert worker.wait(60) == 0
    assert b"Traceback" not in log.read_bytes()


async def test_a_fault_in_supervising_one_run_puts_the_others_back_and_ends_the_worker(monkeypatch):
    waiting = [Lease(number, 1, "w") for number in (1, 2)]
    put_back = []

    class FaultySupervisor:
        def __init__(self, lease, stopping, _processes):
            self.lease, self.stopping = lease, stopping

        async def run(self):
            if self.lease.run_id == 1:
                raise RuntimeError("a fault")
            await self.stopping.wait()
            put_back.append(self.lease.run_id)

    async def claim(_worker, lanes):
        return (lanes[0], waiting.pop(0)) if waiting else None

    monkeypatch.setattr(worker_module, "RunSupervisor", FaultySupervisor)
    monkeypatch.setattr(RunWorker, "_claim", claim)
    worker = RunWorker(None, ["work"], InMemoryChannelLayer(), jobs=2)
    with pytest.raises(RuntimeError, match="a fault"):
        await asyncio.wait_for(worker.handle(), 60)
    assert put_back == [2]
