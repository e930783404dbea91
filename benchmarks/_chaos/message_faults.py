"""A relay between agents and site that loses, doubles and swaps messages, and cuts connections.

A WebSocket runs over TCP, which does none of this but the last. Whatever stands in between may: a proxy that
is replaced, a server that dies between reading and acting.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import connect
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from inference.agent.protocol import MAX_MESSAGE_BYTES, decode

LOSE, DOUBLE, SWAP = "lose", "double", "swap"
GREETINGS = ("hello", "welcome", "refused")
"""Not meddled with: without them there is no conversation yet, and whoever waits for them tries again."""

_OVERTAKEN_SECONDS = 1.0  # that a message waits so that the next one overtakes it
_START_SECONDS = 30.0  # until the relay listens, or its thread has ended
_TRY_AGAIN = 1013  # the close code for a server that is not there at the moment

Send = Callable[[str], Awaitable[None]]


@dataclass
class _Wire:
    """One direction of one agent's connection, with what waits to be overtaken."""

    send: Send
    mischief: list[str]
    kept: str | None = None
    _late: asyncio.Task[None] | None = None

    async def carry(self, text: str) -> None:
        """Deliver a message; the next mischief on the list happens to it."""
        meddled = self.mischief and self.kept is None and decode(text)["type"] not in GREETINGS
        deed = self.mischief.pop(0) if meddled else ""
        if deed == LOSE:
            return
        if deed == SWAP:
            self.kept = text
            self._late = asyncio.create_task(self._wait_for_another())
            return
        await self.send(text)
        if deed == DOUBLE:
            await self.send(text)
        await self._deliver_kept()

    async def _wait_for_another(self) -> None:
        """What nothing overtakes is only late."""
        await asyncio.sleep(_OVERTAKEN_SECONDS)
        with contextlib.suppress(ConnectionClosed):
            await self._deliver_kept()

    async def _deliver_kept(self) -> None:
        if self.kept is not None:
            overtaken, self.kept = self.kept, None
            await self.send(overtaken)


@dataclass
class FaultyMessages:
    """Relays the agents of one site; each agent is known by the token it shows.

    `plan` adds mischief to the next messages of an agent, in both directions.
    """

    upstream: str
    port: int = 0
    _plans: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    _open: dict[str, ServerConnection] = field(default_factory=dict)

    def start(self) -> None:
        """Listen, in a thread of its own; `address` is known from then on."""
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="message_faults", daemon=True)
        self._thread.start()
        if not ready.wait(_START_SECONDS):
            raise TimeoutError("the relay between agents and site does not start")

    @property
    def address(self) -> str:
        """What an agent takes for the site."""
        return f"http://127.0.0.1:{self.port}"

    def plan(self, token: str, to_site: list[str], to_agent: list[str]) -> None:
        """What shall happen to an agent's next messages, in order."""
        plans = self._plan(token)
        plans["site"] += to_site
        plans["agent"] += to_agent

    def cut(self, token: str) -> bool:
        """End an agent's connection without a word; whether there was one."""
        connection = self._open.get(token)
        if connection is None:
            return False
        self._loop.call_soon_threadsafe(connection.transport.abort)
        return True

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(_START_SECONDS)

    def _plan(self, token: str) -> dict[str, list[str]]:
        return self._plans.setdefault(token, {"site": [], "agent": []})

    def _run(self, ready: threading.Event) -> None:
        asyncio.run(self._serve(ready))

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        options: dict[str, Any] = {"max_size": MAX_MESSAGE_BYTES, "compression": None}
        async with serve(self._relay, "127.0.0.1", self.port, **options) as server:
            self.port = _port_of(server)
            ready.set()
            await self._stopping.wait()

    async def _relay(self, agent: ServerConnection) -> None:
        """Carry messages between an agent and the site, with the faults planned for it, until one closes."""
        assert agent.request is not None
        token = agent.request.headers.get("Authorization", "")
        headers = {"Authorization": token}
        target = self.upstream.replace("http", "ws") + agent.request.path
        try:
            async with connect(
                target,
                additional_headers=headers,
                max_size=MAX_MESSAGE_BYTES,
                compression=None,
                proxy=None,
            ) as site:
                self._open[token] = agent
                plans = self._plan(token)
                await _both(
                    _carry(agent, _Wire(site.send, plans["site"])),
                    _carry(site, _Wire(agent.send, plans["agent"])),
                )
                await agent.close(_sendable(site.close_code), site.close_reason or "")
        except (OSError, InvalidHandshake, ConnectionClosed):
            await agent.close(_TRY_AGAIN, "the site is not there")


async def _carry(source: Any, wire: _Wire) -> None:
    """Until this side hangs up; messages that one is kept back for are delivered with the next one."""
    with contextlib.suppress(ConnectionClosed):
        async for text in source:
            await wire.carry(text)


async def _both(*ways: Awaitable[None]) -> None:
    """Until one of the ways is closed."""
    tasks = [asyncio.ensure_future(way) for way in ways]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _sendable(code: int | None) -> int:
    """A close code that may be sent: those for connections that broke may not."""
    return (
        code if code is not None and (1000 <= code <= 1003 or 1007 <= code <= 1014 or code >= 3000) else 1011
    )


def _port_of(server: Server) -> int:
    return int(next(iter(server.sockets)).getsockname()[1])
