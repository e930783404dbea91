"""Messages that make no sense: what both sides are told, and a server that tells them to a real agent."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from benchmarks._json_mutations import draw
from benchmarks._survey import Survey
from inference.agent.passes import Progress
from inference.agent.protocol import PROTOCOL, Batch, BatchItem, Beat, Frame, Result, Settings, decode
from inference.agent.reading import ProtocolError
from inference.agent.session import Agent, AgentRefusedError

NAMES = ("a", "b", "c")
SOON = 60.0  # seconds; what takes longer hangs
FLOOD = "flood"
"""Of many messages that are sound, but not wanted."""


def batch_content(frame: Frame) -> dict[str, Any]:
    """Of a sound batch with an item for each of `NAMES`."""
    items = tuple(BatchItem(name, b"\x90" * 100, 100, 50, 50, 1, ((name, 1),)) for name in NAMES)
    return Batch(frame, Settings(), items).as_json()


def text_of(text: str | bytes) -> str | bytes:
    """What can be sent: lone surrogates cannot, as text."""
    return text if isinstance(text, bytes) else text.encode("utf-8", "replace").decode()


_CONVERSATIONS = 12  # servers that talk at the same time, each to an agent of its own
_CONTENT = batch_content(Frame(registers={"rax": 5}))


class _Quick:
    """A harness that answers at once, and looks at what the agent has let through."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey

    async def measure(self, batch: Batch, _progress: Progress) -> list[Result]:
        sound = len({item.id for item in batch.items}) == len(batch.items) <= 512
        sound = sound and 0 < batch.settings.timeout <= 3600 and 0 < batch.settings.repetitions <= 10_000
        sound = sound and all(item.half_copies > 0 and item.instructions > 0 for item in batch.items)
        self._survey.expect(sound, f"the agent accepts {batch!r:.500}")
        return [Result(item.id, "settled", 1.0, 0.0, 2) for item in batch.items]

    def beat(self) -> Beat:
        return Beat("idle")

    async def close(self) -> None:
        pass


async def fuzz_agent(n: int, seed: int) -> Survey:
    """Send about `n` messages that make no sense, to several agents at a time."""
    survey = Survey("agent", seed)
    talks = [_Nonsense(survey, n, random.Random(f"{seed} {number}")) for number in range(_CONVERSATIONS)]
    await asyncio.gather(*(talk.run() for talk in talks))
    return survey


class _Nonsense:
    """One server with its agent."""

    def __init__(self, survey: Survey, n: int, drawn: random.Random) -> None:
        self._survey = survey
        self._n = n
        self._drawn = drawn
        self._numbers = 0
        self._over = asyncio.Event()

    async def run(self) -> None:
        """Until enough has been said by all of them; an agent that ends as it may is followed by another."""
        async with serve(self._talk, "127.0.0.1", 0, max_size=None) as server:
            address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            over = asyncio.create_task(self._over.wait())
            while not over.done():
                agent = Agent(address, "secret", _Quick(self._survey), lambda: {"cpu": "x"}, "1")
                running = asyncio.create_task(agent.run())
                await asyncio.wait({over, running}, return_when=asyncio.FIRST_COMPLETED)
                running.cancel()
                (end,) = await asyncio.gather(running, return_exceptions=True)
                if isinstance(end, ProtocolError | AgentRefusedError):
                    self._survey.outcomes["the agent ends and says why"] += 1
                else:
                    is_ours = isinstance(end, asyncio.CancelledError)
                    self._survey.expect(is_ours, f"the agent ends: {end!r}")

    async def _talk(self, socket: ServerConnection) -> None:
        """One conversation; the agent has to answer or hang up in time."""
        try:
            async with asyncio.timeout(SOON):
                await self._say_nonsense(socket)
        except ConnectionClosed:
            self._survey.outcomes["the agent hangs up and comes again"] += 1
        except TimeoutError:
            self._survey.expect(False, "the agent neither answers nor hangs up")
        if self._survey.total >= self._n:
            self._over.set()

    async def _say_nonsense(self, socket: ServerConnection) -> None:
        """Greet the agent, sometimes wrongly, play one to three tricks, and have it measure after all."""
        await socket.recv()  # hello
        welcome = {"type": "welcome", "protocol": PROTOCOL, "machine": "m", "beat_seconds": 1.0}
        if self._drawn.random() < 0.05:
            other = {**welcome, "protocol": self._drawn.choice((0, 2, -1, 10**6))}
            await self._send(socket, "version", json.dumps(other))
            while True:  # until it is closed
                await socket.recv()
        if self._drawn.random() < 0.1:
            await self._send(socket, *draw(welcome, self._drawn))
        else:
            await socket.send(json.dumps(welcome))
        for _ in range(self._drawn.randint(1, 3)):
            await self._send(socket, *self._trick())
        await self._have_measured(socket)

    def _trick(self) -> tuple[str, str | bytes]:
        """(kind, message) of something that a server should not say at this point."""
        batch = self._batch()
        word = {"type": self._drawn.choice(("stored", "drop")), "batch": self._numbers}
        tricks = ("batch", "batch", "batch", "word", "number", "ids", "flood")
        match self._drawn.choice(tricks):
            case "batch":
                return draw(batch, self._drawn)
            case "word":
                return draw({**word, "more": [1, 2.5]}, self._drawn)
            case "number":
                return "of another batch", json.dumps({**word, "batch": self._drawn.randrange(2**63)})
            case "ids":
                twice = {**_CONTENT, "items": _CONTENT["items"] * 2}
                return "same ids twice", json.dumps({**batch, "content": twice})
        return FLOOD, json.dumps({"type": "stored", "batch": 0})

    async def _send(self, socket: ServerConnection, kind: str, text: str | bytes) -> None:
        self._survey.sent[kind] += 1
        for _ in range(400 if kind == FLOOD and self._drawn.random() < 0.2 else 1):
            await socket.send(text_of(text))

    async def _have_measured(self, socket: ServerConnection) -> None:
        """What makes sense is measured all the same, and reported under its number."""
        batch = self._batch()
        await socket.send(json.dumps(batch))
        while True:
            message = decode(await socket.recv())
            if message["type"] == "results" and message["batch"] == batch["batch"]:
                break
        ids = [result["id"] for result in message["results"]]
        fence = message["fence"]
        self._survey.expect((ids, fence) == (["a", "b", "c"], batch["fence"]), f"results {message}")
        self._survey.outcomes["the agent goes on and measures"] += 1
        await socket.send(json.dumps({"type": "stored", "batch": batch["batch"]}))

    def _batch(self) -> dict[str, Any]:
        self._numbers += 1
        return {"type": "batch", "batch": self._numbers, "fence": 1, "content": _CONTENT}
