"""The WebSocket of agents, through Channels' own communicator, on a real database file."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from channels.db import database_sync_to_async
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from django.db import OperationalError
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from inference.agent import allowance
from inference.agent.protocol import encode
from inference.features.machines.machines import consumer
from inference.models import ISA, AgentToken, Batch, Machine
from inference.runs import lifecycle
from inference.runs.machines import sessions
from inference.sockets import agent_urlpatterns
from inference.storage.instruction_sets import new_isa
from tests.drawn import examples
from tests.listening import SOON, closing_code
from tests.runs.machines.answering import answers, hello
from tests.runs.machines.fixtures import batch_of, claim, posting

APPLICATION = URLRouter(agent_urlpatterns)


@pytest.fixture
def lab(site):
    """A machine with a token, and a posted batch of one run: (machine, token, run, board, batch)."""
    machine = sessions.add_machine("lab", new_isa("toy", ["add R, R"], "by hand"))
    run, lease = claim(site)
    with posting(lease, machine) as board:
        yield machine, sessions.create_token(machine), run, board, board.post(batch_of("add R, R"))


@asynccontextmanager
async def dialled(token):
    headers = [(b"host", b"pmweb.example:8000"), (b"authorization", f"Bearer {token}".encode())]
    socket = WebsocketCommunicator(APPLICATION, "/ws/agent/", headers=headers)
    connected, _ = await socket.connect(timeout=SOON)
    assert connected
    try:
        yield socket
    finally:
        await socket.disconnect(timeout=SOON)


@asynccontextmanager
async def welcomed(token, **greeting):
    async with dialled(token) as socket:
        await socket.send_to(text_data=hello(**greeting))
        welcome = await heard(socket)
        assert welcome == {"type": "welcome", "protocol": 1, "machine": "lab", "beat_seconds": 2.0}
        yield socket


async def heard(socket):
    return await socket.receive_json_from(timeout=SOON)


async def refusal(socket):
    """What the agent is told at last, and the code that closes the socket."""
    refused = await heard(socket)
    assert refused["type"] == "refused", refused
    return refused["reason"], refused["retry"], await closing_code(socket)


async def results(socket, message, **changes):
    content = {"batch": message["batch"], "fence": message["fence"], "results": answers(message["content"])}
    await socket.send_to(text_data=encode("results", **(content | changes)))


@database_sync_to_async
def state():
    return Batch.objects.get().state


async def test_an_agent_is_given_a_batch_and_its_results_are_stored(lab):
    _, token, _, board, number = lab
    async with welcomed(token) as socket:
        batch = await heard(socket)
        assert (batch["type"], batch["batch"], batch["fence"]) == ("batch", number, 1)
        assert batch["content"] == batch_of("add R, R").as_json()
        for _ in range(2):  # the second time nothing changes
            await results(socket, batch)
            assert await heard(socket) == {"type": "stored", "batch": number}
    assert (await database_sync_to_async(board.collect)())[0] == number


async def refused_in_the_handshake(token):
    """With which code, nothing having been accepted."""
    headers = [(b"authorization", f"Bearer {token}".encode())]
    socket = WebsocketCommunicator(APPLICATION, "/ws/agent/", headers=headers)
    accepted, code = await socket.connect(timeout=SOON)
    await socket.disconnect(timeout=SOON)
    assert not accepted
    return code


@pytest.mark.parametrize("token", ["", "wrong"])
async def test_nobody_is_let_in_without_a_good_token(lab, token):
    assert await refused_in_the_handshake(token) == 4401


async def test_where_the_database_does_not_answer_an_agent_may_come_again(lab, monkeypatch):
    def locked(_token):
        raise OperationalError("database is locked")

    monkeypatch.setattr(sessions, "find_token", locked)
    assert await refused_in_the_handshake(lab[1]) == 4503


async def test_an_agent_of_another_protocol_is_told_where_to_get_the_right_one(lab):
    async with dialled(lab[1]) as socket:
        await socket.send_to(text_data=hello(protocol=2))
        assert await refusal(socket) == (
            "this agent speaks protocol 2, the server 1: download the agent from http://pmweb.example:8000/",
            False,
            4400,
        )


async def test_hello_comes_first(lab):
    async with dialled(lab[1]) as socket:
        await socket.send_to(text_data=encode("beat", state="idle"))
        reason, retry, code = await refusal(socket)
        assert (reason, retry, code) == ("the first message must be hello, not 'beat'", False, 4400)


async def test_hello_comes_soon_and_signs_of_life_go_on(lab, monkeypatch):
    token = lab[1]
    monkeypatch.setattr(consumer, "SILENCE", consumer.SILENCE / 20)
    async with dialled(token) as socket:
        assert (await refusal(socket))[1:] == (True, 4408)
    async with welcomed(token) as socket:
        assert (await heard(socket))["type"] == "batch"
        assert await closing_code(socket) == 4408
    assert await state() == "waiting"
    assert not await database_sync_to_async(lambda: Machine.objects.get().is_online())()


async def test_who_does_not_know_of_the_batch_it_was_given_begins_anew(lab, monkeypatch):
    """The message with the batch was lost, or the one with its results."""
    _, token, _, _, number = lab
    monkeypatch.setattr(consumer, "OUT_OF_STEP_SECONDS", 600.0)
    async with welcomed(token) as socket:
        batch = await heard(socket)
        await socket.send_to(text_data=encode("beat", state="idle"))
        assert await socket.receive_nothing()  # perhaps the batch is still on its way
        monkeypatch.setattr(consumer, "OUT_OF_STEP_SECONDS", 0.0)
        await socket.send_to(text_data=encode("beat", state="measuring", batch=number))
        assert await socket.receive_nothing()  # who measures it is in step however long that takes
        await socket.send_to(text_data=encode("beat", state="idle"))
        assert await closing_code(socket) == consumer.OUT_OF_STEP
    assert await state() == "waiting"
    async with welcomed(token, holds=[number, batch["fence"]]) as socket:
        await results(socket, batch)
        assert await heard(socket) == {"type": "stored", "batch": number}
    assert await state() == "done"


async def test_one_agent_speaks_for_a_machine(lab):
    async with welcomed(lab[1], instance="one"), dialled(lab[1]) as socket:
        await socket.send_to(text_data=hello("two"))
        assert await refusal(socket) == ("another agent is connected as lab", True, 4409)


async def test_a_newer_connection_of_the_same_agent_ends_the_older_one(lab):
    async with welcomed(lab[1]) as old:
        batch = await heard(old)
        async with welcomed(lab[1], holds=[batch["batch"], batch["fence"]]) as new:
            assert await closing_code(old) == 4409
            await results(new, batch)
            assert (await heard(new))["type"] == "stored"


async def test_what_an_agent_holds_in_vain_is_dropped(lab):
    async with welcomed(lab[1], holds=[4711, 1]) as socket:
        assert await heard(socket) == {"type": "drop", "batch": 4711}
        assert (await heard(socket))["type"] == "batch"


async def test_a_batch_is_dropped_when_its_run_is_over(lab):
    _, token, run, _, number = lab
    async with welcomed(token) as socket:
        batch = await heard(socket)
        await database_sync_to_async(lab[3].close)()
        await database_sync_to_async(lifecycle.cancel)(run)
        assert await heard(socket) == {"type": "drop", "batch": number}
        await results(socket, batch)
        assert (await heard(socket))["type"] == "stored"
    assert await state() == "cancelled"


async def test_a_revoked_token_ends_the_connection(lab):
    machine, token, *_ = lab
    async with welcomed(token) as socket:
        await heard(socket)
        await database_sync_to_async(sessions.revoke_all)(machine)
        assert await refusal(socket) == (consumer.REVOKED, False, 4401)


async def test_a_token_that_expires_ends_the_connection(lab, monkeypatch):
    monkeypatch.setattr(consumer, "TOKEN_CHECK_SECONDS", 0.05)
    async with welcomed(lab[1]) as socket:
        await heard(socket)
        await AgentToken.objects.aupdate(expires=timezone.now())
        assert await refusal(socket) == (consumer.REVOKED, False, 4401)


async def test_an_expired_token_lets_nobody_in(lab):
    token = await database_sync_to_async(sessions.create_token)(lab[0], timedelta(seconds=-1))
    assert await refused_in_the_handshake(token) == 4401


async def test_an_agent_sees_and_answers_the_batches_of_its_own_machine_alone(lab):
    _, token, _, _, number = lab
    other = await database_sync_to_async(sessions.add_machine)("another lab", await ISA.objects.aget())
    stranger = await database_sync_to_async(sessions.create_token)(other)
    async with welcomed(token) as socket, dialled(stranger) as spy:
        batch = await heard(socket)
        await spy.send_to(text_data=hello())
        assert (await heard(spy))["machine"] == "another lab"
        assert await spy.receive_nothing(timeout=0.3)  # of another machine's batch it is told nothing
        await results(spy, batch)
        assert (await heard(spy)) == {"type": "stored", "batch": number}  # acknowledged, and thrown away
        assert await state() == "leased"
        await results(socket, batch)
        await heard(socket)
    assert await state() == "done"


async def test_a_token_that_is_revoked_before_the_greeting_lets_nobody_in(lab):
    machine, token, *_ = lab
    async with dialled(token) as socket:
        await database_sync_to_async(sessions.revoke_all)(machine)
        await socket.send_to(text_data=hello())
        reason, *rest = await refusal(socket)
        assert "revoked" in reason  # as one whose time is over, or as one that nobody knows
        assert rest == [False, 4401]
    assert await state() == "waiting"


async def test_an_agent_that_sends_without_end_is_sent_away(lab, monkeypatch):
    monkeypatch.setattr(allowance, "PER_SECOND", 0.0)  # a busy computer may read no more than that
    async with welcomed(lab[1]) as socket:
        batch = await heard(socket)
        for _ in range(int(allowance.BURST)):
            await socket.send_to(text_data=encode("beat", state="measuring", batch=batch["batch"]))
        reason, retry, code = await refusal(socket)
        assert (reason, retry, code) == ("too many messages", True, 4429)
    assert await state() == "waiting"


async def test_results_that_make_no_sense_are_not_stored_and_the_third_time_is_the_last(lab):
    async with welcomed(lab[1]) as socket:
        for number in (1, 2):
            batch = await heard(socket)
            assert batch["fence"] == number
            await results(socket, batch, results=[])
            assert (await heard(socket))["type"] == "drop"
        await results(socket, await heard(socket), results=[])
        reason, retry, code = await refusal(socket)
        assert reason == "1 results are expected, one per experiment, not 0"
        assert (retry, code) == (True, 4400)
    assert await state() == "waiting"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
MESSAGES = st.one_of(
    st.text(min_size=1, max_size=50),
    st.builds(json.dumps, JSON),
    st.builds(
        lambda kind, fields: json.dumps({"type": kind} | fields),
        st.sampled_from(["beat", "results", "hello", "stored", "?"]),
        st.dictionaries(
            st.sampled_from(["batch", "fence", "results", "state", "noise", "note", "total"]),
            JSON,
            max_size=7,
        ),
    ),
)


@examples(40, suppress=(HealthCheck.function_scoped_fixture,))
@given(messages=st.lists(MESSAGES, min_size=1, max_size=6))
async def test_whatever_an_agent_says_it_is_answered_or_refused(lab, caplog, messages):
    async with welcomed(lab[1]) as socket:
        for text in messages:
            await socket.send_to(text_data=text)
        await socket.send_to(bytes_data=b"\x00\xff")
        for _ in range(3):
            await socket.send_to(text_data="?")
        told = [await heard(socket)]
        while told[-1]["type"] != "refused":
            told.append(await heard(socket))
        assert await closing_code(socket) == 4400
    assert "Traceback" not in caplog.text
    # What counts towards giving a batch up is not the point here.
    await database_sync_to_async(Batch.objects.update)(attempts=0, state="waiting")
