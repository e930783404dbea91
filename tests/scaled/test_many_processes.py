"""A whole site on PostgreSQL and Redis: `serve`, workers, an agent, nginx; then some of it is killed."""

from __future__ import annotations

import json
import re
import signal
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from django.urls import reverse
from websockets.sync.client import connect

from inference.formats.mapping_json import write_mapping_json
from inference.models import ExperimentSet, Machine, Measurement, PortMapping, Run, RunEvent, Upload
from inference.runs import lifecycle
from inference.runs.machines import sessions
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import load_mapping
from pmweb.accounts.people import ensure_administrator
from pmweb.models import AuditEntry
from tests.processes import Process, Served
from tests.runs.agents import TRUTH
from tests.runs.fixtures import numbers, state, wait_for
from tests.runs.test_worker import expire_lease
from tests.scaled.conftest import opened_on
from tests.scaled.proxy import Nginx
from tests.scaled.visitor import Browser
from tests.servers import NotInstalledError

QUICK = {"search": "evolution", "population": 40, "max_generations": 4, "threads": 1}
CSV = b"experiment,cycles\nalu,0.33\n2*alu;mul,1.0\nvec,0.5\n"


@dataclass
class Spread:
    """The site with its processes, each in a home of its own; the stack ends them."""

    folder: Path
    stack: ExitStack
    served: Served = field(init=False)
    machine: Machine = field(init=False)
    workers: list[Process] = field(default_factory=list)

    def hire(self) -> Process:
        """Start another worker."""
        worker = Process(self.folder / f"worker-{len(self.workers)}", "work")
        self.workers.append(worker)
        self.stack.callback(worker.stop)
        return worker

    def holder(self, run: Run) -> Process:
        """The worker that does a run."""
        run.refresh_from_db()
        pid = int(run.worker.rpartition(":")[2])
        return next(worker for worker in self.workers if worker.pid == pid)

    def infer(self, name: str) -> Run:
        """Submit a quick inference on the machine."""
        config = {"source": {"machine": self.machine.pk}, "schemes": "all", "settings": QUICK, "mixes": 60}
        return lifecycle.submit("infer", config, name)


@pytest.fixture(scope="module")
def spread(postgresql, redis_server, tmp_path_factory, django_db_blocker) -> Iterator[Spread]:
    """On an empty database: `serve` prepares it while a worker waits."""
    folder = tmp_path_factory.mktemp("spread")
    (folder / "here").mkdir()
    with (
        opened_on(
            postgresql,
            postgresql.copy(),
            folder / "here",
            django_db_blocker,
            PMWEB_REDIS_URL=redis_server.url,
            DJANGO_SETTINGS_MODULE="pmweb.settings",
        ),
        ExitStack() as stack,
    ):
        made = Spread(folder, stack)
        made.hire().wait_for("waiting: the database is not prepared")
        made.served = Served(folder / "web", "--port", "0")
        stack.callback(made.served.stop)
        stack.callback(lambda: sys.stderr.write(made.served.output))  # shown after a failure
        address = made.served.address()
        made.hire()
        isa = new_isa("toy", list(TRUTH.usage), "a test")
        made.machine = sessions.add_machine("box", isa)
        truth = folder / "truth.json"
        truth.write_text(json.dumps(write_mapping_json(TRUTH, name="truth", isa=isa.name)))
        token = folder / "token"
        token.write_text(sessions.create_token(made.machine))
        token.chmod(0o600)
        agent = Process(
            folder / "agent",
            *("simulate-agent", "--server", address, "--mapping", str(truth)),
            *("--token-file", str(token), "--pace", "60"),
        )
        stack.callback(agent.stop)
        wait_for(lambda: Machine.objects.get(pk=made.machine.pk).is_online())
        yield made


@pytest.fixture(scope="module")
def undisturbed(spread) -> Run:
    run = spread.infer("undisturbed")
    wait_for(lambda: state(run) in Run.FINAL, 120)
    assert run.state == "done", run.error
    return run


def test_a_file_is_uploaded_imported_by_a_worker_elsewhere_and_shown(spread):
    browser = Browser(spread.served.address())
    assert browser.log_in() == "/"
    preview = browser.upload(reverse("upload"), "mine.csv", CSV)
    wait_for(lambda: Upload.objects.get().preview is not None)
    address = browser.post(preview, name="mine", note="")
    run = Run.objects.get(pk=int(address.strip("/").rpartition("/")[2]))
    wait_for(lambda: state(run) in Run.FINAL)
    assert (run.state, run.error) == ("done", "")
    assert ExperimentSet.objects.get(name="mine").measurements.count() == 3
    assert "mine" in browser.get(reverse("sets"))
    about = browser.get(reverse("about"))
    assert "PostgreSQL 1" in about
    assert "Redis" in about
    assert "answers in" in about


def test_an_inference_on_a_machine_goes_through_all_processes(spread, undisturbed):
    assert undisturbed.mapping.usages.count() >= len(TRUTH.usage)
    assert_measured_once(undisturbed)
    spread.holder(undisturbed)  # one of ours


@pytest.fixture(scope="module")
def nginx(spread) -> Nginx:
    """In front of a second web process, whose settings are those for production."""
    environment = {"PMWEB_TLS": "1", "PMWEB_SECRET_KEY": "k" * 60}
    second = Served(spread.folder / "second", "--port", "0", environment=environment)
    spread.stack.callback(second.stop)
    try:
        proxy = Nginx(second.address().removeprefix("http://"))
    except NotInstalledError as error:
        pytest.skip(str(error))
    spread.stack.callback(proxy.remove)
    proxy.start()
    return proxy


def test_behind_nginx_everything_travels_by_tls(spread, nginx):
    site = f"https://localhost:{nginx.secure}"
    with pytest.raises(urllib.error.HTTPError) as moved:
        urllib.request.build_opener(Stay).open(f"http://localhost:{nginx.plain}/sets/?q=a")
    assert moved.value.headers["Location"] == "https://localhost/sets/?q=a"
    browser = Browser(site, nginx.trust())
    assert "max-age=31536000" in browser.headers(reverse("login"))["Strict-Transport-Security"]
    assert browser.log_in() == "/"
    assert {cookie.name.rpartition("-")[0] for cookie in browser.cookies} >= {"sessionid", "csrftoken"}
    assert all(cookie.secure for cookie in browser.cookies)
    cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in browser.cookies)
    run = spread.infer("seen through a proxy")
    address = f"wss://localhost:{nginx.secure}/ws/runs/{run.pk}/"
    headers = {"Cookie": cookies}
    with connect(
        address, ssl=nginx.trust(), origin=site, additional_headers=headers, proxy=None, open_timeout=60
    ) as socket:
        assert json.loads(socket.recv(30))["kind"] == "state"
    lifecycle.cancel(run)
    assert "/login/..." in nginx.log()
    assert not re.search(r"/login/[^. ?]", nginx.log()), "a log-in token was logged"


def test_behind_nginx_nobody_else_s_address_can_be_claimed(spread, nginx):
    user = ensure_administrator()
    user.set_password("a good password")
    user.save()
    browser = Browser(f"https://localhost:{nginx.secure}", nginx.trust())
    browser.pretend(X_Forwarded_For="198.51.100.7", X_Forwarded_Proto="http")
    with pytest.raises(urllib.error.HTTPError, match="400"):
        browser.post(reverse("login"), username=user.username, password="a wrong password")
    failed = AuditEntry.objects.filter(action=AuditEntry.Action.FAILED)
    assert list(failed.values_list("address", flat=True).distinct()) == ["127.0.0.1"]


class Stay(urllib.request.HTTPRedirectHandler):
    """Does not go where it is sent."""

    def redirect_request(self, *_: object) -> None:
        return None


def assert_measured_once(run: Run) -> None:
    """No measurement lost or doubled, no event missing."""
    rows = Measurement.objects.filter(experiment_set__run=run)
    assert rows.count() == rows.values("experiment_set", "experiment", "repeat").distinct().count()
    assert rows.count() >= 60
    assert numbers(run) == list(range(1, len(numbers(run)) + 1))


def measured(run: Run) -> int:
    return Measurement.objects.filter(experiment_set__run=run).count()


def test_with_worker_redis_and_connections_killed_the_result_is_the_same(
    spread, undisturbed, postgresql, redis_server
):
    run = spread.infer("disturbed")
    wait_for(lambda: measured(run) >= 10)
    spread.holder(run).kill()
    expire_lease(run)
    wait_for(lambda: RunEvent.objects.filter(run=run, payload__text__icontains="stopped answering").exists())
    wait_for(lambda: state(run) == "running")
    redis_server.end(signal.SIGKILL)
    before = measured(run)
    wait_for(lambda: measured(run) > before or state(run) in Run.FINAL)
    with_connections = postgresql.cut_connections(database_of(postgresql))
    assert with_connections >= 2  # the web process and the worker, at least
    redis_server.start()
    wait_for(lambda: state_after_cut(run) in Run.FINAL, 120)
    assert run.state == "done", run.error
    assert run.lease_token >= 2
    assert_measured_once(run)
    assert load_mapping(PortMapping.objects.get(run=run)) == load_mapping(
        PortMapping.objects.get(run=undisturbed)
    )
    assert "Traceback" not in spread.served.output, spread.served.output


def database_of(postgresql) -> str:
    from django.db import connection

    return connection.settings_dict["NAME"]


def state_after_cut(run: Run) -> str:
    """The state; this process's own connection was cut as well."""
    from django.db import OperationalError, connection

    try:
        return state(run)
    except OperationalError:
        connection.close()
        return state(run)
