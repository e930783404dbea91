"""What a worker does with the child process of a run: a real worker, real children."""

from __future__ import annotations

import os
import signal
import time
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from inference.models import ISA, Run
from inference.runs import lifecycle
from inference.runs.leases import MAX_ATTEMPTS
from tests.launched import descendants, is_alive
from tests.runs.counting.job import counted
from tests.runs.fixtures import (
    assert_journal_is_whole,
    child_of,
    hurry,
    payloads,
    reached,
    state,
    wait_for,
)


def test_a_killed_child_is_replaced_by_its_worker_at_once(staffed, tmp_path):
    run = staffed.count("phoenix", steps=6, pause=0.05, die_at=3, die_once=str(tmp_path / "died"))
    wait_for(lambda: state(run) == "done")
    assert run.result["value"] == counted(6)
    assert_journal_is_whole(run, 6)
    warnings = [p["text"] for p in payloads(run, "log") if p["level"] == "warning"]
    assert len(warnings) == 1
    assert "SIGKILL" in warnings[0]


def test_a_killed_fork_server_takes_its_runs_along_and_its_worker_starts_another(staffed):
    run = staffed.count("forked", steps=400, pause=0.05)
    worker = staffed.processes[0]
    wait_for(lambda: reached(run, 3))
    child, server = child_of(worker, run), fork_server_of(worker)
    hurry(run)  # before it is started again, which nobody here can hold up
    os.kill(server, signal.SIGTERM)  # for the worker to hear, not for what does its runs
    os.kill(server, signal.SIGKILL)
    wait_for(lambda: not is_alive(child))
    wait_for(lambda: state(run) == "done")
    assert run.result["value"] == counted(400)
    assert_journal_is_whole(run, 400)
    assert worker.poll() is None
    assert fork_server_of(worker) != server


def fork_server_of(worker) -> int:
    """The id of the process that forks the runs of a worker."""
    (found,) = [pid for pid, command in descendants(worker.pid).items() if "manage.py fork-server" in command]
    return found


def test_pause_keeps_the_checkpoint_and_resume_goes_on(staffed):
    run = staffed.count("nap", steps=400, pause=0.05)
    wait_for(lambda: reached(run, 4))
    lifecycle.pause(run)
    wait_for(lambda: state(run) == "paused")
    told = len(payloads(run, "step"))
    time.sleep(0.7)  # a paused run takes no step however long one waits
    assert len(payloads(run, "step")) == told
    hurry(run)
    lifecycle.resume(run)
    wait_for(lambda: state(run) == "done")
    assert run.result["value"] == counted(400)
    assert_journal_is_whole(run, 400)


def test_cancel_ends_a_run_and_even_a_deaf_one_as_well(staffed):
    willing = staffed.count("willing", steps=1000, pause=0.05)
    deaf = staffed.count("deaf", steps=1000, pause=0.05, deaf=True)
    worker = staffed.processes[0]
    wait_for(lambda: reached(willing, 2) and reached(deaf, 2))
    children = [child_of(worker, willing), child_of(worker, deaf)]
    lifecycle.cancel(willing)
    lifecycle.cancel(deaf)
    wait_for(lambda: state(willing) == state(deaf) == "cancelled")
    wait_for(lambda: not any(is_alive(child) for child in children))
    assert worker.poll() is None
    assert not ISA.objects.filter(name__contains="willing").exists()


def test_a_worker_that_lost_its_lease_stops_its_child_and_changes_nothing(staffed):
    run = staffed.count("stolen", steps=1000, pause=0.05, deaf=True)
    worker = staffed.processes[0]
    wait_for(lambda: reached(run, 2))
    child = child_of(worker, run)
    until = timezone.now() + timedelta(seconds=600)  # nobody shall take it from somebody else
    Run.objects.filter(pk=run.pk).update(lease_token=99, lease_until=until, worker="somebody else")
    wait_for(lambda: not is_alive(child))
    run.refresh_from_db()
    told = run.next_seq
    time.sleep(0.6)  # who lost it writes nothing however long one waits
    run.refresh_from_db()
    assert (run.state, run.lease_token, run.worker, run.next_seq) == ("running", 99, "somebody else", told)
    assert worker.poll() is None


def test_a_run_that_kills_its_process_every_time_is_given_up_with_a_clear_text(staffed):
    with transaction.atomic():
        run = staffed.count("poison", steps=5, die_at=0)
        Run.objects.filter(pk=run.pk).update(attempts=MAX_ATTEMPTS - 1)
    wait_for(lambda: state(run) == "failed")
    assert run.error.startswith("given up after 5 attempts without a new checkpoint")
    assert "SIGKILL" in run.error
    assert payloads(run, "state")[-1] == {"state": "failed", "error": run.error.splitlines()[0]}


def test_a_run_that_needs_more_memory_than_allowed_fails_and_says_so(staffed):
    run = staffed.count("glutton", steps=5, hoard_at=2)
    wait_for(lambda: state(run) == "failed")
    assert run.error.startswith("out of memory")
    assert "PMWEB_RUN_MEMORY_MB" in run.error
    assert "Traceback" in run.error
