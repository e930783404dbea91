"""Many at once on PostgreSQL, from several processes: each thing is had by one of them alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection, transaction

from inference.core.experiment import Experiment
from inference.models import ISA, Batch, ExperimentTerm, Machine, Run, RunEvent, Upload
from inference.runs import journal, leases, lifecycle
from inference.runs.errors import ConfigError, DuplicateRunNameError, RunStateError
from inference.runs.machines import batches, sessions
from inference.storage.instruction_sets import new_isa
from inference.storage.names import free_name
from inference.storage.rows import store_experiments
from pmweb.accounts import attempts
from tests.runs.fixtures import assert_journal_is_whole, numbers, wait_for
from tests.runs.machines.fixtures import batch_of, connected, posting

CLAIMER = """
import json, sys, django
django.setup()
from inference.runs import journal, leases
print("ready", flush=True)
sys.stdin.readline()
mine = []
while (lease := leases.claim(sys.argv[1])) is not None:
    for k in range(1, 4):
        journal.append(lease, [("step", {"number": k})], checkpoint=b"x")
    leases.finish(lease, lambda: ({"by": sys.argv[1]}, []))
    mine.append(lease.run_id)
print(json.dumps(mine), flush=True)
"""


@pytest.fixture
def claimers(site):
    """Three processes that wait for the word to claim all that there is."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", CLAIMER, f"claimer {k}"],
            cwd=settings.BASE_DIR,
            env=os.environ.copy(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for k in range(3)
    ]
    yield started
    for process in started:
        process.kill()
        process.communicate()


def test_processes_that_claim_at_once_never_get_the_same_run_and_leave_none(site, claimers):
    runs = [site.count(f"run {k}") for k in range(60)]
    for process in claimers:
        assert process.stdout.readline() == "ready\n"
    for process in claimers:
        process.stdin.write("go\n")
        process.stdin.flush()
    claimed = [json.loads(process.stdout.readline()) for process in claimers]
    assert Counter(number for share in claimed for number in share) == Counter(run.pk for run in runs)
    assert sum(bool(share) for share in claimed) > 1, "one of them was alone: nothing was shown"
    for run in runs:
        run.refresh_from_db()
        assert (run.state, run.lease_token) == ("done", 1)
        assert_journal_is_whole(run, 3)


def at_once(*works):
    """What each returned or raised, begun together in threads with connections of their own."""
    barrier, answers = threading.Barrier(len(works)), [None] * len(works)

    def carry_out(index, work):
        try:
            barrier.wait(30)
            answers[index] = work()
        except Exception as error:  # noqa: BLE001  for the test to judge
            answers[index] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=carry_out, args=pair) for pair in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return answers


def test_a_claim_passes_over_rows_that_others_are_looking_at(site):
    first, second = site.count("first"), site.count("second")
    with transaction.atomic():
        Run.objects.select_for_update().get(pk=first.pk)
        [lease] = at_once(lambda: leases.claim("w"))
        assert lease.run_id == second.pk
    assert leases.claim("w").run_id == first.pk


def test_one_name_is_given_to_one_run_and_the_other_hears_what_is_free(site):
    answers = at_once(*[lambda: lifecycle.submit("count", {}, "the name")] * 4)
    made = [answer for answer in answers if isinstance(answer, Run)]
    refused = [answer for answer in answers if isinstance(answer, DuplicateRunNameError)]
    assert (len(made), len(refused)) == (1, 3), answers
    assert {answer.suggestion for answer in refused} == {"the name (2)"}


def test_a_free_name_is_not_given_away_twice(site):
    def make():
        with transaction.atomic():
            return ISA.objects.create(name=free_name(ISA, "mine")).name

    assert sorted(at_once(*[make] * 4)) == ["mine", "mine (2)", "mine (3)", "mine (4)"]


def test_of_passwords_tried_at_once_no_more_are_looked_at_than_may_be_wrong(site):
    waits = at_once(*[lambda: attempts.count_attempt(attempts.AttemptSource("203.0.113.1"), "ada")] * 12)
    assert sum(wait == timedelta(0) for wait in waits) == attempts.PAIR_THROTTLE.free, waits


def test_the_same_experiments_stored_at_once_are_there_once(site):
    isa = new_isa("toy", [f"i{k}" for k in range(30)], "a test")
    pairs = [Experiment.of({f"i{a}": 1, f"i{b}": 2}) for a in range(30) for b in range(30) if a != b]
    stored = at_once(
        lambda: store_experiments(isa, pairs),
        lambda: store_experiments(isa, pairs[::-1]),
        lambda: store_experiments(isa, pairs[300:] + pairs[:300]),
    )
    assert stored[0] == stored[1] == stored[2], stored
    assert isa.experiments.count() == len(pairs)
    assert ExperimentTerm.objects.count() == 2 * len(pairs)


def test_an_upload_is_imported_by_one_run(site):
    new_isa("toy", ["a"], "a test")
    upload = Upload.objects.create(file_name="mine.csv", beginning=b"experiment,cycles\na,1.0\n", sha256="0")
    config = {"upload": upload.pk, "isa": "toy"}
    answers = at_once(*[lambda k=k: lifecycle.submit("import", config, f"import {k}") for k in range(3)])
    assert sum(isinstance(answer, Run) for answer in answers) == 1, answers
    assert sum(isinstance(answer, ConfigError) for answer in answers) == 2, answers


def test_a_wish_and_the_worker_s_own_changes_never_miss_each_other(site):
    """Cancelled while its worker gives it back: it ends cancelled, by whoever comes second."""
    for k in range(10):
        run = site.count(f"run {k}")
        lease = leases.claim("w", only=run.pk)
        answers = at_once(
            lambda run=run: lifecycle.cancel(Run.objects.get(pk=run.pk)),
            lambda lease=lease: leases.requeue(lease, "a test", is_attempt=False),
        )
        run.refresh_from_db()
        assert run.state == "cancelled", (answers, run.state)
        assert not any(isinstance(answer, RunStateError) for answer in answers)
        assert numbers(run) == list(range(1, len(numbers(run)) + 1))


def test_events_of_several_writers_are_numbered_without_gaps(site):
    run = site.count("a run")
    lease = leases.claim("w")

    def write():
        for k in range(20):
            journal.append(lease, [("log", {"level": "info", "text": str(k)})])

    assert at_once(write, write, write) == [None] * 3
    assert numbers(run) == list(range(1, RunEvent.objects.filter(run=run).count() + 1))
    assert len(numbers(run)) == 62  # and those of the queue and the claim


def test_a_replaced_connection_of_an_agent_gets_no_batch_while_the_new_one_begins(site):
    machine: Machine = sessions.add_machine("lab", new_isa("toy", ["add R, R"], "a test"))
    old = connected(machine)
    run = site.count("a run")
    with posting(leases.claim("w", only=run.pk), machine) as board:
        board.post(batch_of("add R, R"))
        with transaction.atomic():  # a newer connection is about to begin
            Machine.objects.select_for_update().get(pk=machine.pk)
            waiting = threading.Thread(target=lambda: (given.append(lease_by(old)), connection.close()))
            given: list[object] = []
            waiting.start()
            wait_for(waits_for_a_lock, 30)
            Machine.objects.filter(pk=machine.pk).update(session=old.number + 1)
        waiting.join(30)
        assert given == [None]
        assert Batch.objects.get().state == "waiting"


def lease_by(session: sessions.Session):
    return batches.lease(session.machine_id, session.number)


def waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])
