"""The agent's session with the server: connects and reconnects, measures leased batches, sends results."""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
import ssl
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from inference.agent.allowance import Allowance
from inference.agent.connection import (
    AgentConnection,
    ConnectionLostError,
    NotAdmittedError,
    dial,
    tls_context,
)
from inference.agent.passes import Harness
from inference.agent.process import FrameRefusedError, UnfitError
from inference.agent.protocol import PROTOCOL, Batch, Beat, Result, decode, encode, int_field
from inference.agent.reading import Json, ProtocolError

log = logging.getLogger("pmweb-agent")

_FIRST_PAUSE = 0.2  # seconds before the agent connects again; doubled each time
_MAX_PAUSE = 10.0  # seconds
_BEAT_SECONDS = 2.0  # between heartbeats, unless the site asks for another interval
_MIN_BEAT, _MAX_BEAT = 0.01, 60.0  # seconds, whatever the site asks for
_HELLO_SECONDS = 15.0  # until the site must answer the agent's first message
_MAX_WORD_LENGTH = 500  # characters of the site's text that the terminal shows


class AgentRefusedError(Exception):
    """The server refuses this agent for good."""


@dataclass
class _Lease:
    """The leased batch, with its results once measured."""

    batch: int
    fence: int
    task: asyncio.Task[None]
    size: int
    done: int = 0
    results: list[Result] | None = None


class Agent:
    """One agent process; keeps its batch and its results over broken connections."""

    def __init__(
        self,
        server: str,
        token: str,
        harness: Harness,
        facts: Callable[[], Json],
        version: str,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._tls = tls or tls_context(None)
        self._server = server
        self._token = token
        self._harness = harness
        self._facts = facts
        self._version = version
        self._instance = secrets.token_hex(8)
        self._lease: _Lease | None = None
        self._unfit = ""
        self._connection: AgentConnection | None = None

    async def run(self) -> None:
        """Serve until cancelled. Raises `AgentRefusedError`, `ProtocolError` or `AddressError`."""
        pause = _FIRST_PAUSE
        last_warning = ""
        try:
            while True:
                try:
                    async with dial(self._server, self._token, self._tls) as connection:
                        beat_seconds = await self._greet(connection)
                        pause, last_warning = _FIRST_PAUSE, ""
                        await self._serve(connection, beat_seconds)
                except NotAdmittedError as error:
                    raise AgentRefusedError(str(error)) from error
                except ConnectionLostError as error:
                    if str(error) != last_warning:  # once per reason, not once per attempt
                        log.warning("%s; trying again", error)
                        last_warning = str(error)
                await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311  spreads many agents
                pause = min(2 * pause, _MAX_PAUSE)
        finally:
            await self._drop()
            await self._harness.close()

    async def _greet(self, connection: AgentConnection) -> float:
        """Say hello; returns the seconds between beats."""
        lease = self._lease
        facts = self._facts()
        self._unfit = self._unfit or str(facts.get("unfit", ""))
        await connection.send(
            encode(
                "hello",
                protocol=PROTOCOL,
                version=self._version,
                instance=self._instance,
                facts=facts,
                holds=None if lease is None else [lease.batch, lease.fence],
            )
        )
        try:
            answer = decode(await asyncio.wait_for(connection.receive(), _HELLO_SECONDS))
        except TimeoutError:
            raise ConnectionLostError("the server does not answer the greeting") from None
        if answer["type"] == "refused":
            raise _refusal(answer)
        if answer["type"] != "welcome":
            raise ProtocolError(f"a welcome was expected, not {answer['type']!r:.40}")
        if (spoken := int_field(answer, "protocol")) != PROTOCOL:
            raise ProtocolError(
                f"it speaks protocol {spoken}, this agent {PROTOCOL}: download the agent again from there"
            )
        log.info("connected to %s as %s", self._server, _plain(answer.get("machine")))
        return _beat_seconds(answer.get("beat_seconds", _BEAT_SECONDS))

    async def _serve(self, connection: AgentConnection, beat_seconds: float) -> None:
        self._connection = connection
        beating = asyncio.create_task(self._keep_beating(connection, beat_seconds))
        listening = asyncio.create_task(self._listen(connection))
        try:
            await self._report()
            done, _ = await asyncio.wait({beating, listening}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            self._connection = None
            for task in (beating, listening):
                task.cancel()
            await asyncio.gather(beating, listening, return_exceptions=True)

    async def _keep_beating(self, connection: AgentConnection, seconds: float) -> None:
        while True:
            await connection.send(encode("beat", **self._beat().as_json()))
            await asyncio.sleep(seconds)

    def _beat(self) -> Beat:
        beat = self._harness.beat()
        if self._unfit:
            beat = replace(beat, state="unfit", note=self._unfit)
        lease = self._lease
        if lease is None or lease.results is not None:
            return beat
        state = "measuring" if beat.state == "idle" else beat.state
        return replace(beat, state=state, batch=lease.batch, done=lease.done, total=lease.size)

    async def _listen(self, connection: AgentConnection) -> None:
        """Handle messages; disconnects from a server that sends invalid or too many ones, to retry later."""
        allowance = Allowance()
        while True:
            text = await connection.receive()
            try:
                was_due = await self._handle(decode(text))
            except (ProtocolError, RecursionError) as error:
                raise ConnectionLostError(f"the server is not understood: {_plain(str(error))}") from error
            if not was_due and not allowance.allows():
                raise ConnectionLostError("the server sends too many unsolicited messages")

    async def _handle(self, message: Json) -> bool:
        """Handle a message; returns whether it was due: a batch without a lease, or an acknowledgement."""
        kind = message["type"]
        if kind == "refused":
            raise _refusal(message)
        if kind not in {"batch", "stored", "drop"}:
            raise ProtocolError(f"a server that has welcomed an agent sends no {kind!r:.40}")
        number = int_field(message, "batch")
        lease = self._lease
        if kind == "batch":
            await self._begin_batch(number, int_field(message, "fence"), message.get("content"))
            return lease is None
        if lease is None or lease.batch != number:
            return False
        if kind == "drop":
            await self._drop()
            return False
        if lease.results is None:  # thanks for those of an earlier lease
            return False
        self._lease = None
        return True

    async def _begin_batch(self, number: int, fence: int, content: object) -> None:
        """Start measuring a batch; drops the one leased before."""
        lease = self._lease
        if lease is not None and (lease.batch, lease.fence) == (number, fence):
            return  # given once more after a reconnection: it is being worked on, or reported already
        batch = Batch.read(content)
        await self._drop()
        task = asyncio.create_task(self._measure(number, batch))
        self._lease = _Lease(number, fence, task, len(batch.items))

    async def _measure(self, number: int, batch: Batch) -> None:
        """Measure a batch and report its results, if the agent still holds it."""
        try:
            results = await self._harness.measure(batch, self._on_progress)
        except FrameRefusedError as error:
            results = [Result(item.id, "failed", note=str(error)) for item in batch.items]
        except UnfitError as error:
            log.error("cannot measure: %s", error)
            self._unfit = str(error)  # told with every beat
            return
        except Exception:  # whatever it is, an agent that stays lets somebody else have the batch
            log.exception("batch %d cannot be measured; it is given back", number)
            self._lease = None
            if self._connection is not None:
                await self._connection.close()
            return
        if self._lease is not None and self._lease.batch == number:
            self._lease.results = results
            await self._report()

    def _on_progress(self, done: int, total: int) -> None:
        if self._lease is not None:
            self._lease.done, self._lease.size = done, total

    async def _report(self) -> None:
        """Send finished results if connected; they are kept until the server has stored them."""
        lease, connection = self._lease, self._connection
        if lease is None or lease.results is None or connection is None:
            return
        message = encode(
            "results",
            batch=lease.batch,
            fence=lease.fence,
            results=[result.as_json() for result in lease.results],
        )
        try:
            await connection.send(message)
        except ConnectionLostError as error:
            log.warning("%s; the results are sent again later", error)

    async def _drop(self) -> None:
        lease, self._lease = self._lease, None
        if lease is not None and not lease.task.done():
            lease.task.cancel()
            await asyncio.gather(lease.task, return_exceptions=True)


def _beat_seconds(seconds: Any) -> float:
    if type(seconds) not in {int, float} or not abs(seconds) <= sys.float_info.max:
        raise ProtocolError(f"beat_seconds must be a number, not {seconds!r:.40}")
    return float(min(max(seconds, _MIN_BEAT), _MAX_BEAT))


def _plain(text: object) -> str:
    """A server's text, safe for a terminal."""
    return "".join(sign if sign.isprintable() else " " for sign in str(text)[:_MAX_WORD_LENGTH])


def _refusal(message: Json) -> AgentRefusedError | ConnectionLostError:
    """The error for a `refused` message, which may come at any time, as when a token is revoked."""
    reason = _plain(message.get("reason", "no reason given"))
    if message.get("retry"):
        return ConnectionLostError(f"refused for now: {reason}")
    return AgentRefusedError(reason)


async def run_agent(
    server: str,
    token: str,
    harness: Harness,
    facts: Callable[[], Json],
    version: str,
    tls: ssl.SSLContext | None = None,
) -> None:
    """Serve until cancelled. Raises `AgentRefusedError`, `ProtocolError` or `AddressError`."""
    await Agent(server, token, harness, facts, version, tls).run()
