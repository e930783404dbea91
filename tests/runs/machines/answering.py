"""An agent that needs no computer: it answers each batch at once, or after so many seconds.

A program of its own, without Django, as agents are.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from inference.agent.protocol import MAX_MESSAGE_BYTES, PROTOCOL, Result, encode

FACTS = {"cpu": "Test CPU 9000", "vendor": "GenuineTest", "family": 6, "flags": ["avx2"]}


def hello(instance: str = "one", **more) -> str:
    """The text of a greeting."""
    content = {
        "type": "hello",
        "protocol": PROTOCOL,
        "version": "test",
        "instance": instance,
        "facts": FACTS,
        "holds": None,
    }
    return json.dumps(content | more)


def answers(content: dict, cycles: float = 1.0) -> list[dict]:
    """What an agent says of a batch."""
    return [Result(item["id"], "settled", cycles, 0.0, 2).as_json() for item in content["items"]]


class AnsweringAgent:
    """Connects again and again, and keeps its batch meanwhile."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._instance = secrets.token_hex(8)
        self._holds: list[int] | None = None
        self._results = ""

    async def run(self) -> None:
        headers = {"Authorization": f"Bearer {self._options.token}"}
        while True:
            try:
                async with connect(
                    self._options.address,
                    additional_headers=headers,
                    max_size=MAX_MESSAGE_BYTES,
                    proxy=None,
                    open_timeout=60,
                ) as socket:
                    await self._serve(socket)
            except (OSError, InvalidHandshake, ConnectionClosed):
                await asyncio.sleep(0.2)

    async def _serve(self, socket) -> None:
        await socket.send(hello(self._instance, holds=self._holds))
        beating = asyncio.create_task(self._beat(socket))
        try:
            if self._holds:
                await socket.send(self._results)
            async for text in socket:
                message = json.loads(text)
                if message["type"] == "batch":
                    await self._measure(message)
                    await socket.send(self._results)
                elif message["type"] in ("stored", "drop"):
                    self._holds = None
        finally:
            beating.cancel()

    async def _measure(self, message) -> None:
        results = answers(message["content"], self._options.cycles)
        batch, fence = self._holds = [message["batch"], message["fence"]]
        self._results = encode("results", batch=batch, fence=fence, results=results)
        await asyncio.sleep(self._options.after)  # what measuring takes

    async def _beat(self, socket) -> None:
        while True:
            await socket.send(encode("beat", state="idle", noise=0.001, ghz=3.0))
            await asyncio.sleep(0.5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("token")
    parser.add_argument("--after", type=float, default=0.0)
    parser.add_argument("--cycles", type=float, default=1.0)
    asyncio.run(AnsweringAgent(parser.parse_args()).run())
