"""Web process and agents as processes of their own, some of which are killed."""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from inference.agent.protocol import MAX_MESSAGE_BYTES, encode
from inference.models import Batch
from inference.runs.machines import sessions
from tests.runs.fixtures import wait_for
from tests.runs.machines.answering import hello
from tests.runs.machines.fixtures import (
    AgentProcess,
    batch_of,
    claim,
    posting,
    state_of,
    wait_until_online,
)


@pytest.fixture
def start_agent(web):
    started = []

    def start(machine, *options: str) -> AgentProcess:
        started.append(AgentProcess(web, sessions.create_token(machine), *options))
        return started[-1]

    yield start
    for agent in started:
        agent.stop()


def test_killing_the_web_process_loses_no_leased_batch(home, machine, web, start_agent):
    start_agent(machine, "--after", "2")
    wait_until_online(machine)
    _, lease = claim(home)
    with posting(lease, machine) as board:
        number = board.post(batch_of("add R, R"))
        wait_for(lambda: state_of(number) == "leased")
        web.kill()
        web.start()
        collected, results = board.collect()
    assert collected == number
    assert [result.cycles for result in results] == [1.0]
    # Given out once more where the agent had not got it yet; that what it holds stays its own, others test.
    assert Batch.objects.get().attempts <= 2


def test_a_batch_of_an_agent_that_is_killed_goes_to_the_next_one(home, machine, start_agent):
    doomed = start_agent(machine, "--after", "600")
    wait_until_online(machine)
    _, lease = claim(home)
    with posting(lease, machine) as board:
        number = board.post(batch_of("add R, R"))
        wait_for(lambda: state_of(number) == "leased")
        doomed.stop()
        wait_for(lambda: state_of(number) == "waiting")
        start_agent(machine, "--cycles", "3.0")
        _, results = board.collect()
    assert [result.cycles for result in results] == [3.0]
    assert Batch.objects.get().attempts == 2


def test_two_machines_measure_at_the_same_time(home, machine, start_agent):
    second = sessions.add_machine("desk", machine.isa)
    for each, cycles in ((machine, "1.0"), (second, "2.0")):
        start_agent(each, "--cycles", cycles)
    for each in (machine, second):
        wait_until_online(each)
    (_, one), (_, two) = claim(home, "one"), claim(home, "two")
    with posting(one, machine) as here, posting(two, second) as there:
        for _ in range(5):
            here.post(batch_of("add R, R"))
            there.post(batch_of("add R, R"))
        for _ in range(5):
            assert here.collect()[1][0].cycles == 1.0
            assert there.collect()[1][0].cycles == 2.0


@contextmanager
def greeted(web, machine):
    headers = {"Authorization": f"Bearer {sessions.create_token(machine)}"}
    options = {"max_size": MAX_MESSAGE_BYTES, "proxy": None, "compression": None, "ping_timeout": None}
    with connect(web.socket_address, additional_headers=headers, open_timeout=60, **options) as socket:
        socket.send(hello())
        assert json.loads(socket.recv(60))["type"] == "welcome"
        yield socket


def test_messages_up_to_the_limit_pass_both_ways_and_larger_ones_do_not(home, machine, web):
    _, lease = claim(home)
    with posting(lease, machine) as board, greeted(web, machine) as socket:
        board.post(batch_of("add R, R", padding=3 * 2**20 - 2000))
        message = json.loads(socket.recv(60))
        assert len(message["content"]["items"][0]["code"]) > 0.99 * MAX_MESSAGE_BYTES
        result = {"id": "add R, R", "state": "failed", "note": "x" * (MAX_MESSAGE_BYTES - 1000)}
        text = encode("results", batch=message["batch"], fence=message["fence"], results=[result])
        socket.send(text)
        assert json.loads(socket.recv(60))["type"] == "stored"
        assert len(board.collect()[1][0].note) == 500
        with pytest.raises(ConnectionClosed):  # noqa: PT012  perhaps while the rest of it is still being sent
            socket.send("x" * (MAX_MESSAGE_BYTES + 1))
            socket.recv(60)


def until_closed(socket):
    """(type, retry) of the messages that come before the connection ends."""
    said = []
    with suppress(ConnectionClosed):
        while True:
            message = json.loads(socket.recv(60))
            said.append((message["type"], message["retry"]))
    return said


def test_a_revoked_token_ends_the_connection_within_moments(home, machine, web):
    with greeted(web, machine) as socket:
        sessions.revoke(machine.tokens.get())
        # A socket that is closed at once may take the last message along: then the code says it alone.
        assert until_closed(socket) in ([], [("refused", False)])
        assert socket.close_code == 4401
