"""Rings from host to host over a real Redis: quick while it is there, no harm done while it is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from django.conf import settings

from inference.runs import leases, wakeups
from tests.launched import wait_until
from tests.servers import Redis

LISTENER = """
import sys, django
django.setup()
from inference.runs import wakeups
wakeup = wakeups.Wakeup(wakeups.results_topic(7))
print("listening", flush=True)
while True:
    if wakeup.wait(60):
        print("heard", flush=True)
"""


@pytest.fixture
def elsewhere(rung_site, tmp_path_factory):
    """A process with another data directory: what it hears does not come by a local socket."""
    with subprocess.Popen(
        [sys.executable, "-c", LISTENER],
        cwd=settings.BASE_DIR,
        env={**os.environ, "PMWEB_HOME": str(tmp_path_factory.mktemp("elsewhere"))},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "listening\n"
        yield process
        process.kill()


def listeners(server: Redis, topic: str) -> int:
    with server.client() as client:
        return client.pubsub_numsub(f"pmweb__group__{topic}")[0][1]


def wait_for_listeners(server: Redis, topic: str) -> None:
    wait_until(lambda: listeners(server, topic) > 0, 30, f"somebody who listens for {topic}")


def test_a_ring_reaches_another_host_and_again_when_redis_was_killed_and_came_back(
    rung_site, redis_server, elsewhere
):
    wait_for_listeners(redis_server, "results-7")
    wakeups.announce(wakeups.results_topic(7))
    assert elsewhere.stdout.readline() == "heard\n"

    redis_server.end(signal.SIGKILL)
    run = rung_site.count("while Redis is away")
    assert leases.claim("w").run_id == run.pk

    redis_server.start()
    wait_for_listeners(redis_server, "results-7")
    wait_until(lambda: rings(redis_server), 30, "this process to find Redis again")
    assert elsewhere.stdout.readline() == "heard\n"


def rings(server: Redis) -> bool:
    """Ring as long as nobody can have heard; whether Redis has taken one."""
    board = wakeups.current_relay()
    board.wake("results-7")
    return board._all_sent.wait(1)


def test_a_listener_that_has_nothing_to_hear_keeps_its_connection(rung_site, redis_server, elsewhere):
    """redis-py would end it after five seconds of silence if it were not told otherwise."""
    wait_for_listeners(redis_server, "results-7")
    with redis_server.client() as client:
        before = {each["id"] for each in client.client_list() if int(each["sub"])}
        time.sleep(7)  # redis-py's five seconds cannot be shortened from here
        assert {each["id"] for each in client.client_list() if int(each["sub"])} == before
