"""Whose batch a machine measures next where an interactive run comes while a long one measures."""

from __future__ import annotations

import pytest

from inference.models import Run
from inference.runs import leases, lifecycle
from inference.runs.kinds import RUN_KINDS, Lane, RunKind
from inference.runs.machines import batches, sessions
from inference.runs.machines.batches import INTERACTIVE_TURNS
from tests.runs.counting.job import CountJob
from tests.runs.fixtures import wait_for
from tests.runs.machines.answering import answers
from tests.runs.machines.fixtures import (
    AgentProcess,
    batch_of,
    claim,
    connected,
    posting,
    state_of,
    wait_until_online,
)

QUICK = RunKind("quick", "Quick", "Quick", {}, job=CountJob, lane=Lane.INTERACTIVE)


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setitem(RUN_KINDS, "quick", QUICK)


def claimed_quick(name: str):
    run = lifecycle.submit("quick", {}, name)
    return leases.claim("w", only=run.pk)


def measure_next(machine, session) -> str:
    """Measures one batch; the name of its run, "" where none waits."""
    leased = batches.lease(machine.pk, session.number)
    if leased is None:
        return ""
    payload = answers(leased.content, 1.0)
    assert batches.store_results(machine.pk, session.number, leased.batch, leased.fence, payload)
    return Run.objects.get(batches__pk=leased.batch).name


def test_an_interactive_run_is_measured_before_the_next_batch_of_a_long_one(home, machine):
    session = connected(machine)
    _, long_lease = claim(home, "long")
    with posting(long_lease, machine) as long, posting(claimed_quick("quick"), machine) as quick:
        posted = [long.post(batch_of("add R, R")), long.post(batch_of("mul R, R"))]
        assert measure_next(machine, session) == "long"
        quick.post(batch_of("add R, R"))
        assert [measure_next(machine, session) for _ in range(3)] == ["quick", "long", ""]
        assert sorted(long.collect()[0] for _ in posted) == posted
        assert quick.collect()[1][0].cycles == 1.0


def test_a_long_run_goes_on_beside_any_number_of_interactive_ones(home, machine):
    session = connected(machine)
    _, long_lease = claim(home, "long")
    measured = []
    with posting(long_lease, machine) as long, posting(claimed_quick("quick"), machine) as quick:
        for _ in range(3):
            long.post(batch_of("add R, R"))
        for _ in range(3 * INTERACTIVE_TURNS):
            quick.post(batch_of("add R, R"))
        while name := measure_next(machine, session):
            measured.append(name)
            if name == "long" and len(measured) < 3 * INTERACTIVE_TURNS:
                long.post(batch_of("mul R, R"))
    turn = [*["quick"] * INTERACTIVE_TURNS, "long"]
    assert measured[: 2 * len(turn)] == 2 * turn
    assert measured.count("quick") == 3 * INTERACTIVE_TURNS


def test_a_batch_that_was_being_measured_when_the_agent_died_waits_for_its_turn_again(home, machine):
    session = connected(machine)
    _, long_lease = claim(home, "long")
    with posting(long_lease, machine) as long, posting(claimed_quick("quick"), machine) as quick:
        long.post(batch_of("add R, R"))
        assert batches.lease(machine.pk, session.number) is not None  # and its agent dies
        quick.post(batch_of("add R, R"))
        session = connected(machine)
        assert [measure_next(machine, session) for _ in range(3)] == ["quick", "long", ""]
        assert long.collect()[1][0].cycles == quick.collect()[1][0].cycles == 1.0


def test_a_worker_that_dies_loses_the_results_of_neither_run(home, machine):
    session = connected(machine)
    _, long_lease = claim(home, "long")
    quick_lease = claimed_quick("quick")
    with posting(long_lease, machine) as long, posting(quick_lease, machine) as quick:
        long.post(batch_of("add R, R"))
        quick.post(batch_of("mul R, R"))
        assert {measure_next(machine, session), measure_next(machine, session)} == {"long", "quick"}
        for lease in (long_lease, quick_lease):
            leases.requeue(lease, "its process died", is_attempt=True)
    for lease, scheme in ((long_lease, "add R, R"), (quick_lease, "mul R, R")):
        again = leases.claim("w", only=lease.run_id)
        with posting(again, machine) as board:
            assert board.earlier()[scheme].cycles == 1.0


def test_both_runs_outlive_the_agent_and_the_web_process(home, machine, web):
    doomed = AgentProcess(web, sessions.create_token(machine), "--after", "600")
    wait_until_online(machine)
    _, long_lease = claim(home, "long")
    with posting(long_lease, machine) as long, posting(claimed_quick("quick"), machine) as quick:
        posted = [long.post(batch_of("add R, R")), long.post(batch_of("mul R, R"))]
        wait_for(lambda: state_of(posted[0]) == "leased")
        short = quick.post(batch_of("add R, R", "mul R, R"))
        doomed.stop()
        web.kill()
        web.start()
        agent = AgentProcess(web, sessions.create_token(machine))
        try:
            number, results = quick.collect()
            assert (number, [result.cycles for result in results]) == (short, [1.0, 1.0])
            assert sorted(long.collect()[0] for _ in posted) == posted
        finally:
            agent.stop()
