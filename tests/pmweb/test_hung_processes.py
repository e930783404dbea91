"""A web process or a worker that stands still is started again, and its site answers as before."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings

from pmweb.launcher.address import find_site
from pmweb.launcher.supervisor import SILENCE_SECONDS
from tests.launched import START_SECONDS, LaunchedSite, wait_for_death, wait_until

IMPATIENT = f"""
import sys
sys.path.insert(0, {str(settings.BASE_DIR)!r})
from pmweb.launcher import supervisor
supervisor.SILENCE_SECONDS = 4.0
import manage
sys.argv[0] = manage.__file__
manage.main()
"""


class ImpatientSite(LaunchedSite):
    program = ("-c", IMPATIENT)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[LaunchedSite]:
    site = ImpatientSite(
        tmp_path / "home", "--port", "0", "--no-agent", environment={"PMWEB_WEB_PROCESSES": "2"}
    )
    try:
        yield site
    finally:
        site.stop()


def test_the_limit_is_twenty_seconds() -> None:
    assert SILENCE_SECONDS == 20


def test_processes_that_stand_still_are_replaced(site: LaunchedSite) -> None:
    address = urlsplit(site.login_link()[0])
    first, second = site._children("pmweb.launcher.daphne")
    worker = site.child("manage.py work")
    for process, name in ((first, "web process"), (second, "web process"), (worker, "the worker")):
        os.kill(process, signal.SIGSTOP)
        wait_for_death([process])
        site.wait_for(f"{name} ")
    assert site.output.count("has not answered for 4 s and is killed") == 3
    wait_until(lambda: len(site._children("pmweb.launcher.daphne")) == 2, START_SECONDS, "two web processes")
    assert site.child("manage.py work") != worker
    assert address.hostname is not None
    assert address.port is not None
    wait_until(lambda: find_site(address.hostname, address.port) is not None, START_SECONDS, "an answer")
