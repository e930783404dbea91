"""The WebSocket of an agent, `/ws/agent/`: the server's side of `inference.agent.protocol`.

Who shows no good token is refused in the handshake: HTTP 401, or 503 where the database does not answer.
A socket is closed with 4400 after messages that make no sense, 4401 where the token lets nobody in any more,
4408 when nothing was heard for too long, 4409 when a newer connection speaks for the machine or another agent
does, 4410 when the agent is not at work on what it was given, 4429 when it sends more than it has to say,
4503 when the database does not answer: the agent comes back later. Where words help, they are sent first, as
`refused`.
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
from inference.runs.wakeups import Wakeup, batches_of
from inference.web.database_thread import DatabaseThread

BAD_MESSAGES = 4400
SILENT = 4408
REPLACED = 4409
OUT_OF_STEP = 4410
FLOOD = 4429

REVOKED = "the token of this agent was revoked, or its time is over: get a new one from the site"
BEAT_SECONDS = 2.0
OUT_OF_STEP_SECONDS = 10.0
"""How long an agent may beat without a word of the batch that it was given. Then one of the two has missed a
message; with a new connection each learns what the other has."""

MOST_BAD_MESSAGES = 3

_LOOK_EVERY = 1.0  # seconds at most: wake-ups call sooner
TOKEN_LOOKED_AT_EVERY = 60.0
"""Seconds. A revoked token ends its connections at once; one that expires, so much later."""

logger = logging.getLogger(__name__)

database = DatabaseThread("agents")


class AgentConsumer(AsyncWebsocketConsumer):
    """Hands batches to one agent, one at a time, and takes its results and signs of life."""

    channel_layer_alias = NO_LAYER
    _machine: Machine

    async def connect(self) -> None:
        """Accept whoever has a good token; of anybody else there is no connection."""
        self._turn = asyncio.Lock()  # messages and looks take turns: each sees what the one before has done
        self._heard = _now()
        self._token_due = self._heard + TOKEN_LOOKED_AT_EVERY
        self._session: Session | None = None
        self._lease: tuple[int, int] | None = None
        self._in_step = self._heard  # when the agent was last known to be at work on its lease
        self._bad = 0
        self._allowance = Allowance()
        self._over = False
        self._looking: asyncio.Task[None] | None = None
        self._enter()
        try:
            token = await database.run(sessions.token_of, _token(self.scope))
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
        if "caller" in self.scope:  # for a log of who has come
            self.scope["caller"].name = f"agent-token:{token.pk}"
        await self.accept()
        self._looking = asyncio.create_task(self._wait_for_hello())

    def _enter(self) -> None:
        database.enter()
        self._is_inside = True

    def _leave(self) -> None:
        """Once, whether the handshake was refused or the connection has ended."""
        if self._is_inside:
            self._is_inside = False
            database.leave()

    async def disconnect(self, code: int) -> None:
        """Let the batch go back to those that wait."""
        self._over = True
        if self._looking is not None:
            self._looking.cancel()
        async with self._turn:
            try:
                if self._session is not None:
                    await database.run(sessions.close_session, self._session)
            except OperationalError as error:  # the machine goes silent instead
                logger.warning("the database does not answer: %s", error)
            finally:
                self._leave()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        self._heard = _now()
        async with self._in_turn():
            if not self._over:
                await self._take(text_data if text_data is not None else bytes_data or b"")

    @contextlib.asynccontextmanager
    async def _in_turn(self) -> Any:
        """Nothing else of this connection happens meanwhile; what ends it is told to the agent."""
        async with self._turn:
            try:
                yield
            except SessionLostError:
                await self._end_replaced()
            except OperationalError as error:
                logger.warning("the database does not answer: %s", error)
                await self._end(TRY_AGAIN)

    async def _take(self, text: str | bytes) -> None:
        try:
            message = decode(text)
            if not self._is_due(message) and not self._allowance.allows():
                await self._end(FLOOD, "more messages than an agent has to send", retry=True)
                return
            if self._session is None:
                await self._greet(message)
            else:
                await self._answers(message["type"])(self._session, message)
        except OtherProtocolError as error:
            await self._end(BAD_MESSAGES, f"{error}: download the agent again from {_site(self.scope)}")
        except ProtocolError as error:
            await self._count_bad(str(error))
        except RecursionError:  # it can just be read, but hardly be quoted
            await self._count_bad("a message is nested too deeply")

    def _is_due(self, message: Json) -> bool:
        """Whether these are the results that this connection has been waiting for."""
        named = (message.get("batch"), message.get("fence"))
        return message["type"] == "results" and named == self._lease

    def _answers(self, kind: str) -> Callable[[Session, Json], Awaitable[None]]:
        if kind == "beat":
            return self._beat
        if kind == "results":
            return self._results
        raise ProtocolError(f"an agent that has been welcomed sends no {kind!r:.40}")

    async def _greet(self, message: Json) -> None:
        if message["type"] != "hello":
            raise ProtocolError(f"an agent says hello first, not {message['type']!r:.40}")
        hello = read_hello(message)
        answer = await database.run(
            sessions.open_session, self._machine, hello.instance, hello.facts, hello.holds
        )
        if isinstance(answer, AgentRefusal):
            await self._end(REPLACED, answer.reason, retry=answer.retry)
            return
        self._session = answer
        # Between its first look and this session the token may have been revoked; from now on, that ends it.
        if await database.run(sessions.machine_of, _token(self.scope)) is None:
            await self._end(NO_ENTRY, REVOKED)
            return
        await self._say("welcome", protocol=PROTOCOL, machine=answer.machine, beat_seconds=BEAT_SECONDS)
        await self._resume(hello, answer)
        await self._look(answer)
        if self._looking is not None:
            self._looking.cancel()
        self._looking = asyncio.create_task(self._keep_looking(answer))

    async def _resume(self, hello: Hello, session: Session) -> None:
        if hello.holds is None:
            return
        if session.keeps:
            self._lease, self._in_step = hello.holds, _now()
        else:
            await self._say("drop", batch=hello.holds[0])

    async def _beat(self, session: Session, message: Json) -> None:
        beat = read_beat(message)
        await database.run(sessions.beat, session, beat)
        if self._lease is None or beat.batch == self._lease[0]:
            self._in_step = _now()
        elif _now() - self._in_step > OUT_OF_STEP_SECONDS:
            await self._end(OUT_OF_STEP)

    async def _results(self, session: Session, message: Json) -> None:
        batch, fence = read_number(message, "batch"), read_number(message, "fence")
        await database.run(_take_results, session, batch, fence, message.get("results"))
        if self._lease == (batch, fence):
            self._lease = None
        await self._say("stored", batch=batch)
        await self._look(session)

    async def _count_bad(self, reason: str) -> None:
        """The third one ends the connection. Whatever the agent holds is taken from it: it may be stuck."""
        self._bad += 1
        logger.warning("agent of %s, bad message %d: %s", self._machine, self._bad, reason)
        if self._session is None or self._bad >= MOST_BAD_MESSAGES:
            await self._end(BAD_MESSAGES, reason, retry=self._session is not None)
        elif self._lease is not None:
            batch, self._lease = self._lease[0], None
            await database.run(_take_back, self._session, f"the agent said what makes no sense: {reason}")
            await self._say("drop", batch=batch)

    async def _wait_for_hello(self) -> None:
        await asyncio.sleep(SILENCE.total_seconds())
        async with self._in_turn():
            await self._end(SILENT, "an agent says hello first, and at once", retry=True)

    async def _keep_looking(self, session: Session) -> None:
        """Look for batches to hand out or to drop, and whether the agent is still there."""
        wakeup = asyncio.Event()
        with Wakeup(batches_of(session.machine_id)) as rung, rung.setting(wakeup):
            while not self._over:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(wakeup.wait(), _LOOK_EVERY)
                wakeup.clear()
                async with self._in_turn():
                    if _now() - self._heard > SILENCE.total_seconds():
                        await self._end(SILENT)
                    elif not await self._token_holds():
                        await self._end(NO_ENTRY, REVOKED)
                    elif not self._over:
                        await self._look(session)

    async def _token_holds(self) -> bool:
        """Whether the token still lets the agent in; looked up now and then, which notes its use as well."""
        if _now() < self._token_due:
            return True
        self._token_due = _now() + TOKEN_LOOKED_AT_EVERY
        return await database.run(sessions.machine_of, _token(self.scope)) is not None

    async def _look(self, session: Session) -> None:
        """Drop the batch that nobody wants any more; hand out the next one."""
        if self._lease is not None:
            if await database.run(_is_wanted, session, *self._lease):
                return
            batch, self._lease = self._lease[0], None
            await self._say("drop", batch=batch)
        leased = await database.run(_lease, session)
        if leased is not None:
            self._lease, self._in_step = (leased.batch, leased.fence), _now()
            await self._say("batch", batch=leased.batch, fence=leased.fence, content=leased.content)

    async def _end_replaced(self) -> None:
        """Somebody else speaks for the machine; or nobody may by this token."""
        try:
            machine: Machine | None = await database.run(sessions.machine_of, _token(self.scope))
        except OperationalError:
            await self._end(TRY_AGAIN)
            return
        if machine is None:
            await self._end(NO_ENTRY, REVOKED)
        else:
            await self._end(REPLACED)

    async def _end(self, code: int, reason: str = "", *, retry: bool = False) -> None:
        if self._over:
            return
        self._over = True
        if reason:
            await self._say("refused", reason=reason, retry=retry)
        await self.close(code)

    async def _say(self, kind: str, **content: object) -> None:
        try:
            await self.send(text_data=encode(kind, **content))
        except RuntimeError as error:  # the web server's: the agent has gone, and `disconnect` follows
            self._over = True
            logger.info("agent of %s: %s", self._machine, error)


def _lease(session: Session) -> batches.Leased | None:
    leased = batches.lease(session.machine_id, session.number)
    if leased is None:
        sessions.require(session)
    return leased


def _is_wanted(session: Session, batch: int, fence: int) -> bool:
    if batches.is_wanted(session.number, batch, fence):
        return True
    sessions.require(session)
    return False


def _take_results(session: Session, batch: int, fence: int, given: object) -> None:
    if not batches.take_results(session.machine_id, session.number, batch, fence, given):
        sessions.require(session)  # else they are acknowledged, and thrown away


def _take_back(session: Session, note: str) -> None:
    sessions.require(session)
    batches.give_back(session.machine_id, note)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _headers(scope: Json) -> dict[bytes, bytes]:
    return dict(scope.get("headers", ()))


def _token(scope: Json) -> str:
    """What the agent shows; "" where it shows none."""
    kind, _, plain = _headers(scope).get(b"authorization", b"").decode("latin-1").partition(" ")
    return plain.strip() if kind.lower() == "bearer" else ""


def _site(scope: Json) -> str:
    """The address by which the agent found this site."""
    scheme = "https" if scope.get("scheme") in {"wss", "https"} else "http"
    return f"{scheme}://{_headers(scope).get(b'host', b'').decode('latin-1')[:255]}/"
