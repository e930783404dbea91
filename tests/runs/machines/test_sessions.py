"""Who speaks for a machine, and what its batches go through when connections come and go."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from inference.agent.protocol import Beat
from inference.agent.reading import ProtocolError
from inference.isa.targets import AARCH64, X86
from inference.models import Batch, Machine, MachineReading, Run
from inference.runs import leases, lifecycle
from inference.runs.errors import SessionLostError
from inference.runs.machines import batches, sessions
from inference.runs.machines.sessions import AgentRefusal, open_session
from inference.storage.instruction_sets import new_isa
from tests.runs.machines.answering import FACTS, answers
from tests.runs.machines.fixtures import batch_of, claim, connected, posting, state_of


@pytest.fixture
def posted(home, machine):
    """A batch that waits, with the lease of its run."""
    _, lease = claim(home)
    with posting(lease, machine) as board:
        yield board.post(batch_of("add R, R", "mul R, R")), lease


def take(session, leased, given):
    return batches.store_results(session.machine_id, session.number, leased.batch, leased.fence, given)


def lease_for(session):
    return batches.lease(session.machine_id, session.number)


def test_a_machine_tells_what_its_agent_says_of_it(machine):
    connected(machine)
    machine.refresh_from_db()
    assert (machine.cpu, machine.facts, machine.state) == ("Test CPU 9000", FACTS, "idle")
    assert machine.is_online()


def test_a_machine_that_cannot_measure_says_so_and_gets_nothing(machine, posted):
    session = connected(machine, facts=FACTS | {"unfit": "no executable memory"})
    machine.refresh_from_db()
    assert (machine.state, machine.state_note) == ("unfit", "no executable memory")
    assert lease_for(session) is None


def test_a_second_agent_with_the_token_waits_until_the_first_is_silent(machine):
    connected(machine, "one")
    answer = open_session(machine, "two", FACTS)
    assert answer == AgentRefusal("another agent is connected as lab", retry=True)
    Machine.objects.update(last_seen=timezone.now() - timedelta(seconds=11))
    connected(machine, "two")


def test_a_clock_that_is_set_back_does_not_keep_the_next_agent_out(machine):
    connected(machine, "one")
    Machine.objects.filter(pk=machine.pk).update(last_seen=timezone.now() + timedelta(hours=1))
    assert connected(machine, "two").number == 2


def test_an_agent_of_another_kind_of_core_is_another_machine(machine):
    fast = FACTS | {"core_type": "performance", "core_cpus": "0-15", "other_cores": {"efficient": "16-23"}}
    session = connected(machine, "one", facts=fast)
    sessions.close_session(session)
    slow = FACTS | {"core_type": "efficient", "core_cpus": "16-23", "other_cores": {"performance": "0-15"}}
    answer = open_session(machine, "two", slow)
    assert isinstance(answer, AgentRefusal)
    assert not answer.retry
    assert answer.reason.startswith("lab is the performance cores of its processor, and this agent measures ")
    assert "--core N of 0-15" in answer.reason
    machine.refresh_from_db()
    assert machine.facts["core_type"] == "performance"
    connected(machine, "three", facts=fast)


def test_the_same_agent_takes_over_and_the_connection_before_can_do_nothing(machine, posted):
    old = connected(machine)
    leased = lease_for(old)
    new = connected(machine)
    assert new.number == old.number + 1
    with pytest.raises(SessionLostError):
        sessions.record_beat(old, Beat("idle"))
    assert not take(old, leased, answers(leased.content))
    assert lease_for(old) is None
    sessions.close_session(old)
    machine.refresh_from_db()
    assert machine.is_online()
    again = lease_for(new)
    assert (again.batch, again.fence) == (leased.batch, leased.fence + 1)


def test_an_agent_that_comes_back_keeps_its_batch(machine, posted):
    old = connected(machine)
    leased = lease_for(old)
    sessions.close_session(old)
    assert state_of(leased.batch) == "waiting"
    new = connected(machine, holds=(leased.batch, leased.fence))
    assert new.lease_valid
    assert lease_for(new) is None
    assert take(new, leased, answers(leased.content))
    assert Batch.objects.get().attempts == 1


@pytest.mark.parametrize("holds", [(0, 1), (1, 0), (1, 2), (2**62, 1)])
def test_an_agent_cannot_keep_what_it_does_not_hold(machine, posted, holds):
    number, _ = posted
    sessions.close_session(connected(machine))
    session = connected(machine, holds=(number if holds[0] == 1 else holds[0], holds[1]))
    assert not session.lease_valid
    assert lease_for(session).batch == number


def test_a_batch_that_somebody_else_was_given_meanwhile_is_not_kept(machine, posted):
    first = connected(machine, "one")
    leased = lease_for(first)
    sessions.close_session(first)
    second = connected(machine, "two")
    lease_for(second)
    sessions.close_session(second)
    assert not connected(machine, "one", holds=(leased.batch, leased.fence)).lease_valid


def test_results_count_once_and_under_the_newest_lease_alone(machine, posted):
    session = connected(machine)
    leased = lease_for(session)
    batches.requeue(machine.pk, "for a reason")
    newer = lease_for(session)
    assert not take(session, leased, answers(leased.content, 7.0))
    assert take(session, newer, answers(newer.content, 1.0))
    assert not take(session, newer, answers(newer.content, 9.0))
    row = Batch.objects.get()
    assert [result["cycles"] for result in row.results] == [1.0, 1.0]
    assert row.content == {
        "items": [
            {"id": "add R, R", "terms": [["add R, R", 1]]},
            {"id": "mul R, R", "terms": [["mul R, R", 1]]},
        ]
    }


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda results: results[:1], "2 results are expected"),
        (lambda results: [*results, results[0]], "2 results are expected"),
        (lambda results: [results[0], results[0]], "no result for experiment 'mul R, R'"),
        (lambda results: [results[0], results[1] | {"id": "nop"}], "no result for experiment 'mul R, R'"),
        (lambda results: [results[0], results[1] | {"cycles": -1.0}], "cycles must be > 0"),
        (lambda results: [results[0], results[1] | {"cycles": 1e300}], "cycles 1e\\+300"),
        (lambda results: [results[0], results[1] | {"passes": 2**63}], "passes"),
        (lambda results: {"results": results}, "must be a list"),
        (lambda results: [1, 2], "an object is expected"),
    ],
)
def test_results_that_are_not_one_per_experiment_are_refused(machine, posted, spoil, said):
    session = connected(machine)
    leased = lease_for(session)
    with pytest.raises(ProtocolError, match=said):
        take(session, leased, spoil(answers(leased.content)))
    assert state_of(leased.batch) == "leased"


def test_batches_are_given_out_in_the_order_in_which_they_were_posted(home, machine):
    (_, one), (_, two) = claim(home, "one"), claim(home, "two")
    session = connected(machine)
    with posting(one, machine) as first, posting(two, machine) as second:
        numbers = [first.post(batch_of("s")), second.post(batch_of("s")), first.post(batch_of("s"))]
        given = []
        while leased := lease_for(session):
            given.append(leased.batch)
            take(session, leased, answers(leased.content))
    assert given == numbers


def test_nothing_is_given_out_for_a_run_that_is_over_or_begins_anew(machine, posted):
    _, lease = posted
    session = connected(machine)
    Run.objects.update(lease_token=lease.token + 1)
    assert lease_for(session) is None
    Run.objects.update(lease_token=lease.token, state="paused")
    assert lease_for(session) is None


def test_nothing_is_given_out_for_a_run_that_was_cancelled_or_deleted(machine, posted):
    session = connected(machine)
    Run.objects.update(state="cancelled")
    assert lease_for(session) is None
    Run.objects.all().delete()
    assert lease_for(session) is None
    assert not Batch.objects.exists()


def test_what_is_being_measured_is_wanted_until_the_run_is_over(machine, posted):
    _, lease = posted
    session = connected(machine)
    leased = lease_for(session)
    wanted = (session.number, leased.batch, leased.fence)
    assert batches.is_awaited(*wanted)
    leases.requeue(lease, "its process died", is_attempt=True)
    assert batches.is_awaited(*wanted)
    lifecycle.cancel(Run.objects.get())
    assert not batches.is_awaited(*wanted)


def test_a_batch_that_never_comes_back_is_given_up(machine, posted):
    for _ in range(batches.MAX_ATTEMPTS):
        session = connected(machine)
        assert lease_for(session) is not None
        sessions.close_session(session)
    assert lease_for(connected(machine)) is None
    row = Batch.objects.get()
    assert row.state == "failed"
    assert row.note == "given up after 5 attempts; the last time, the connection to the agent ended"


def test_a_sign_of_life_tells_how_the_machine_is_doing(machine):
    session = connected(machine)
    Machine.objects.update(last_seen=timezone.now() - timedelta(minutes=1))
    sessions.record_beat(
        session, Beat("contended", noise=0.25, ghz=2.5, rate=80.0, note="add is slow\ud800\n")
    )
    machine.refresh_from_db()
    assert (machine.state, machine.state_note) == ("contended", "add is slow?")
    assert (machine.noise, machine.ghz, machine.rate) == (0.25, 2.5, 80.0)
    assert machine.is_online()


def test_readings_are_kept_every_ten_seconds(machine):
    session = connected(machine)
    for k in range(3):
        sessions.record_beat(session, Beat("idle", noise=k / 100))
        sessions.record_beat(session, Beat("idle", noise=0.99))
        MachineReading.objects.update(at=timezone.now() - timedelta(seconds=11))
    assert list(machine.readings.values_list("noise", flat=True)) == [0.0, 0.01, 0.02]


def test_old_readings_become_sparse_keep_the_worst_and_end(machine):
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    states = {timedelta(hours=7, seconds=-30): "contended", timedelta(days=3, seconds=-90): "unfit"}

    def kept(age: timedelta, count: int, step: timedelta) -> int:
        times = [now - age + k * step for k in range(count)]
        MachineReading.objects.bulk_create(
            MachineReading(machine=machine, at=at, state=states.get(now - at, "idle")) for at in times
        )
        sessions.thin_readings(machine.pk, now)
        return machine.readings.filter(at__gte=times[0], at__lte=times[-1]).count()

    ten = timedelta(seconds=10)
    assert kept(timedelta(hours=5), 60, ten) == 60
    assert kept(timedelta(hours=7), 60, ten) == 5
    assert kept(timedelta(days=3), 120, ten) == 2
    assert kept(timedelta(days=15), 10, ten) == 0
    assert sorted(machine.readings.exclude(state="idle").values_list("state", flat=True)) == [
        "contended",
        "unfit",
    ]


def test_the_answers_of_known_blocks_stand_among_the_facts(machine):
    session = connected(machine)
    sessions.record_beat(session, Beat("idle", checks={"additions": (0.251, 0.25), "loads": (0.5, None)}))
    machine.refresh_from_db()
    assert machine.facts == FACTS | {"checks": {"additions": [0.251, 0.25], "loads": [0.5, None]}}


def test_a_machine_whose_agent_left_is_offline_and_keeps_what_it_last_said(machine):
    session = connected(machine)
    sessions.record_beat(session, Beat("contended", note="busy"))
    sessions.close_session(session)
    machine.refresh_from_db()
    assert not machine.is_online()
    assert (machine.last_seen, machine.state, machine.state_note) == (None, "contended", "busy")


def test_batches_of_runs_that_are_over_are_swept(machine, posted):
    _, lease = posted
    session = connected(machine)
    leases.finish(lease, lambda: ({}, []))
    sessions.record_beat(session, Beat("idle"))
    assert not Batch.objects.exists()


def test_a_token_lets_in_until_it_is_revoked(machine):
    plain = sessions.create_token(machine)
    assert plain not in str(machine.tokens.values())
    assert sessions.machine_of(plain) == machine
    assert sessions.machine_of(plain + "x") is None
    assert sessions.machine_of("") is None
    session = connected(machine)
    sessions.revoke(machine.tokens.get())
    assert sessions.machine_of(plain) is None
    with pytest.raises(SessionLostError):
        sessions.require_current(session)


def test_a_machine_that_was_removed_speaks_no_more(machine):
    session = connected(machine)
    Machine.objects.all().delete()
    with pytest.raises(SessionLostError):
        sessions.record_beat(session, Beat("idle"))
    assert open_session(machine, "one", FACTS) == AgentRefusal(
        "this machine has been removed from the site", False
    )


def test_a_new_machine_takes_the_instruction_set_of_its_first_agent_and_keeps_it(db, monkeypatch):
    x86, arm = (new_isa(name, ["nop"], "a test") for name in (X86, AARCH64))
    monkeypatch.setattr(sessions, "SUPPLIED", {X86: lambda: (x86, False), AARCH64: lambda: (arm, False)})
    machine = Machine.objects.create(name="board", kind="agent", isa=x86)
    connected(machine, "one", facts=FACTS | {"isa": AARCH64})
    machine.refresh_from_db()
    assert machine.isa == arm
    Machine.objects.update(last_seen=None)
    answer = open_session(machine, "two", FACTS | {"isa": X86})
    assert isinstance(answer, AgentRefusal)
    assert "is a machine of AArch64" in answer.reason
    connected(machine, "one")  # an agent that does not say is let in as before


def test_a_machine_with_a_set_of_its_own_keeps_it(machine):
    before = machine.isa
    connected(machine, facts=FACTS | {"isa": AARCH64})
    machine.refresh_from_db()
    assert machine.isa == before
