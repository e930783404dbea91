"""Daphne with limits: `python -m pmweb.launcher.daphne` takes the same arguments as `python -m daphne`.

Twisted stores the whole body of a request, of any length, before authentication, and parses forms in memory;
Daphne then passes the body through a queue in memory. Here

- a request has at most `settings.REQUEST_LIMIT_BYTES`; without the permission to upload,
  `ANONYMOUS_LIMIT_BYTES`,
- a larger one is answered with 413 as soon as its header or the received bytes show it,
- a long body stays in Twisted's file, and the application reads it there,
- an answer is sent as its visitor reads it,
- headers of proxies count only from trusted proxies,
- connections have limits of their own (`connections`, `channels`).

It must not import models: the process checks requests before Django is loaded.
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
from pmweb.garbage import collect_rarely
from pmweb.handler import BODY
from pmweb.launcher.channels import plain_answer
from pmweb.launcher.connections import Connections, is_trusted, visitor_of
from pmweb.origins import own_cookies

_STATUS = {NO_ENTRY: (401, "Unauthorized"), TRY_AGAIN: (503, "Service Unavailable")}
_FORBIDDEN = (403, "Forbidden")


AGENTS_PATH = "/ws/agent/"
BROWSER_MESSAGE_BYTES = 1 << 16
"""Largest WebSocket message of a browser: pages send next to nothing."""


ANONYMOUS_BYTES = 9 << 20
"""Largest request without the permission to upload: a little more than a form may have
(`DATA_UPLOAD_MAX_MEMORY_SIZE`), so that Django answers larger forms."""

LINGER_SECONDS = 5.0
"""Seconds that a refused sender may go on sending: if the connection closed at once, the answer would be
lost."""

_PROXY_HEADERS = (b"X-Forwarded-For", b"X-Forwarded-Port", b"X-Forwarded-Proto")
_REASONS = {408: "Request Timeout", 413: "Content Too Large", 503: "Service Unavailable"}
logger = logging.getLogger("pmweb.launcher.daphne")  # `__name__` is "__main__" here


class Socket(WebSocketProtocol):
    """A WebSocket whose refusal has an HTTP status by the application's close code.

    By the status an agent knows whether to try again.
    """

    handshake_deferred: Deferred[Any]
    transport: Any
    _refusal = _STATUS[TRY_AGAIN]  # if the application does not answer in time

    def onConnect(self, request: Any) -> Any:  # noqa: N802  Autobahn calls it so
        if request.path != AGENTS_PATH:
            self.maxFramePayloadSize = self.maxMessagePayloadSize = BROWSER_MESSAGE_BYTES
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
    """A body in a file; it reads as empty for Daphne after `detach`."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._is_detached = False
        self.write, self.tell, self.seek = file.write, file.tell, file.seek

    @property
    def closed(self) -> bool:
        return self._file.closed and not self._is_detached

    def detach(self) -> BinaryIO:
        """Return the file, at its beginning; the caller must close it."""
        self._is_detached = True
        self._file.seek(0)
        return self._file

    def read(self, size: int = -1) -> bytes:
        return b"" if self._is_detached else self._file.read(size)

    def close(self) -> None:
        """Close the file, unless it was detached."""
        if not self._is_detached:
            self._file.close()


class BoundedRequest(http_protocol.WebRequest):
    content: Any  # a file, or a `SpooledBody`

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, parsePOSTFormSubmission=False, **kwargs)
        self.received_bytes = 0
        self._limit = ANONYMOUS_BYTES
        self._refused = False
        self._is_checking = False
        self._deferred_request: Callable[[], None] | None = None

    def gotLength(self, length: int | None) -> None:  # noqa: N802  Twisted calls it so
        """Check the length in the header; None for a chunked body."""
        if length is not None and length > self._limit:
            self._check_size(length)
        if not self._refused:
            super().gotLength(length)
            if not hasattr(self.content, "getbuffer"):  # a file, not `BytesIO`
                self.content = SpooledBody(self.content)

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802
        """Check the number of received bytes."""
        if self._refused:
            return
        self.received_bytes += len(data)
        if self.received_bytes > self._limit:
            self._check_size(self.received_bytes)
        if not self._refused:
            super().handleContentChunk(data)

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:  # noqa: N802
        """Drop untrusted headers of proxies, and process the request after a pending permission check."""
        if not is_trusted(getattr(self.channel.getPeer(), "host", "")):
            for name in _PROXY_HEADERS:
                self.requestHeaders.removeHeader(name)
        elif forwarded := self.requestHeaders.getRawHeaders("X-Forwarded-For"):
            self.requestHeaders.setRawHeaders("X-Forwarded-For", [visitor_of(",".join(forwarded))])
        if self._is_checking:
            self._deferred_request = lambda: self.requestReceived(command, path, version)
        elif not self._refused:
            super().requestReceived(command, path, version)

    def _check_size(self, size: int) -> None:
        """Refuse a body of at least `size` bytes, or start to check the sender's permission."""
        if size > settings.REQUEST_LIMIT_BYTES:
            mebibytes = settings.REQUEST_LIMIT_BYTES >> 20
            self.refuse(413, f"A request may have at most {mebibytes} MiB here (PMWEB_REQUEST_MB).")
        elif not self._is_checking:
            credentials = credentials_in(own_cookies(self._headers()))
            if any(credentials):
                self._check_permission(*credentials)
            else:
                self._refuse_anonymous()

    def _headers(self) -> list[tuple[bytes, bytes]]:
        raw = self.requestHeaders.getAllRawHeaders()
        return [(name.lower(), value) for name, values in raw for value in values]

    def _check_permission(self, session: str, authorization: str) -> None:
        from pmweb.accounts.api_access import may_change  # noqa: PLC0415  needs Django to be set up

        self._is_checking = True
        self.channel.pause_body()
        self.transport.pauseProducing()
        deferToThread(may_change, session, authorization).addCallbacks(self._on_permission, self._on_error)

    def _on_permission(self, may: bool) -> None:
        self._continue(
            settings.REQUEST_LIMIT_BYTES if may else ANONYMOUS_BYTES,
            self._refuse_anonymous,
            refuse=not may,
        )

    def _on_error(self, failure: Failure) -> None:
        logger.error("the permission of a large request cannot be checked: %s", failure.value)
        self._continue(
            ANONYMOUS_BYTES,
            lambda: self.refuse(503, "Your permission cannot be checked at the moment. Try again later."),
            refuse=True,
        )

    def _continue(self, limit: int, refusal: Callable[[], None], *, refuse: bool) -> None:
        self._is_checking = False
        if self.channel is None:  # the sender has disconnected
            return
        self._limit = limit
        if self._deferred_request is None:
            self.channel.wait_for_body()
        if refuse and not self._refused:
            refusal()
        self.transport.resumeProducing()
        if self._deferred_request is not None:
            self._deferred_request()

    def _refuse_anonymous(self) -> None:
        mebibytes = ANONYMOUS_BYTES >> 20
        self.refuse(
            413, f"Without permission to upload, a request may have at most {mebibytes} MiB. Log in first."
        )

    def refuse(self, status: int, reason: str) -> None:
        """Answer with an error, discard the body, and close the connection."""
        self._refused = True
        self.requestHeaders.removeHeader(b"Expect")  # otherwise Twisted would request the body now
        if self.content is not None:
            self.content.close()
        self.transport.write(plain_answer(f"{status} {_REASONS[status]}", reason))
        self.transport.loseWriteConnection()
        self.channel.callLater(LINGER_SECONDS, self.transport.abortConnection)


class BoundedServer(Server):
    """Passes bodies as files, sends answers as they are read, and ignores the header of the root path."""

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        """Send a message of the application when the visitor has read the earlier ones."""
        await protocol.transport.writable()
        await super().handle_reply(protocol, message)

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        """An instance of the application for one request or WebSocket."""
        scope[CALLER] = protocol.transport.begin_request()
        scope["root_path"] = self.root_path  # visitors could set it by the header Daphne-Root-Path
        if isinstance(protocol, BoundedRequest):
            if protocol.getHeader("Content-Length") is None and protocol.received_bytes:
                # A chunked body: Django takes a body without a length for empty.
                scope["headers"].append((b"content-length", str(protocol.received_bytes).encode()))
            if isinstance(protocol.content, SpooledBody):
                scope[BODY] = protocol.content.detach()
        return super().create_application(protocol, scope)


class CommandLine(CommandLineInterface):
    server_class = BoundedServer


if __name__ == "__main__":
    collect_rarely()
    kernel.protect_process_memory()
    http_protocol.WebRequest = BoundedRequest  # Daphne's factory looks it up at every connection
    server.HTTPFactory = Connections
    WebSocketFactory.protocol = Socket
    CommandLine.entrypoint()
