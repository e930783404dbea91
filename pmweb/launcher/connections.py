"""Connections of the web process within bounds, so that those who hold them leave room for everybody else.

- Heads and bodies of requests have deadlines, and bodies a rate (`channels`).
- What is sent waits while a visitor does not read what was sent before (`Connection.writable`). Whoever reads
  nothing for `settings.STALL_SECONDS`, or less than `settings.BYTES_PER_SECOND` on average, is let go.
- One address, of IPv6 one network of 64 bits, holds at most `settings.CONNECTIONS_PER_ADDRESS`; trusted
  proxies hold as many as they like. An address is not a person: through `ssh -L` all come from 127.0.0.1. So
  a new connection is let in, and one ends of whoever holds most of them there: that which has stood still for
  longest. Visitors who are not known count as one holder. Only where none can be spared is the new one
  answered with 429.
- Where this process has no room for another, the one ends that has waited longest for the head of a request.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import resource
import socket
import struct
import termios
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address
from itertools import islice
from typing import Any

from django.conf import settings
from twisted.internet.protocol import Protocol, connectionDone
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory
from twisted.python.failure import Failure

from pmweb.callers import ConnectionCaller, network_of
from pmweb.launcher.channels import (
    ENDED_AT_ONCE,
    LOOK_EVERY_SECONDS,
    REACTOR,
    REFUSED_SECONDS,
    Channel,
    Channels,
    Patience,
    plain_answer,
)

Network = IPv4Network | IPv6Network

OF_A_PERSON, STILL_SECONDS = 16, 5.0
"""Where an address has too many connections, a person who has no more of them than that loses only one that
has stood still for so long."""

UNSENT_BYTES = 1 << 16
"""What the kernel takes of an answer beyond what is on its way. By itself it would take up to 4 MiB."""

_TOO_MANY = plain_answer(
    "429 Too Many Requests", "Too many connections from your address. Close some.", "Retry-After: 5"
)


RESERVED_FILES = 256
"""Open files that are kept for everything but connections: the database, static files, logs."""

MOST_FILES = 65_536


def is_trusted(address: str) -> bool:
    """Whether a proxy is there whose word counts, and behind which there are many."""
    try:
        ip_address(address)
    except ValueError:  # a local socket
        return settings.TLS
    return _is_in(address, settings.TRUSTED_PROXIES)


def _is_in(address: str, networks: Iterable[Network]) -> bool:
    try:
        found = ip_address(address)
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None) or found
    return any(mapped in network for network in networks)


def visitor_of(forwarded: str) -> str:
    """The visitor's address in a header X-Forwarded-For, to which each proxy adds the address that it sees:
    the last one that is no proxy's. What stands before it, visitors can write themselves.
    """
    addresses = [address.strip() for address in forwarded.split(",")]
    listed = [network for network in settings.TRUSTED_PROXIES if network.prefixlen]
    return next((address for address in reversed(addresses) if not _is_in(address, listed)), addresses[0])


class Connection(ProtocolWrapper):
    """One connection, over HTTP or, later, of a WebSocket: whose it is, and whether its visitor reads."""

    factory: Connections
    transport: Any
    wrappedProtocol: Any  # noqa: N815  Twisted calls it so

    def __init__(self, factory: Connections, wrapped: Any) -> None:
        super().__init__(factory, wrapped)
        self._caller, self._holder_before = ConnectionCaller(), ""
        self._heard = time.monotonic()
        self._written = self._read = 0
        self._room = asyncio.Event()
        self._room.set()

    def makeConnection(self, transport: Any) -> None:  # noqa: N802  Twisted calls it so
        with contextlib.suppress(OSError):  # not over TCP
            transport.getHandle().setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
        super().makeConnection(transport)

    def begin_request(self) -> ConnectionCaller:
        """Who the next request is from, as soon as somebody finds out."""
        self._holder_before, self._caller = self.holder, ConnectionCaller()
        return self._caller

    @property
    def holder(self) -> str:
        """The person who has it, by the newest request of whom that is known; "" for nobody."""
        return self._caller.holder or self._holder_before

    async def writable(self) -> None:
        """Return once there is room for more, or the connection is lost."""
        await self._room.wait()

    def registerProducer(self, producer: Any, streaming: bool) -> None:  # noqa: N802
        """Hear as well whenever there is too much that has not been sent."""
        super().registerProducer(_Outflow(self, producer), streaming)

    def write(self, data: bytes) -> None:
        """Send it, and watch until it has been read."""
        super().write(data)
        self._watch(len(data))

    def writeSequence(self, data: Any) -> None:  # noqa: N802
        super().writeSequence(data)
        self._watch(sum(map(len, data)))

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        """The visitor has said something."""
        self._heard = time.monotonic()
        super().dataReceived(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: N802
        """Whoever waits for room waits no longer."""
        self._room.set()
        super().connectionLost(reason)

    def pause(self) -> None:
        """Nothing more is to be written; what a WebSocket is sent meanwhile could only add to it."""
        self._room.clear()
        if not isinstance(self.wrappedProtocol, Channel):
            self.transport.pauseProducing()

    def resume(self) -> None:
        """All that was written has been sent."""
        self._room.set()
        if not isinstance(self.wrappedProtocol, Channel):
            self.transport.resumeProducing()

    def still_seconds(self, now: float) -> float:
        """For how long it has waited for its visitor; 0 where the visitor waits."""
        patience = self.factory.unread.get(self)
        if patience is not None:
            return now - patience.moved
        waits = isinstance(self.wrappedProtocol, Channel) and not self.wrappedProtocol.is_answering
        return now - self._heard if waits else 0.0

    def note_read(self, patience: Patience, now: float) -> int:
        """How many bytes the visitor's host has yet to take; what it has taken since is noted."""
        left = _untaken(self.transport)
        if self._written - left > self._read:
            patience.note(self._written - left - self._read, now)
            self._read = self._written - left
        return left

    def _watch(self, count: int) -> None:
        self._written += count
        if self not in self.factory.unread:
            self.factory.unread[self] = Patience(time.monotonic())


class _Outflow:
    """What Twisted tells the channel of a connection about its transport, and the connection first."""

    def __init__(self, connection: Connection, channel: Any) -> None:
        self._connection, self._channel = connection, channel
        self.stopProducing = channel.stopProducing

    def pauseProducing(self) -> None:  # noqa: N802
        """The transport has too much that is not sent."""
        self._connection.pause()
        self._channel.pauseProducing()

    def resumeProducing(self) -> None:  # noqa: N802
        self._connection.resume()
        self._channel.resumeProducing()


def _untaken(transport: Any) -> int:
    """Bytes that Twisted has not given to the kernel, or the kernel has and the other side has not taken."""
    unsent = len(transport.dataBuffer) - transport.offset + transport._tempDataLen
    try:
        (queued,) = struct.unpack("i", fcntl.ioctl(transport.fileno(), termios.TIOCOUTQ, bytes(4)))
    except (OSError, ValueError):  # it is closed
        queued = 0
    return int(unsent + queued)


class ConnectionRefused(Protocol):
    """A connection of somebody who has too many."""

    transport: Any

    def connectionMade(self) -> None:  # noqa: N802
        """Wait for what they want: an answer before it could be lost."""
        self._end = REACTOR.callLater(REFUSED_SECONDS, self.transport.abortConnection)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        self.transport.write(_TOO_MANY)
        self.transport.loseConnection()

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: N802
        if self._end.active():
            self._end.cancel()


class Connections(WrappingFactory[Connection]):
    """All connections of this process, WebSockets among them, by address; `unread` has those to which
    something was sent that has not been read.
    """

    protocol = Connection

    def __init__(self, server: Any) -> None:
        super().__init__(Channels(server))
        self.unread: dict[Connection, Patience] = {}
        self._most = raise_file_limit()
        self._at: defaultdict[str, dict[Connection, None]] = defaultdict(dict)
        REACTOR.callLater(LOOK_EVERY_SECONDS, self._look)

    def buildProtocol(self, addr: Any) -> Protocol:  # type: ignore[override]  # noqa: N802
        """What a new connection is met by."""
        address = getattr(addr, "host", "")
        network, allowed = network_of(address), settings.CONNECTIONS_PER_ADDRESS
        is_crowd = allowed and len(self._at.get(network, ())) >= allowed and not is_trusted(address)
        if is_crowd and not self._end_at(network):
            return ConnectionRefused()
        if len(self.protocols) >= self._most and not self._make_room():
            return ConnectionRefused()
        return super().buildProtocol(addr)

    def registerProtocol(self, p: Connection) -> None:  # noqa: N802
        super().registerProtocol(p)
        self._at[_network(p)][p] = None

    def unregisterProtocol(self, p: Connection) -> None:  # noqa: N802
        super().unregisterProtocol(p)
        self._forget(p)

    def _look(self) -> None:
        now, late = time.monotonic(), []
        for connection, patience in [*self.unread.items()]:
            if not connection.note_read(patience, now):
                del self.unread[connection]
            elif patience.is_over(now):
                late.append(connection)
        for connection in islice(late, ENDED_AT_ONCE):
            self._abort(connection)
        REACTOR.callLater(LOOK_EVERY_SECONDS, self._look)

    def _make_room(self) -> bool:
        oldest = next(iter(self.wrappedFactory.waiting), None)
        if oldest is not None:
            oldest.end()
            return True
        crowded = max(self._at, key=lambda network: len(self._at[network]), default=None)
        return crowded is not None and self._end_at(crowded)

    def _end_at(self, network: str) -> bool:
        """End the connection at an address that is the least loss, if there is one to be ended."""
        now, connections = time.monotonic(), self._at[network]
        held = Counter(connection.holder for connection in connections)
        dispensable = (
            connection
            for connection in connections
            if not connection.holder
            or held[connection.holder] > OF_A_PERSON
            or connection.still_seconds(now) > STILL_SECONDS
        )
        ended = max(
            dispensable,
            key=lambda connection: (held[connection.holder], connection.still_seconds(now)),
            default=None,
        )
        if ended is not None:
            self._abort(ended)
        return ended is not None

    def _abort(self, connection: Connection) -> None:
        self._forget(connection)
        connection.transport.abortConnection()

    def _forget(self, connection: Connection) -> None:
        """At once, though a connection that is ended is lost a little later."""
        self.unread.pop(connection, None)
        network = _network(connection)
        self._at[network].pop(connection, None)
        if not self._at[network]:
            del self._at[network]


def _network(connection: ProtocolWrapper) -> str:
    return network_of(getattr(connection.getPeer(), "host", ""))


def raise_file_limit() -> int:
    """Let this process open as many files as the kernel lets it, and say how many connections that gives."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        wanted = min(soft, MOST_FILES) if soft != resource.RLIM_INFINITY else MOST_FILES
    else:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return max(wanted - RESERVED_FILES, wanted // 2)
