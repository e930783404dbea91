"""HTTP connections with deadlines for the arrival of requests.

- The head of a request must be complete within `settings.HEAD_SECONDS` of the connection's beginning, or of
  its first byte.
- A body must arrive at `settings.BYTES_PER_SECOND` on average, with pauses of at most
  `settings.STALL_SECONDS`, and be complete within `settings.BODY_SECONDS`.
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

REACTOR: Any = reactor  # Twisted's types need a plugin for its methods

POLL_INTERVAL, MAX_ENDED_PER_POLL = 0.25, 16
"""Seconds between polls, and late connections ended per poll: ending all at once would delay the others."""

REFUSED_SECONDS = 1.0
"""Seconds that a refused connection stays open for input: closed at once, the answer could be lost."""


def plain_answer(status: str, text: str, *headers: str) -> bytes:
    """An HTTP answer made without Django, which closes the connection; `headers`: header lines."""
    lines = (f"HTTP/1.1 {status}", *headers, "Content-Type: text/plain; charset=utf-8", "Connection: close")
    return "\r\n".join((*lines, f"Content-Length: {len(text) + 1}", "", f"{text}\n")).encode()


_HEAD_TIMEOUT_ANSWER = plain_answer(
    "408 Request Timeout", f"The head of a request must arrive within {settings.HEAD_SECONDS} seconds."
)


class Channel(HTTPChannel):
    """An HTTP connection; the factory has those with an incomplete head or body."""

    factory: Channels
    transport: Any

    is_answering = False
    """Whether a complete request is being answered."""

    def connectionMade(self) -> None:  # noqa: N802  Twisted calls it so
        """Start the deadline of the first request."""
        super().connectionMade()
        self._wait_for_head()

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        """Start a deadline if the data begins a new request."""
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
        """Count the bytes of a body, as transferred."""
        deadline = self.factory.bodies.get(self)
        if deadline is not None:
            deadline.record(len(data), time.monotonic())
        super().rawDataReceived(data)

    def allContentReceived(self) -> None:  # noqa: N802
        self.factory.bodies.pop(self, None)
        self.is_answering = True
        super().allContentReceived()

    def requestDone(self, request: Any) -> None:  # noqa: N802
        self.is_answering = False
        super().requestDone(request)

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: N802
        self._stop_waiting()
        super().connectionLost(reason)

    def end(self) -> None:
        """Close a connection whose head is late."""
        self._stop_waiting()
        if self.requests:
            self.transport.write(_HEAD_TIMEOUT_ANSWER)
        self.transport.loseConnection()
        self.callLater(REFUSED_SECONDS, self.transport.abortConnection)

    def end_body(self) -> None:
        """Refuse a request whose body is too slow."""
        self._stop_waiting()
        self.requests[-1].refuse(
            408,
            f"A body must arrive at {settings.BYTES_PER_SECOND} bytes a second, with pauses of at most "
            f"{settings.STALL_SECONDS} s, and within {settings.BODY_SECONDS} s.",
        )

    def wait_for_body(self) -> None:
        now = time.monotonic()
        self.factory.bodies[self] = TransferDeadline(now, now + settings.BODY_SECONDS)

    def pause_body(self) -> None:
        """Suspend the deadline of a body while the server does not read."""
        self.factory.bodies.pop(self, None)

    def _wait_for_head(self) -> None:
        self.factory.waiting[self] = time.monotonic() + settings.HEAD_SECONDS

    def _stop_waiting(self) -> None:
        self.factory.waiting.pop(self, None)
        self.factory.bodies.pop(self, None)


class Channels(HTTPFactory):
    """Daphne's factory with deadlines: `waiting` has {channel without a complete head: deadline}, oldest
    first; `bodies` has {channel with an incomplete body: deadline}."""

    protocol = Channel

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.waiting: dict[Channel, float] = {}
        self.bodies: dict[Channel, TransferDeadline] = {}
        REACTOR.callLater(POLL_INTERVAL, self._poll)

    def _poll(self) -> None:
        now = time.monotonic()
        for channel, until in [*islice(self.waiting.items(), MAX_ENDED_PER_POLL)]:
            if until <= now:
                channel.end()
        late = (channel for channel, deadline in self.bodies.items() if deadline.is_expired(now))
        for channel in [*islice(late, MAX_ENDED_PER_POLL)]:
            channel.end_body()
        REACTOR.callLater(POLL_INTERVAL, self._poll)


class TransferDeadline:
    """Deadline of a transfer at `settings.BYTES_PER_SECOND` on average, with pauses of at most
    `settings.STALL_SECONDS`, and complete by `end`."""

    def __init__(self, now: float, end: float = math.inf) -> None:
        self.last_transfer = now
        """Clock of the last transferred bytes."""
        self._end = end
        self._until = now + settings.STALL_SECONDS

    def record(self, count: int, now: float) -> None:
        """Record that `count` bytes were transferred at `now`."""
        self.last_transfer = now
        self._until = min(self._until + count / settings.BYTES_PER_SECOND, now + settings.STALL_SECONDS)

    def is_expired(self, now: float) -> bool:
        """Whether the transfer is too slow or late."""
        return now > min(self._until, self._end)
