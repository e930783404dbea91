"""Connections of the web process within bounds, so that those who hold them leave room for everybody else.

- The head of a request has to be complete within `settings.HEAD_SECONDS` of the connection's beginning, or of
  its first byte, however slowly it drips in.
- One address, of IPv6 one network of 64 bits, holds at most `settings.CONNECTIONS_PER_ADDRESS`; what is more
  is answered with 429. Trusted proxies hold as many as they like.
- Where this process has no room for another, the one ends that has waited longest for the head of a request.
"""

from __future__ import annotations

import resource
import time
from collections import Counter
from ipaddress import ip_address
from itertools import islice
from typing import Any

from daphne.http_protocol import HTTPFactory
from django.conf import settings
from twisted.internet import reactor
from twisted.internet.protocol import Protocol, connectionDone
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory
from twisted.python.failure import Failure
from twisted.web.http import HTTPChannel

from pmweb.callers import network_of

# How many files this process may open: as many as the kernel lets it.


RESERVED_FILES = 256
"""Open files that are kept for everything but connections: the database, static files, logs."""
MOST_FILES = 65_536


def raise_file_limit() -> int:
    """Let this process open as many files as the kernel lets it, and say how many connections that gives."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        wanted = min(soft, MOST_FILES) if soft != resource.RLIM_INFINITY else MOST_FILES
    else:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return max(wanted - RESERVED_FILES, wanted // 2)


_reactor: Any = reactor  # whose methods Twisted's types know only by a plugin

_LOOK_EVERY_SECONDS, _ENDED_AT_ONCE = 0.25, 16
"""Of many that are late a few are ended at a time: all at once would keep everybody else waiting."""

_REFUSED_SECONDS = 1.0
"""For so long whoever is refused may begin to say something: without that, the answer could be lost."""


def _answer(status: str, text: str, *more: str) -> bytes:
    lines = (f"HTTP/1.1 {status}", *more, "Content-Type: text/plain; charset=utf-8", "Connection: close")
    return "\r\n".join((*lines, f"Content-Length: {len(text) + 1}", "", f"{text}\n")).encode()


_LATE = _answer(
    "408 Request Timeout", f"The head of a request has to be here within {settings.HEAD_SECONDS} seconds."
)
_TOO_MANY = _answer(
    "429 Too Many Requests", "Too many connections from your address. Close some.", "Retry-After: 5"
)


def is_trusted(address: str) -> bool:
    """Whether a proxy is there whose word counts, and behind which there are many."""
    try:
        found = ip_address(address)
    except ValueError:  # a local socket
        return settings.TLS
    mapped = getattr(found, "ipv4_mapped", None) or found
    return any(mapped in network for network in settings.TRUSTED_PROXIES)


class Channel(HTTPChannel):
    """One connection over HTTP; the factory knows those whose head is not complete."""

    factory: Channels
    transport: Any

    def connectionMade(self) -> None:  # noqa: N802  Twisted calls it so
        """Wait for the first request."""
        super().connectionMade()
        self._wait()

    def lineReceived(self, line: bytes) -> None:  # noqa: N802
        """One more line of a head."""
        if self not in self.factory.waiting:
            self._wait()
        super().lineReceived(line)

    def allHeadersReceived(self) -> None:  # noqa: N802
        """The head is complete."""
        self.factory.waiting.pop(self, None)
        super().allHeadersReceived()

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: N802
        """Whoever it was has left."""
        self.factory.waiting.pop(self, None)
        super().connectionLost(reason)

    def end(self) -> None:
        """Let go of whoever has not said what they want."""
        self.factory.waiting.pop(self, None)
        if self.requests:
            self.transport.write(_LATE)
        self.transport.loseConnection()
        self.callLater(_REFUSED_SECONDS, self.transport.abortConnection)

    def _wait(self) -> None:
        self.factory.waiting[self] = time.monotonic() + settings.HEAD_SECONDS


class Channels(HTTPFactory):
    """Daphne's factory with such channels; `waiting` has those without a complete head, the oldest first, and
    until when.
    """

    protocol = Channel

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.waiting: dict[Channel, float] = {}
        _reactor.callLater(_LOOK_EVERY_SECONDS, self._look)

    def _look(self) -> None:
        now = time.monotonic()
        for channel, until in [*islice(self.waiting.items(), _ENDED_AT_ONCE)]:
            if until <= now:
                channel.end()
        _reactor.callLater(_LOOK_EVERY_SECONDS, self._look)


class ConnectionRefused(Protocol):
    """A connection of somebody who has too many."""

    transport: Any

    def connectionMade(self) -> None:  # noqa: N802
        """Wait for what they want: an answer before it could be lost."""
        self._end = _reactor.callLater(_REFUSED_SECONDS, self.transport.abortConnection)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        """Whatever it was."""
        self.transport.write(_TOO_MANY)
        self.transport.loseConnection()

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: N802
        """They have left."""
        if self._end.active():
            self._end.cancel()


class Connections(WrappingFactory):
    """All connections of this process, WebSockets among them, counted by address."""

    def __init__(self, server: Any) -> None:
        super().__init__(Channels(server))
        self._most = raise_file_limit()
        self._of: Counter[str] = Counter()

    def buildProtocol(self, addr: Any) -> Protocol:  # type: ignore[override]  # noqa: N802
        """What a new connection is met by."""
        address = getattr(addr, "host", "")
        allowed = settings.CONNECTIONS_PER_ADDRESS
        if allowed and self._of[network_of(address)] >= allowed and not is_trusted(address):
            return ConnectionRefused()
        if len(self.protocols) >= self._most:
            self._make_room()
        return super().buildProtocol(addr)

    def registerProtocol(self, p: ProtocolWrapper) -> None:  # noqa: N802
        """It has begun."""
        super().registerProtocol(p)
        self._of[_network(p)] += 1

    def unregisterProtocol(self, p: ProtocolWrapper) -> None:  # noqa: N802
        """It is over."""
        super().unregisterProtocol(p)
        network = _network(p)
        self._of[network] -= 1
        if not self._of[network]:
            del self._of[network]

    def _make_room(self) -> None:
        oldest = next(iter(self.wrappedFactory.waiting), None)
        if oldest is not None:
            oldest.end()


def _network(connection: ProtocolWrapper) -> str:
    return network_of(getattr(connection.getPeer(), "host", ""))
