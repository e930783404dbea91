"""What the site's processes know is closed to other processes of the same user."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.launched import descendants, is_alive, wait_until
from tests.prepared import prepared_home
from tests.processes import Process

WITHOUT_RIGHTS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
"""Root too is an ordinary user then."""

pytestmark = pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv is not installed")


def read_by_the_same_user(pid: int, name: str) -> str:
    """What `head` says of a file below /proc/PID."""
    command = [*WITHOUT_RIGHTS, "head", "-c1", f"/proc/{pid}/{name}"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def closed(pid: int) -> bool:
    """Whether it has come so far as to close itself."""
    return "Permission denied" in read_by_the_same_user(pid, "environ")


@pytest.fixture(scope="module")
def processes(tmp_path_factory) -> Iterator[dict[str, int]]:
    """Those of a site that is up."""
    home = prepared_home(tmp_path_factory, tmp_path_factory.mktemp("site") / "home")
    site = Process(home, "up", "--no-agent", "--port", "0", within=WITHOUT_RIGHTS)
    try:
        site.wait_for("Ctrl-C stops everything")
        (web,) = [pid for pid, command in descendants(site.pid).items() if "launcher.daphne" in command]
        (worker,) = [pid for pid, command in descendants(site.pid).items() if command.endswith(" work ")]
        wait_until(lambda: closed(worker), 30, "the worker to close itself")
        yield {"supervisor": site.pid, "web": web, "worker": worker}
    finally:
        site.stop()


@pytest.mark.parametrize("who", ["supervisor", "web", "worker"])
@pytest.mark.parametrize("secret", ["environ", "mem", "maps"])
def test_what_a_process_of_the_site_holds_is_not_read(processes, who, secret):
    assert "Permission denied" in read_by_the_same_user(processes[who], secret)
    assert is_alive(processes[who])


def test_the_attack_would_work_on_a_process_that_is_not_closed():
    with subprocess.Popen([*WITHOUT_RIGHTS, "sleep", "600"]) as open_one:
        try:
            comm = Path(f"/proc/{open_one.pid}/comm")
            wait_until(lambda: comm.read_text().strip() == "sleep", 30, "setpriv to become sleep")
            assert read_by_the_same_user(open_one.pid, "environ") == ""
        finally:
            open_one.kill()
