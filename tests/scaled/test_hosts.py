"""Workers on hosts of their own: one is cut off from the network in the middle of a run, and comes back."""

from __future__ import annotations

import pytest
from django.db import transaction

from inference.models import Run
from inference.runs import lifecycle
from tests.processes import Process
from tests.runs.counting.job import counted
from tests.runs.fixtures import assert_journal_is_whole, hurry, payloads, reached, state, wait_for
from tests.scaled.conftest import opened_on
from tests.scaled.hosts import Host, NoNamespacesError
from tests.servers import NotInstalledError, PostgreSQL, Redis

HOLDER = """
import time
from django.db import transaction
from inference.models import Run
with transaction.atomic():
    Run.objects.select_for_update().get(name="locked")
    print("it is held", flush=True)
    time.sleep(600)
"""

LET_GO = ("lease lost", "is not settled")
"""What a worker says of a run that it lost: whether it, or the run's process, was the first to notice."""


def is_free(run: Run) -> bool:
    """Whether nobody holds the run's row locked."""
    with transaction.atomic():
        return Run.objects.select_for_update(skip_locked=True).filter(pk=run.pk).first() is not None


@pytest.fixture
def hosts(stack) -> list[Host]:
    made = []
    try:
        for _ in range(2):
            made.append(Host())
            stack.callback(made[-1].remove)
    except NoNamespacesError as error:
        pytest.skip(str(error))
    return made


@pytest.fixture
def servers(stack, hosts) -> tuple[PostgreSQL, Redis]:
    """Of their own, since they listen on the cables."""
    listening = ["127.0.0.1", *(host.here for host in hosts)]
    try:
        started = PostgreSQL(*listening), Redis(*listening)
    except NotInstalledError as error:
        pytest.skip(str(error))
    for server in started:
        stack.callback(server.remove)
        server.start()
    return started


def test_a_run_goes_on_elsewhere_when_its_host_is_cut_off_and_nothing_is_done_twice(
    stack, hosts, servers, tmp_path, django_db_blocker
):
    postgresql, redis_server = servers
    database = postgresql.copy()
    site = stack.enter_context(
        opened_on(postgresql, database, tmp_path, django_db_blocker, PMWEB_REDIS_URL=redis_server.url)
    )
    site.manage("migrate", "-v0", "--skip-checks").wait()

    def start(number: int, name: str, *command: str) -> Process:
        """A process on a host, which reaches the servers by its own cable."""
        here = hosts[number].here
        reachable = {"PMWEB_DATABASE_HOST": here, "PMWEB_REDIS_URL": redis_server.url_at(here)}
        process = Process(tmp_path / name, *command, environment=reachable, within=hosts[number].within)
        stack.callback(process.kill)
        return process

    workers = [start(number, f"host-{number}", "work") for number in range(2)]
    for worker in workers:
        worker.wait_for("is ready for")

    run = site.count("travels", steps=400, pause=0.1)
    wait_for(lambda: reached(run, 5))
    run.refresh_from_db()
    [cut_off] = [k for k, worker in enumerate(workers) if run.worker.endswith(f":{worker.pid}")]
    locked = site.count("locked", steps=100_000)
    lifecycle.pause(locked)  # so that nobody claims it
    start(cut_off, "holder", "shell", "-c", HOLDER).wait_for("it is held")
    assert not is_free(locked)

    hosts[cut_off].pull_cable()
    hurry(run)
    wait_for(lambda: state(run) == "done", 120)
    assert any("stopped answering" in each["text"] for each in payloads(run, "log"))
    assert run.worker.endswith(f":{workers[1 - cut_off].pid}")

    hosts[cut_off].plug_in()
    wait_for(lambda: any(words in workers[cut_off].output for words in LET_GO), 300)
    assert state(run) == "done"
    assert run.result["value"] == counted(400)
    assert_journal_is_whole(run, 400)
    assert run.lease_token == 2
    wait_for(lambda: is_free(locked), 120)

    workers[1 - cut_off].stop()
    another = site.count("for who came back", steps=2)
    wait_for(lambda: state(another) == "done", 120)
    assert another.worker.endswith(f":{workers[cut_off].pid}")
