"""The agent's conversation with a server, over a real WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve

from inference.agent.connection import AddressError, socket_address
from inference.agent.process import FrameRefusedError, UnfitError
from inference.agent.protocol import PROTOCOL, Batch, Beat, Frame, Result, Settings, decode, encode
from inference.agent.reading import ProtocolError
from inference.agent.session import Agent, AgentRefusedError
from tests.agent.conftest import item

BATCH = Batch(Frame(), Settings(), (item("a", b"\x90"), item("b", b"\x90")))
PATIENCE = 20.0


class Scripted:
    """A harness that answers when it is let."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.measured: list[Batch] = []
        self.cancelled = 0
        self.trouble: Exception | None = None

    async def measure(self, batch: Batch, progress: Callable[[int, int], None]) -> list[Result]:
        self.measured.append(batch)
        progress(1, len(batch.items))
        try:
            await self.may_answer.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.trouble is not None:
            raise self.trouble
        return [Result(one.id, "settled", 1.0, 0.0, 2) for one in batch.items]

    def beat(self) -> Beat:
        return Beat("idle", noise=0.001)

    async def close(self) -> None:
        pass


class Talk:
    """The server's end of one connection."""

    def __init__(self, socket: ServerConnection) -> None:
        self.socket = socket

    async def hear(self, kind: str) -> dict[str, Any]:
        """The next message of a kind; beats in between are passed over."""
        while True:
            message = decode(await asyncio.wait_for(self.socket.recv(), PATIENCE))
            if message["type"] == kind:
                return message
            assert message["type"] == "beat", message

    async def say(self, kind: str, **content: object) -> None:
        await self.socket.send(encode(kind, **content))

    async def welcome(self) -> dict[str, Any]:
        hello = await self.hear("hello")
        await self.say("welcome", protocol=PROTOCOL, machine="m", beat_seconds=0.02)
        return hello


@asynccontextmanager
async def conversation(harness: Scripted) -> AsyncIterator[tuple[asyncio.Queue[Talk], asyncio.Task[None]]]:
    """An agent that dials a server, and the connections that arrive there."""
    arrived: asyncio.Queue[Talk] = asyncio.Queue()

    async def accept(socket: ServerConnection) -> None:
        assert socket.request is not None
        assert socket.request.path == "/ws/agent/"
        assert socket.request.headers["Authorization"] == "Bearer secret"
        await arrived.put(Talk(socket))
        await socket.wait_closed()

    async with serve(accept, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        agent = Agent(f"http://127.0.0.1:{port}", "secret", harness, lambda: {"cpu": "x"}, "9.9")
        running = asyncio.create_task(agent.run())
        try:
            yield arrived, running
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def test_a_batch_is_measured_and_reported_and_kept_until_it_is_stored():
    harness = Scripted()
    async with conversation(harness) as (arrived, _):
        talk = await arrived.get()
        hello = await talk.welcome()
        assert (hello["protocol"], hello["version"], hello["holds"]) == (PROTOCOL, "9.9", None)
        await talk.say("batch", batch=7, fence=3, content=BATCH.as_json())
        while (beat := Beat.read(drop_type(await talk.hear("beat")))).batch is None:
            pass
        assert (beat.state, beat.batch, beat.done, beat.total) == ("measuring", 7, 1, 2)
        harness.may_answer.set()
        results = await talk.hear("results")
        assert (results["batch"], results["fence"]) == (7, 3)
        assert [Result.read(one).id for one in results["results"]] == ["a", "b"]
        await talk.socket.close()  # before it said that they are stored
        again = await arrived.get()
        hello = await again.welcome()
        assert hello["holds"] == [7, 3]
        assert (await again.hear("results"))["batch"] == 7
        await again.say("stored", batch=7)
        await again.socket.close()
        third = await arrived.get()
        assert (await third.welcome())["holds"] is None
    assert harness.measured == [BATCH]


def drop_type(message: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in message.items() if key != "type"}


async def test_a_broken_connection_does_not_interrupt_measuring():
    harness = Scripted()
    async with conversation(harness) as (arrived, _):
        talk = await arrived.get()
        first = await talk.welcome()
        await talk.say("batch", batch=7, fence=3, content=BATCH.as_json())
        while not harness.measured:
            await asyncio.sleep(0.01)
        talk.socket.transport.abort()
        again = await arrived.get()
        hello = await again.welcome()
        assert hello["holds"] == [7, 3]
        assert hello["instance"] == first["instance"]
        await again.say("batch", batch=7, fence=3, content=BATCH.as_json())  # as a server that forgot may
        harness.may_answer.set()
        assert (await again.hear("results"))["fence"] == 3
    assert harness.measured == [BATCH]
    assert harness.cancelled == 0


async def test_a_dropped_batch_is_not_measured_any_further_and_the_next_one_is_taken():
    harness = Scripted()
    async with conversation(harness) as (arrived, _):
        talk = await arrived.get()
        await talk.welcome()
        await talk.say("batch", batch=7, fence=3, content=BATCH.as_json())
        while not harness.measured:
            await asyncio.sleep(0.01)
        await talk.say("drop", batch=7)
        await talk.say("batch", batch=8, fence=1, content=BATCH.as_json())
        while len(harness.measured) < 2:
            await asyncio.sleep(0.01)
        harness.may_answer.set()
        assert (await talk.hear("results"))["batch"] == 8
    assert harness.cancelled == 1


async def test_a_refusal_for_good_ends_the_agent_and_one_for_now_does_not():
    harness = Scripted()
    async with conversation(harness) as (arrived, running):
        talk = await arrived.get()
        await talk.hear("hello")
        await talk.say("refused", reason="another agent is connected", retry=True)
        await talk.socket.close()
        talk = await arrived.get()
        await talk.hear("hello")
        await talk.say("refused", reason="the token was revoked", retry=False)
        with pytest.raises(AgentRefusedError, match="revoked"):
            await asyncio.wait_for(running, PATIENCE)


async def test_a_refusal_in_the_middle_of_a_conversation_counts_as_well():
    async with conversation(Scripted()) as (arrived, running):
        talk = await arrived.get()
        await talk.welcome()
        await talk.hear("beat")
        await talk.say("refused", reason="the database does not answer", retry=True)
        talk = await asyncio.wait_for(arrived.get(), PATIENCE)
        await talk.welcome()
        await talk.say("refused", reason="the token was revoked", retry=False)
        with pytest.raises(AgentRefusedError, match="revoked"):
            await asyncio.wait_for(running, PATIENCE)


async def test_a_computer_that_turns_out_unfit_says_so_with_every_beat_and_reports_nothing():
    harness = Scripted()
    harness.trouble = UnfitError("no executable memory")
    harness.may_answer.set()
    async with conversation(harness) as (arrived, _):
        talk = await arrived.get()
        await talk.welcome()
        await talk.say("batch", batch=7, fence=3, content=BATCH.as_json())
        while (beat := await talk.hear("beat"))["state"] != "unfit":
            pass
        assert beat["note"] == "no executable memory"


async def test_a_batch_for_another_kind_of_computer_fails_and_the_agent_stays_fit():
    harness = Scripted()
    harness.trouble = FrameRefusedError("the frame is for another computer")
    harness.may_answer.set()
    async with conversation(harness) as (arrived, _):
        talk = await arrived.get()
        await talk.welcome()
        await talk.say("batch", batch=7, fence=3, content=BATCH.as_json())
        results = (await talk.hear("results"))["results"]
        assert {result["note"] for result in results} == {"the frame is for another computer"}
        await talk.say("stored", batch=7)
        assert (await talk.hear("beat"))["state"] == "idle"


async def test_a_batch_at_which_the_agent_fails_is_given_back():
    harness = Scripted()
    harness.trouble = KeyError("a bug")
    harness.may_answer.set()
    async with conversation(harness) as (arrived, _):
        talk = await arrived.get()
        await talk.welcome()
        await talk.say("batch", batch=7, fence=3, content=BATCH.as_json())
        again = await asyncio.wait_for(arrived.get(), PATIENCE)
        assert (await again.welcome())["holds"] is None


async def test_a_server_that_makes_no_sense_is_called_again():
    harness = Scripted()
    async with conversation(harness) as (arrived, _):
        for nonsense in ({"kind": "batch"}, {"kind": "drop", "batch": "x"}, {"kind": "exec"}):
            talk = await asyncio.wait_for(arrived.get(), PATIENCE)
            await talk.welcome()
            await talk.say(**nonsense)
        await asyncio.wait_for(arrived.get(), PATIENCE)
    assert not harness.measured


@pytest.mark.parametrize("changes", [{"protocol": 2}, {"protocol": None}, {"beat_seconds": "often"}])
async def test_a_welcome_of_another_protocol_ends_the_agent(changes: dict[str, object]):
    async with conversation(Scripted()) as (arrived, running):
        talk = await arrived.get()
        await talk.hear("hello")
        await talk.say(**({"kind": "welcome", "protocol": PROTOCOL, "machine": "m"} | changes))
        with pytest.raises(ProtocolError):
            await asyncio.wait_for(running, PATIENCE)


@pytest.mark.parametrize(
    ("server", "address"),
    [
        ("http://host:8000", "ws://host:8000/ws/agent/"),
        ("https://host/pmweb/", "wss://host/pmweb/ws/agent/"),
        ("host:8000", "ws://host:8000/ws/agent/"),
    ],
)
def test_the_sites_address_tells_that_of_its_socket(server: str, address: str):
    assert socket_address(server) == address


@pytest.mark.parametrize("server", ["ftp://host", "http://", "http:///x"])
def test_an_address_that_is_none_says_what_one_looks_like(server: str):
    with pytest.raises(AddressError, match="http://host:8000"):
        socket_address(server)
