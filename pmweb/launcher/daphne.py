"""Daphne with limits: `python -m pmweb.launcher.daphne` takes the same arguments as `python -m daphne`.

Twisted keeps the whole body of a request, however long it is, before anybody asks who sends it, and takes
forms apart in memory besides; Daphne then hands all of it over at once, through a queue in memory. Here

- a request has at most `settings.REQUEST_LIMIT_BYTES`, one of somebody who may not upload `ANYBODYS_BYTES`,
- what is more is answered with 413 as soon as the header says so, or as soon as that much has come,
- a long body stays in the file that it came into: the application reads it there,
- an answer is sent as its visitor reads it,
- what a proxy says of its visitors counts where the proxy is trusted,
- connections have bounds of their own (`connections`, `channels`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, BinaryIO

from autobahn.websocket.types import ConnectionDeny
from daphne.ws_protocol import WebSocketProtocol
from twisted.internet.defer import Deferred

from inference.agent.protocol import NO_ENTRY, TRY_AGAIN

from daphne.server import Server  # isort: skip  # installs the reactor
from daphne import http_protocol, server
from daphne.cli import CommandLineInterface
from daphne.ws_protocol import WebSocketFactory
from django.conf import settings
from twisted.internet.threads import deferToThread
from twisted.python.failure import Failure

from inference.sandbox import kernel
from pmweb.callers import CALLER, credentials_in
from pmweb.garbage import look_seldom
from pmweb.handler import BODY
from pmweb.launcher.channels import plain_answer
from pmweb.launcher.connections import Connections, is_trusted, visitor_of
from pmweb.origins import own_cookies

_STATUS = {NO_ENTRY: (401, "Unauthorized"), TRY_AGAIN: (503, "Service Unavailable")}
_FORBIDDEN = (403, "Forbidden")


AGENTS_PATH = "/ws/agent/"
BROWSERS_BYTES = 1 << 16
"""Of a message by anybody but an agent: browsers have nothing to say."""


ANYBODYS_BYTES = 9 << 20
"""Of a request by somebody who may not upload: what a form or a document may have at most
(`DATA_UPLOAD_MAX_MEMORY_SIZE`), so that pmweb itself answers those, and a little more."""

LINGER_SECONDS = 5.0
"""For so long whoever is refused may go on sending, unheard: were the connection closed at once, the answer
would be lost with it."""

_OF_PROXIES = (b"X-Forwarded-For", b"X-Forwarded-Port", b"X-Forwarded-Proto")
_REASONS = {408: "Request Timeout", 413: "Content Too Large", 503: "Service Unavailable"}
logger = logging.getLogger("pmweb.launcher.daphne")  # as a program it has another name


class Socket(WebSocketProtocol):
    """A WebSocket; the code with which the application closes it in the handshake tells the status.

    An agent must know whether to come back.
    """

    handshake_deferred: Deferred[Any]
    transport: Any
    _refusal = _STATUS[TRY_AGAIN]  # of one that is not answered in time

    def onConnect(self, request: Any) -> Any:  # noqa: N802  Autobahn calls it so
        if request.path != AGENTS_PATH:
            self.maxFramePayloadSize = self.maxMessagePayloadSize = BROWSERS_BYTES
        return super().onConnect(request)

    def handle_reply(self, message: dict[str, Any]) -> None:
        if message.get("type") == "websocket.close":
            self._refusal = _STATUS.get(message.get("code", 0), _FORBIDDEN)
        super().handle_reply(message)

    def serverReject(self) -> None:  # noqa: N802  Daphne calls it so
        handshake = self.handshake_deferred

        def refuse(_: Failure) -> None:
            handshake.errback(ConnectionDeny(*self._refusal))

        self.handshake_deferred = Deferred()
        self.handshake_deferred.addErrback(refuse)
        super().serverReject()


class SpooledBody:
    """A body in a file, which Daphne takes for empty once the application has it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._handed = False
        self.write, self.tell, self.seek = file.write, file.tell, file.seek

    @property
    def closed(self) -> bool:
        """Whether the request was abandoned."""
        return self._file.closed and not self._handed

    def hand_over(self) -> BinaryIO:
        """The file from its beginning; closing it is now up to whoever gets it."""
        self._handed = True
        self._file.seek(0)
        return self._file

    def read(self, size: int = -1) -> bytes:
        return b"" if self._handed else self._file.read(size)

    def close(self) -> None:
        """Let go of the file, unless it was handed over."""
        if not self._handed:
            self._file.close()


class BoundedRequest(http_protocol.WebRequest):
    """A request that ends where it becomes too large."""

    content: Any  # a file, or a `SpooledBody`

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, parsePOSTFormSubmission=False, **kwargs)
        self.came = 0
        self._most = ANYBODYS_BYTES
        self._refused = False
        self._asking = False
        self._waiting: Callable[[], None] | None = None

    def gotLength(self, length: int | None) -> None:  # noqa: N802  Twisted calls it so
        """The header is complete; without a length the body comes in chunks."""
        if length is not None and length > self._most:
            self._weigh(length)
        if not self._refused:
            super().gotLength(length)
            if not hasattr(self.content, "getbuffer"):  # not in memory
                self.content = SpooledBody(self.content)

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802
        """Some of the body has come."""
        if self._refused:
            return
        self.came += len(data)
        if self.came > self._most:
            self._weigh(self.came)
        if not self._refused:
            super().handleContentChunk(data)

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:  # noqa: N802
        """All of it has come."""
        if not is_trusted(getattr(self.channel.getPeer(), "host", "")):
            for name in _OF_PROXIES:
                self.requestHeaders.removeHeader(name)
        elif forwarded := self.requestHeaders.getRawHeaders("X-Forwarded-For"):
            self.requestHeaders.setRawHeaders("X-Forwarded-For", [visitor_of(",".join(forwarded))])
        if self._asking:
            self._waiting = lambda: self.requestReceived(command, path, version)
        elif not self._refused:
            super().requestReceived(command, path, version)

    def _weigh(self, size: int) -> None:
        """Refuse a body of so many bytes or more, or find out whether its sender may send them."""
        if size > settings.REQUEST_LIMIT_BYTES:
            most = settings.REQUEST_LIMIT_BYTES >> 20
            self.refuse(413, f"A request can have at most {most} MiB here (PMWEB_REQUEST_MB).")
        elif not self._asking:
            credentials = credentials_in(own_cookies(self._headers()))
            if any(credentials):
                self._ask(*credentials)
            else:
                self._refuse_anybody()

    def _headers(self) -> list[tuple[bytes, bytes]]:
        raw = self.requestHeaders.getAllRawHeaders()
        return [(name.lower(), value) for name, values in raw for value in values]

    def _ask(self, session: str, authorization: str) -> None:
        from pmweb.accounts.api_access import may_change  # noqa: PLC0415  which needs Django to be set up

        self._asking = True
        self.channel.hold_body()
        self.transport.pauseProducing()
        deferToThread(may_change, session, authorization).addCallbacks(self._told, self._unknown)

    def _told(self, may: bool) -> None:
        self._go_on(
            settings.REQUEST_LIMIT_BYTES if may else ANYBODYS_BYTES, self._refuse_anybody, refuse=not may
        )

    def _unknown(self, failure: Failure) -> None:
        logger.error("whether a large request may come in cannot be found out: %s", failure.value)
        self._go_on(
            ANYBODYS_BYTES,
            lambda: self.refuse(503, "Who sends this cannot be found out at the moment. Try again later."),
            refuse=True,
        )

    def _go_on(self, most: int, refusal: Callable[[], None], *, refuse: bool) -> None:
        self._asking = False
        if self.channel is None:  # whoever sent it has left
            return
        self._most = most
        if self._waiting is None:
            self.channel.wait_for_body()
        if refuse and not self._refused:
            refusal()
        self.transport.resumeProducing()
        if self._waiting is not None:
            self._waiting()

    def _refuse_anybody(self) -> None:
        most = ANYBODYS_BYTES >> 20
        self.refuse(
            413, f"Without an account that may upload, a request can have at most {most} MiB. Log in first."
        )

    def refuse(self, status: int, why: str) -> None:
        """Answer, forget what has come, and close the connection."""
        self._refused = True
        self.requestHeaders.removeHeader(b"Expect")  # else Twisted would ask for the body now
        if self.content is not None:
            self.content.close()
        self.transport.write(plain_answer(f"{status} {_REASONS[status]}", why))
        self.transport.loseWriteConnection()
        self.channel.callLater(LINGER_SECONDS, self.transport.abortConnection)


class BoundedServer(Server):
    """Hands bodies over as files, answers as they are read, and believes no visitor where the site begins."""

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        """Send what the application says, once the visitor has taken what it said before."""
        await protocol.transport.writable()
        await super().handle_reply(protocol, message)

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        """An instance of the application for one connection."""
        scope[CALLER] = protocol.transport.begin_request()
        scope["root_path"] = self.root_path  # not what the header Daphne-Root-Path says
        if isinstance(protocol, BoundedRequest):
            if protocol.getHeader("Content-Length") is None and protocol.came:
                # It came in chunks. Django takes what has no length for empty, or for as short as it likes.
                scope["headers"].append((b"content-length", str(protocol.came).encode()))
            if isinstance(protocol.content, SpooledBody):
                scope[BODY] = protocol.content.hand_over()
        return super().create_application(protocol, scope)


class CommandLine(CommandLineInterface):
    server_class = BoundedServer


if __name__ == "__main__":
    look_seldom()
    kernel.protect_process_memory()
    http_protocol.WebRequest = BoundedRequest  # which its factory looks up whenever a connection comes in
    server.HTTPFactory = Connections
    WebSocketFactory.protocol = Socket
    CommandLine.entrypoint()
