"""Where a run posts batches and waits: what it gets, and what it hears while it waits."""

from __future__ import annotations

import threading
import time

import pytest
from django.db import connection

from inference.agent.protocol import Beat, Result
from inference.core.errors import InterruptedRunError, MeasuringError
from inference.models import Batch, Machine
from inference.runs import leases
from inference.runs.errors import LeaseLostError
from inference.runs.machines import batches, board, sessions
from inference.runs.machines.board import NO_REASON, DatabaseBoard, WaitReason, WaitReporter
from tests.runs.machines.answering import answers
from tests.runs.machines.fixtures import batch_of, claim, connected, deadline, posting, state_of


class Enough:
    """A pulse that stops the run after so many calls."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def __call__(self) -> None:
        self.left -= 1
        if not self.left:
            raise InterruptedRunError("pause")


def serve(machine, session=None, cycles=1.0) -> int:
    """Measure all that waits; how many batches there were."""
    session = session or connected(machine)
    served = 0
    while leased := batches.lease(machine.pk, session.number):
        given = answers(leased.content, cycles)
        assert batches.store_results(machine.pk, session.number, leased.batch, leased.fence, given)
        served += 1
    return served


def take_over(lease):
    """The run's next attempt."""
    leases.requeue(lease, "its process died", is_attempt=True)
    return leases.claim("w", only=lease.run_id)


def test_results_come_under_the_number_of_their_batch(home, machine):
    _, lease = claim(home)
    with posting(lease, machine) as board:
        numbers = [board.post(batch_of("add R, R")), board.post(batch_of("mul R, R"))]
        serve(machine)
        got = dict(board.collect() for _ in numbers)
        assert sorted(got) == numbers
        assert got[numbers[1]] == [Result("mul R, R", "settled", 1.0, 0.0, 2)]
        with pytest.raises(ValueError, match="has been collected"):
            board.collect()


def test_results_wake_the_run_by_the_bell(home, machine, monkeypatch):
    monkeypatch.setattr("inference.runs.machines.board.POLL_INTERVAL", 60.0)
    monkeypatch.setattr("inference.runs.machines.board._PULSE_INTERVAL", 30.0)
    _, lease = claim(home)
    with posting(lease, machine) as board:
        board.post(batch_of("add R, R"))

        def measure():
            serve(machine)
            connection.close()

        thread, rests, woken = threading.Thread(target=measure), board._wait_for_wakeup, []

        def rest_while_it_is_measured():
            thread.start()
            woken.append(rests())
            return woken[-1]

        monkeypatch.setattr(board, "_wait_for_wakeup", rest_while_it_is_measured)
        board.collect()
        thread.join()
    assert woken == [True]


def test_nothing_is_posted_without_the_lease(home, machine):
    _, lease = claim(home)
    with posting(lease, machine) as board:
        take_over(lease)
        with pytest.raises(LeaseLostError):
            board.post(batch_of("add R, R"))
    assert not Batch.objects.exists()


def test_a_batch_that_no_agent_would_take_is_not_posted(home, machine):
    _, lease = claim(home)
    with posting(lease, machine) as board:
        with pytest.raises(ValueError, match="at most 4194304 bytes"):
            board.post(batch_of("add R, R", padding=4 * 2**20))
        with pytest.raises(ValueError, match="distinct ids"):
            board.post(batch_of("add R, R", "add R, R"))
        with pytest.raises(ValueError, match="1 to 512 experiments"):
            board.post(batch_of())


def test_a_stop_gets_through_while_waiting(home, machine):
    _, lease = claim(home)
    with posting(lease, machine, pulse=Enough(8)) as board:
        board.post(batch_of("add R, R"))
        started = time.monotonic()
        with pytest.raises(InterruptedRunError):
            board.collect()
        assert time.monotonic() - started > 0.5


def test_what_was_not_collected_is_withdrawn(home, machine):
    _, lease = claim(home)
    with posting(lease, machine) as board:
        measured, waits = board.post(batch_of("add R, R")), board.post(batch_of("mul R, R"))
        session = connected(machine)
        leased = batches.lease(machine.pk, session.number)
        assert leased.batch == measured
    assert [state_of(number) for number in (measured, waits)] == ["cancelled"] * 2
    assert not batches.is_awaited(session.number, leased.batch, leased.fence)


def test_the_next_attempt_finds_the_results_and_withdraws_the_rest(home, machine):
    _, lease = claim(home)
    dead = DatabaseBoard(lease, machine, deadline(), lambda text, waits: None)
    done = dead.post(batch_of("add R, R"))
    serve(machine, cycles=0.25)
    assert dead.collect()[0] == done
    left = dead.post(batch_of("mul R, R"))
    with posting(take_over(lease), machine) as board:
        assert dict(board.earlier()) == {"add R, R": Result("add R, R", "settled", 0.25, 0.0, 2)}
        assert (state_of(done), state_of(left)) == ("done", "cancelled")
        board.post(batch_of("mul R, R"))
        serve(machine)
        board.collect()
        assert len(board.earlier()) == 1
    with pytest.raises(LeaseLostError):
        dead.collect()
    dead.close()


def test_collected_results_stay_until_the_run_is_over(home, machine):
    _, lease = claim(home)
    with posting(lease, machine) as board:
        number = board.post(batch_of("add R, R"))
        serve(machine)
        board.collect()
    assert state_of(number) == "done"
    leases.finish(lease, lambda: ({}, []))
    batches.delete_finished()
    assert not Batch.objects.exists()


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr("inference.runs.machines.board.POLL_INTERVAL", 0.1)
    monkeypatch.setattr(board, "REPORT_DELAY", 0.0)


def test_a_machine_that_will_never_answer_is_an_error(home, machine, impatient):
    _, lease = claim(home)
    with posting(lease, machine, pulse=Enough(100)) as board:
        board.post(batch_of("add R, R"))
        session = connected(machine)
        sessions.record_beat(session, Beat("unfit", note="code pages are forbidden"))
        with pytest.raises(MeasuringError, match="lab cannot measure: code pages are forbidden"):
            board.collect()
        sessions.record_beat(session, Beat("idle"))
        Batch.objects.update(state="failed", note="given up after 5 attempts")
        with pytest.raises(MeasuringError, match="given up after 5 attempts"):
            board.collect()
        board.post(batch_of("add R, R"))
        Machine.objects.all().delete()
        with pytest.raises(MeasuringError, match="lab has been removed"):
            board.collect()
        with pytest.raises(MeasuringError, match="lab has been removed"):
            board.post(batch_of("add R, R"))


def test_the_user_hears_why_it_takes_long_and_when_that_is_over(home, machine, impatient):
    said: list[tuple[str, bool]] = []
    _, other = claim(home, "the other run")
    _, lease = claim(home)
    with (
        posting(other, machine) as theirs,
        posting(lease, machine, pulse=Enough(10), say=lambda *words: said.append(words)) as board,
    ):
        theirs.post(batch_of("add R, R"))
        board.post(batch_of("mul R, R"))
        _waits(board)
        assert said == [("waiting for lab: it is offline", True)]
        session = connected(machine)
        leased = batches.lease(machine.pk, session.number)
        _waits(board)
        assert said[1:] == [("waiting for lab: it is measuring for 'the other run'", True)]
        sessions.record_beat(session, Beat("contended", note="additions are 12 % slower"))
        _waits(board)
        why = "waiting for lab: it is disturbed by other work (additions are 12 % slower)"
        assert said[2:] == [(why, True)]
        sessions.record_beat(session, Beat("measuring"))
        given = answers(leased.content)
        assert batches.store_results(machine.pk, session.number, leased.batch, leased.fence, given)
        serve(machine, session)
        board.collect()
        assert said[3:] == [("lab is back", False)]


def _waits(board):
    board._pulse = Enough(5)
    with pytest.raises(InterruptedRunError):
        board.collect()
    board._pulse = deadline()


def test_a_reason_is_told_when_it_lasts_and_once():
    now, said = [0.0], []
    teller = WaitReporter("lab", lambda text, waits: said.append(text), clock=lambda: now[0])
    offline, disturbed = WaitReason("offline", "offline!"), WaitReason("disturbed", "disturbed!")
    for seconds, reason in (
        (1.0, offline),
        (1.9, NO_REASON),  # too short to be told
        (3.0, offline),
        (4.9, offline),
        (5.0, offline),
        (9.0, offline),
        (10.0, disturbed),
        (12.0, disturbed),
        (13.0, NO_REASON),
        (15.0, NO_REASON),
        (20.0, NO_REASON),
    ):
        now[0] = seconds
        teller.record_wait(reason)
    assert said == ["offline!", "disturbed!", "lab is back"]
    teller.record_results(NO_REASON)
    assert len(said) == 3
