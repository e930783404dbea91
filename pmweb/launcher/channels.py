"""Connections over HTTP, and how long their requests may take to arrive.

- The head of a request has to be complete within `settings.HEAD_SECONDS` of the connection's beginning, or of
  its first byte.
- A body has to come at `settings.BYTES_PER_SECOND` on average and may pause for `settings.STALL_SECONDS`; it
  has to be complete within `settings.BODY_SECONDS`.
"""

from __future__ import annotations

import math
import time
from itertools import islice
from typing import Any

from daphne.http_protocol import HTTPFactory
from django.conf import settings
from twisted.internet import reactor
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from twisted.web.http import HTTPChannel

REACTOR: Any = reactor  # whose methods Twisted's types know only by a plugin

LOOK_EVERY_SECONDS, ENDED_AT_ONCE = 0.25, 16
"""Of many that are late a few are ended at a time: all at once would keep everybody else waiting."""

REFUSED_SECONDS = 1.0
"""For so long whoever is refused may begin to say something: without that, the answer could be lost."""


def plain_answer(status: str, text: str, *more: str) -> bytes:
    """An answer without Django, after which the connection ends; `more`: header lines."""
    lines = (f"HTTP/1.1 {status}", *more, "Content-Type: text/plain; charset=utf-8", "Connection: close")
    return "\r\n".join((*lines, f"Content-Length: {len(text) + 1}", "", f"{text}\n")).encode()


_LATE = plain_answer(
    "408 Request Timeout", f"The head of a request has to be here within {settings.HEAD_SECONDS} seconds."
)


class Channel(HTTPChannel):
    """One connection over HTTP; the factory knows those whose head or body is not complete."""

    factory: Channels
    transport: Any

    is_answering = False
    """Whether a request is complete and its answer is not."""

    def connectionMade(self) -> None:  # noqa: N802  Twisted calls it so
        """Wait for the first request."""
        super().connectionMade()
        self._wait_for_head()

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        """More of a head or a body, or of what comes after them."""
        idle = self not in self.factory.waiting and self not in self.factory.bodies
        if idle and not self.is_answering:
            self._wait_for_head()
        super().dataReceived(data)

    def allHeadersReceived(self) -> None:  # noqa: N802
        self.factory.waiting.pop(self, None)
        if self.length != 0:
            self.wait_for_body()
        super().allHeadersReceived()

    def rawDataReceived(self, data: bytes) -> None:  # noqa: N802
        """More of a body, as it is on the wire."""
        patience = self.factory.bodies.get(self)
        if patience is not None:
            patience.note(len(data), time.monotonic())
        super().rawDataReceived(data)

    def allContentReceived(self) -> None:  # noqa: N802
        self.factory.bodies.pop(self, None)
        self.is_answering = True
        super().allContentReceived()

    def requestDone(self, request: Any) -> None:  # noqa: N802
        self.is_answering = False
        super().requestDone(request)

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: N802
        """Whoever it was has left."""
        self._forget()
        super().connectionLost(reason)

    def end(self) -> None:
        """Let go of whoever has not said what they want."""
        self._forget()
        if self.requests:
            self.transport.write(_LATE)
        self.transport.loseConnection()
        self.callLater(REFUSED_SECONDS, self.transport.abortConnection)

    def end_body(self) -> None:
        """Let go of whoever sends too slowly."""
        self._forget()
        self.requests[-1].refuse(
            408,
            f"A body has to come at {settings.BYTES_PER_SECOND} bytes a second, without a pause of more than "
            f"{settings.STALL_SECONDS} s, and within {settings.BODY_SECONDS} s.",
        )

    def wait_for_body(self) -> None:
        """The visitor is expected to send a body."""
        now = time.monotonic()
        self.factory.bodies[self] = Patience(now, now + settings.BODY_SECONDS)

    def hold_body(self) -> None:
        """The visitor has to wait before they go on."""
        self.factory.bodies.pop(self, None)

    def _wait_for_head(self) -> None:
        self.factory.waiting[self] = time.monotonic() + settings.HEAD_SECONDS

    def _forget(self) -> None:
        self.factory.waiting.pop(self, None)
        self.factory.bodies.pop(self, None)


class Channels(HTTPFactory):
    """Daphne's factory with such channels: `waiting` has those without a complete head, the oldest first, and
    until when; `bodies` those of which the body is coming.
    """

    protocol = Channel

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.waiting: dict[Channel, float] = {}
        self.bodies: dict[Channel, Patience] = {}
        REACTOR.callLater(LOOK_EVERY_SECONDS, self._look)

    def _look(self) -> None:
        now = time.monotonic()
        for channel, until in [*islice(self.waiting.items(), ENDED_AT_ONCE)]:
            if until <= now:
                channel.end()
        late = (channel for channel, patience in self.bodies.items() if patience.is_over(now))
        for channel in [*islice(late, ENDED_AT_ONCE)]:
            channel.end_body()
        REACTOR.callLater(LOOK_EVERY_SECONDS, self._look)


class Patience:
    """With somebody of whom `settings.BYTES_PER_SECOND` are expected on average, who may pause for
    `settings.STALL_SECONDS` at most, and has to be done by `end`.
    """

    def __init__(self, now: float, end: float = math.inf) -> None:
        self.moved = now
        """When bytes came last."""
        self._end = end
        self._until = now + settings.STALL_SECONDS

    def note(self, count: int, now: float) -> None:
        """So many bytes have come, or have been read."""
        self.moved = now
        self._until = min(self._until + count / settings.BYTES_PER_SECOND, now + settings.STALL_SECONDS)

    def is_over(self, now: float) -> bool:
        """Whether it is time to part."""
        return now > min(self._until, self._end)
