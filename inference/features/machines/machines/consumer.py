"""The WebSocket of an agent, `/ws/agent/`: the server's side of `inference.agent.protocol`.

The handshake refuses an invalid token with HTTP 401, and answers 503 while the database does not respond. The
server closes a socket with one of these codes, after a message `refused` where a reason helps:

- 4400: invalid messages
- 4401: the token was revoked or has expired
- 4408: silence for too long
- 4409: a newer connection or another agent has taken over the machine
- 4410: the agent does not work on its batch
- 4429: too many messages
- 4503: the database does not respond; the agent connects again later
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import OperationalError

from inference.agent.allowance import Allowance
from inference.agent.protocol import NO_ENTRY, PROTOCOL, TRY_AGAIN, decode, encode
from inference.agent.reading import ProtocolError
from inference.core.protocols import Json
from inference.features.running.runs.consumer import NO_LAYER
from inference.models import Machine
from inference.models.machine import SILENCE
from inference.runs.errors import SessionLostError
from inference.runs.machines import batches, sessions
from inference.runs.machines.checking import Hello, OtherProtocolError, read_beat, read_hello, read_number
from inference.runs.machines.sessions import AgentRefusal, Session
from inference.runs.wakeups import Wakeup, batches_topic
from inference.web.database_thread import DatabaseThread

BAD_MESSAGES = 4400
SILENT = 4408
REPLACED = 4409
OUT_OF_STEP = 4410
FLOOD = 4429

REVOKED = "the token of this agent was revoked or has expired: get a new one from the site"
HEARTBEAT_SECONDS = 2.0
OUT_OF_STEP_SECONDS = 10.0
"""How long heartbeats may lack the leased batch. After that, one side has missed a message; a new connection
makes the leases of both sides equal again."""

MAX_BAD_MESSAGES = 3

_POLL_SECONDS = 1.0  # wake-ups interrupt it
TOKEN_CHECK_SECONDS = 60.0
"""A revoked token ends its connections at once, an expired one at the next check."""

logger = logging.getLogger(__name__)

database = DatabaseThread("agents")


class AgentConsumer(AsyncWebsocketConsumer):
    """Leases batches to one agent, one at a time, and receives its results and heartbeats."""

    channel_layer_alias = NO_LAYER
    _machine: Machine

    async def connect(self) -> None:
        """Accept a connection with a valid token; close others in the handshake."""
        self._lock = asyncio.Lock()  # serialises messages and polls
        self._last_message = _now()
        self._next_token_check = self._last_message + TOKEN_CHECK_SECONDS
        self._session: Session | None = None
        self._lease: tuple[int, int] | None = None
        self._in_step = self._last_message  # last time the agent was known to work on its lease
        self._bad_messages = 0
        self._allowance = Allowance()
        self._is_closed = False
        self._poll_task: asyncio.Task[None] | None = None
        self._enter()
        try:
            token = await database.run(sessions.find_token, _token(self.scope))
        except OperationalError as error:
            logger.warning("the database does not answer: %s", error)
            self._leave()
            await self.close(TRY_AGAIN)
            return
        if token is None:
            self._leave()
            await self.close(NO_ENTRY)
            return
        self._machine = token.machine
        if "caller" in self.scope:  # for the access log
            self.scope["caller"].name = f"agent-token:{token.pk}"
        await self.accept()
        self._poll_task = asyncio.create_task(self._wait_for_hello())

    def _enter(self) -> None:
        database.enter()
        self._is_inside = True

    def _leave(self) -> None:
        """Leave the database thread; only the first call counts, after a refused handshake or at the end."""
        if self._is_inside:
            self._is_inside = False
            database.leave()

    async def disconnect(self, code: int) -> None:
        """Close the session, whose leased batch returns to the queue."""
        self._is_closed = True
        if self._poll_task is not None:
            self._poll_task.cancel()
        async with self._lock:
            try:
                if self._session is not None:
                    await database.run(sessions.close_session, self._session)
            except OperationalError as error:  # the machine's silence ends the session later
                logger.warning("the database does not answer: %s", error)
            finally:
                self._leave()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        self._last_message = _now()
        async with self._exclusively():
            if not self._is_closed:
                await self._handle(text_data if text_data is not None else bytes_data or b"")

    @contextlib.asynccontextmanager
    async def _exclusively(self) -> Any:
        """Hold the lock of the connection; close it if the session or the database is lost."""
        async with self._lock:
            try:
                yield
            except SessionLostError:
                await self._close_lost_session()
            except OperationalError as error:
                logger.warning("the database does not answer: %s", error)
                await self._close_with(TRY_AGAIN)

    async def _handle(self, text: str | bytes) -> None:
        try:
            message = decode(text)
            if not self._is_due(message) and not self._allowance.allows():
                await self._close_with(FLOOD, "too many messages", retry=True)
                return
            if self._session is None:
                await self._handle_hello(message)
            else:
                await self._handler(message["type"])(self._session, message)
        except OtherProtocolError as error:
            await self._close_with(BAD_MESSAGES, f"{error}: download the agent from {_site(self.scope)}")
        except ProtocolError as error:
            await self._reject(str(error))
        except RecursionError:  # raised by quoting a message that `decode` could read
            await self._reject("a message is nested too deeply")

    def _is_due(self, message: Json) -> bool:
        """Whether a message has the results of the leased batch, which the rate limit does not count."""
        named = (message.get("batch"), message.get("fence"))
        return message["type"] == "results" and named == self._lease

    def _handler(self, kind: str) -> Callable[[Session, Json], Awaitable[None]]:
        if kind == "beat":
            return self._handle_heartbeat
        if kind == "results":
            return self._handle_results
        raise ProtocolError(f"{kind!r:.40} is not a message of a welcomed agent")

    async def _handle_hello(self, message: Json) -> None:
        if message["type"] != "hello":
            raise ProtocolError(f"the first message must be hello, not {message['type']!r:.40}")
        hello = read_hello(message)
        answer = await database.run(
            sessions.open_session, self._machine, hello.instance, hello.facts, hello.holds
        )
        if isinstance(answer, AgentRefusal):
            await self._close_with(REPLACED, answer.reason, retry=answer.retry)
            return
        self._session = answer
        # The token may have been revoked before this session existed; later revocations end the session.
        if await database.run(sessions.machine_of, _token(self.scope)) is None:
            await self._close_with(NO_ENTRY, REVOKED)
            return
        await self._send("welcome", protocol=PROTOCOL, machine=answer.machine, beat_seconds=HEARTBEAT_SECONDS)
        await self._resume(hello, answer)
        await self._update_lease(answer)
        if self._poll_task is not None:
            self._poll_task.cancel()
        self._poll_task = asyncio.create_task(self._poll(answer))

    async def _resume(self, hello: Hello, session: Session) -> None:
        if hello.holds is None:
            return
        if session.lease_valid:
            self._lease, self._in_step = hello.holds, _now()
        else:
            await self._send("drop", batch=hello.holds[0])

    async def _handle_heartbeat(self, session: Session, message: Json) -> None:
        beat = read_beat(message)
        await database.run(sessions.record_beat, session, beat)
        if self._lease is None or beat.batch == self._lease[0]:
            self._in_step = _now()
        elif _now() - self._in_step > OUT_OF_STEP_SECONDS:
            await self._close_with(OUT_OF_STEP)

    async def _handle_results(self, session: Session, message: Json) -> None:
        batch, fence = read_number(message, "batch"), read_number(message, "fence")
        await database.run(_take_results, session, batch, fence, message.get("results"))
        if self._lease == (batch, fence):
            self._lease = None
        await self._send("stored", batch=batch)
        await self._update_lease(session)

    async def _reject(self, reason: str) -> None:
        """Count an invalid message; the third one closes the connection. The lease is revoked: the agent may
        be stuck."""
        self._bad_messages += 1
        logger.warning("agent of %s, bad message %d: %s", self._machine, self._bad_messages, reason)
        if self._session is None or self._bad_messages >= MAX_BAD_MESSAGES:
            await self._close_with(BAD_MESSAGES, reason, retry=self._session is not None)
        elif self._lease is not None:
            batch, self._lease = self._lease[0], None
            await database.run(_revoke_lease, self._session, f"invalid message of the agent: {reason}")
            await self._send("drop", batch=batch)

    async def _wait_for_hello(self) -> None:
        await asyncio.sleep(SILENCE.total_seconds())
        async with self._exclusively():
            await self._close_with(SILENT, "no hello was received in time", retry=True)

    async def _poll(self, session: Session) -> None:
        """Until the end, lease and drop batches, and close the connection after silence or without a valid
        token."""
        wakeup = asyncio.Event()
        with Wakeup(batches_topic(session.machine_id)) as rung, rung.sets(wakeup):
            while not self._is_closed:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(wakeup.wait(), _POLL_SECONDS)
                wakeup.clear()
                async with self._exclusively():
                    if _now() - self._last_message > SILENCE.total_seconds():
                        await self._close_with(SILENT)
                    elif not await self._is_token_valid():
                        await self._close_with(NO_ENTRY, REVOKED)
                    elif not self._is_closed:
                        await self._update_lease(session)

    async def _is_token_valid(self) -> bool:
        """Whether the token is still valid; checked every `TOKEN_CHECK_SECONDS`, which also records its
        use."""
        if _now() < self._next_token_check:
            return True
        self._next_token_check = _now() + TOKEN_CHECK_SECONDS
        return await database.run(sessions.machine_of, _token(self.scope)) is not None

    async def _update_lease(self, session: Session) -> None:
        """Drop a batch whose lease has ended; without a batch, lease the next one."""
        if self._lease is not None:
            if await database.run(_holds_lease, session, *self._lease):
                return
            batch, self._lease = self._lease[0], None
            await self._send("drop", batch=batch)
        leased = await database.run(_lease, session)
        if leased is not None:
            self._lease, self._in_step = (leased.batch, leased.fence), _now()
            await self._send("batch", batch=leased.batch, fence=leased.fence, content=leased.content)

    async def _close_lost_session(self) -> None:
        """Close the connection of a lost session, with the reason: a replaced agent, or an invalid token."""
        try:
            machine: Machine | None = await database.run(sessions.machine_of, _token(self.scope))
        except OperationalError:
            await self._close_with(TRY_AGAIN)
            return
        if machine is None:
            await self._close_with(NO_ENTRY, REVOKED)
        else:
            await self._close_with(REPLACED)

    async def _close_with(self, code: int, reason: str = "", *, retry: bool = False) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        if reason:
            await self._send("refused", reason=reason, retry=retry)
        await self.close(code)

    async def _send(self, kind: str, **content: object) -> None:
        try:
            await self.send(text_data=encode(kind, **content))
        except RuntimeError as error:  # by the web server after the agent has gone; `disconnect` follows
            self._is_closed = True
            logger.info("agent of %s: %s", self._machine, error)


def _lease(session: Session) -> batches.LeasedBatch | None:
    leased = batches.lease(session.machine_id, session.number)
    if leased is None:
        sessions.require_current(session)
    return leased


def _holds_lease(session: Session, batch: int, fence: int) -> bool:
    if batches.is_awaited(session.number, batch, fence):
        return True
    sessions.require_current(session)
    return False


def _take_results(session: Session, batch: int, fence: int, results: object) -> None:
    if not batches.store_results(session.machine_id, session.number, batch, fence, results):
        sessions.require_current(session)  # a valid session with other results acknowledges and drops them


def _revoke_lease(session: Session, note: str) -> None:
    sessions.require_current(session)
    batches.requeue(session.machine_id, note)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _headers(scope: Json) -> dict[bytes, bytes]:
    return dict(scope.get("headers", ()))


def _token(scope: Json) -> str:
    """The bearer token of the handshake; "" without one."""
    kind, _, plain = _headers(scope).get(b"authorization", b"").decode("latin-1").partition(" ")
    return plain.strip() if kind.lower() == "bearer" else ""


def _site(scope: Json) -> str:
    """The URL of this site that the agent used."""
    scheme = "https" if scope.get("scheme") in {"wss", "https"} else "http"
    return f"{scheme}://{_headers(scope).get(b'host', b'').decode('latin-1')[:255]}/"
