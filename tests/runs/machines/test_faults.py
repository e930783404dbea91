"""Measuring runs with every process real, and killed: site, worker, run and a simulated agent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from datetime import timedelta

import pytest
from django.utils import timezone

from inference.formats.mapping_json import write_mapping_json
from inference.measuring.remote import BATCH_SIZE
from inference.measuring.simulated import SimulatedProcessor
from inference.models import Batch, ExperimentSet, Machine, Measurement, Run
from inference.runs import lifecycle
from inference.runs.machines import sessions
from inference.storage.rows import load_measurements
from tests.runs.agents import TRUTH, make_machine
from tests.runs.fixtures import child_of, numbers, payloads, state, wait_for
from tests.runs.machines.fixtures import wait_until_online

NOISE = 0.005
MIXES = 400


@pytest.fixture
def machine(home) -> Machine:
    return make_machine()


@pytest.fixture
def start_agent(home, machine, web):
    """Start a simulated agent of the machine; the site ends it with the test."""
    path = home.home / "truth.json"
    path.write_text(json.dumps(write_mapping_json(TRUTH, name="truth", isa=machine.isa.name)))
    token = home.home / "token"
    token.write_text(sessions.create_token(machine))
    token.chmod(0o600)

    def start(pace: float) -> subprocess.Popen:
        return home.manage(
            "simulate-agent",
            *("--server", web.address, "--token-file", str(token), "--mapping", str(path)),
            *("--noise", str(NOISE), "--pace", str(pace)),
        )

    return start


def submit(machine: Machine, name: str) -> Run:
    schemes = list(machine.isa.schemes.filter(text__in=TRUTH.usage).values_list("pk", flat=True))
    config = {"machine": machine.pk, "schemes": schemes, "plan": "mixes", "mixes": MIXES, "length": 7}
    return lifecycle.submit("measure", config, name)


class Watched:
    """A run and what became of its batches, which are gone when it is over."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.leases: dict[int, int] = {}

    def look(self) -> None:
        rows = Batch.objects.filter(run=self.run).values_list("pk", "size", "attempts")
        self.leases |= {pk: size * attempts for pk, size, attempts in rows}

    def stored(self) -> int:
        self.look()
        return stored(self.run)

    def goes_on(self) -> None:
        """Wait for new results, and then for a batch in the hands of the agent."""
        before = self.stored()
        wait_for(lambda: self.stored() > before or state(self.run) in Run.FINAL)
        wait_for(lambda: self.is_measured() or state(self.run) in Run.FINAL)
        assert self.run.state == "running", "it was over before the next fault: let it measure more slowly"

    def is_measured(self) -> bool:
        self.look()
        return Batch.objects.filter(run=self.run, state="leased").exists()

    def is_over(self) -> bool:
        self.look()
        return state(self.run) in Run.FINAL


def test_agent_run_worker_and_web_are_killed_and_nothing_is_lost_or_stored_twice(
    home, machine, web, start_agent
):
    agent = start_agent(pace=15)
    wait_until_online(machine)
    watched = Watched(submit(machine, "survivor"))
    run = watched.run
    worker = home.worker()

    watched.goes_on()
    agent.kill()
    agent.wait()
    start_agent(pace=15)

    watched.goes_on()
    os.kill(wait_for(lambda: child_of(worker, run)), signal.SIGKILL)

    watched.goes_on()
    web.kill()
    web.start()

    watched.goes_on()
    worker.kill()
    worker.wait()
    home.worker()
    Run.objects.filter(pk=run.pk).update(lease_until=timezone.now() - timedelta(seconds=1))

    wait_for(watched.is_over)
    assert (run.state, run.error) == ("done", "")
    assert numbers(run) == list(range(1, len(numbers(run)) + 1))
    made = ExperimentSet.objects.get(run=run)
    results = load_measurements(made)
    assert len(results) == len({result.experiment for result in results}) == MIXES
    undisturbed = SimulatedProcessor(TRUTH, noise=NOISE)
    asked = [result.experiment for result in results]
    assert [result.cycles for result in results] == [each.cycles for each in undisturbed.measure(asked)]
    kills = 4  # the agent keeps its batch when the web process dies, unless a busy computer is back too late
    assert sum(watched.leases.values()) <= MIXES + kills * BATCH_SIZE


def test_a_run_waits_for_its_machine_and_ctrl_c_stops_the_agent_and_tells_what_is_kept(
    home, machine, start_agent
):
    command = home.manage(
        *("measure", "--machine", "box", "--schemes", "all", "--name", "mine"),
        *("--plan", "mixes", "--mixes", "200", "--length", "7"),
    )
    said = home.home / "log-0"
    wait_for(lambda: "waiting for box: it is offline" in said.read_text())
    run = Run.objects.get(name="mine")
    assert payloads(run, "waiting")[-1]["text"] == "waiting for box: it is offline"
    start_agent(pace=5)  # five seconds for the first batch, twenty for the second
    wait_for(lambda: stored(run) and now(machine).state == "measuring")
    assert payloads(run, "waiting")[-1]["text"] == ""
    command.send_signal(signal.SIGINT)
    wait_for(lambda: now(machine).state == "idle", seconds=18)
    assert now(machine).is_online()
    assert command.wait(60) == 1
    assert state(run) == "cancelled"
    kept = f"experiment set 'mine' keeps what was measured: {stored(run)} experiments"
    assert kept in said.read_text()


def stored(run: Run) -> int:
    return Measurement.objects.filter(experiment_set__run=run).count()


def now(machine: Machine) -> Machine:
    machine.refresh_from_db()
    return machine
