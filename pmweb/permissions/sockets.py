"""Enforces the rules of WebSockets of browsers, at the opening and while they are open.

A socket outlives its request. So the sessions of all open sockets are polled once a second, and a socket is
closed when its user has logged out, was deactivated, has a new password, or lost the required level.

Close codes: 4401 if the visitor has to log in, 4403 if the user is not permitted, 4429 above
`settings.SOCKETS_PER_PERSON` sockets in this process, per user or per address of visitors.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from channels.db import database_sync_to_async
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.urls import URLPattern

from pmweb.accounts.roles import AccessLevel, level_of
from pmweb.accounts.sessions import digest_of
from pmweb.accounts.watching import SessionVisit, Visit, watch_visit
from pmweb.callers import CALLER, ConnectionCaller, network_of
from pmweb.origins import Application, Message, Receive, Send
from pmweb.permissions.table import rule_of

LOGIN_REQUIRED = 4401
FORBIDDEN = 4403
TOO_MANY = 4429


def with_guards(patterns: Iterable[URLPattern]) -> list[URLPattern]:
    """The patterns with guarded applications. Raises `ImproperlyConfigured` for a pattern without a rule."""
    return [URLPattern(pattern.pattern, _guard(pattern), name=pattern.name) for pattern in patterns]


def _guard(pattern: URLPattern) -> Guard:
    rule = rule_of(pattern.name)
    if rule is None or rule.read is None:
        raise ImproperlyConfigured(f"the WebSocket {pattern.name!r} has no rule in pmweb/permissions")
    return Guard(pattern.callback, rule.read)


@dataclass(frozen=True)
class Guard:
    """ASGI middleware for a WebSocket that requires a level."""

    application: Application
    needs: AccessLevel

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Pass the connection on, or refuse it with a close code, which scripts can read."""
        user = scope.get("user")
        level = await database_sync_to_async(level_of)(user)
        if level < self.needs:
            await _refuse(receive, send, LOGIN_REQUIRED if level < AccessLevel.MEMBER else FORBIDDEN)
            return
        caller = scope.get(CALLER) or ConnectionCaller()
        if user is not None and level >= AccessLevel.MEMBER:
            caller.name, caller.account = user.get_username(), user.pk
        with _count(caller.holder or network_of((scope.get("client") or [""])[0])) as is_too_many:
            if is_too_many:
                await _refuse(receive, send, TOO_MANY)
            else:
                await self._serve(scope, receive, send, level)

    async def _serve(self, scope: dict[str, Any], receive: Receive, send: Send, level: AccessLevel) -> None:
        user = scope.get("user")
        if user is None or level < AccessLevel.MEMBER:  # public reading: there is no session that could end
            await self.application(scope, receive, send)
            return
        session = digest_of(scope["session"].session_key)
        with watch_visit(SessionVisit(session, user.pk, user.password, self.needs)) as visit:
            await self.application(scope, *_GuardedConnection(visit, receive, send).both)


_open: Counter[str] = Counter()
"""Open WebSockets per holder in this process."""


@contextmanager
def _count(holder: str) -> Iterator[bool]:
    """Context that counts a socket of the holder; yields whether it exceeds the limit."""
    _open[holder] += 1
    try:
        yield 0 < settings.SOCKETS_PER_PERSON < _open[holder]
    finally:
        _open[holder] -= 1
        if not _open[holder]:
            del _open[holder]


async def _refuse(receive: Receive, send: Send, code: int) -> None:
    await receive()
    await send({"type": "websocket.accept"})
    await send({"type": "websocket.close", "code": code})


@dataclass
class _GuardedConnection:
    """A connection that ends with its session: the application gets a disconnect."""

    visit: Visit
    receive: Receive
    send: Send
    closed: bool = field(default=False)

    @property
    def both(self) -> tuple[Receive, Send]:
        """(receive, send) for the application."""
        return self._receive, self._send

    async def _receive(self) -> Message:
        message = asyncio.ensure_future(self.receive())
        ended = asyncio.ensure_future(self.visit.ended.wait())
        try:
            await asyncio.wait({message, ended}, return_when=asyncio.FIRST_COMPLETED)
            if not self.visit.ended.is_set():
                return message.result()
        finally:
            ended.cancel()
            message.cancel()
        await self._send({"type": "websocket.close", "code": LOGIN_REQUIRED})
        return {"type": "websocket.disconnect", "code": LOGIN_REQUIRED}

    async def _send(self, message: Message) -> None:
        if self.closed or (self.visit.ended.is_set() and message["type"] != "websocket.close"):
            return  # the user has logged out meanwhile
        self.closed = message["type"] == "websocket.close"
        await self.send(message)
