"""Limits of the web process's connections, so that slow or greedy visitors leave room for others.

- Heads and bodies of requests have deadlines, and bodies a rate (`channels`).
- Answers are sent as the visitor reads (`Connection.writable`). A visitor who reads nothing for
  `settings.STALL_SECONDS`, or less than `settings.BYTES_PER_SECOND` on average, is disconnected.
- An address (IPv6: a /64) has at most `settings.CONNECTIONS_PER_ADDRESS` connections; trusted proxies have no
  limit. Several people may share an address: through `ssh -L` all come from 127.0.0.1. So a new connection
  above the limit is accepted, and the holder with most connections there loses the one that has been idle for
  longest. All visitors without an account count as one holder. If no connection can be closed, the new one
  gets 429.
- If the process has no free file, the connection closes that has waited longest for the head of a request.
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
    MAX_ENDED_PER_POLL,
    POLL_INTERVAL,
    REACTOR,
    REFUSED_SECONDS,
    Channel,
    Channels,
    TransferDeadline,
    plain_answer,
)

Network = IPv4Network | IPv6Network

CONNECTIONS_PER_PERSON, IDLE_SECONDS = 16, 5.0
"""At a full address, a user with at most `CONNECTIONS_PER_PERSON` connections only loses one that has been
idle for `IDLE_SECONDS`."""

UNSENT_BYTES = 1 << 16
"""Bytes of an answer that the kernel buffers beyond those in flight; its default is up to 4 MiB."""

_TOO_MANY = plain_answer(
    "429 Too Many Requests", "Too many connections from your address. Close some.", "Retry-After: 5"
)


RESERVED_FILES = 256
"""Open files reserved for the database, static files and logs."""

MAX_FILES = 65_536


def is_trusted(address: str) -> bool:
    """Whether the address is a trusted proxy's, which has many visitors behind it."""
    try:
        ip_address(address)
    except ValueError:  # a local socket
        return settings.TLS
    return _is_in(address, settings.TRUSTED_PROXIES)


def _is_in(address: str, networks: Iterable[Network]) -> bool:
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None) or parsed
    return any(mapped in network for network in networks)


def visitor_of(forwarded: str) -> str:
    """The visitor's address in a header X-Forwarded-For: the last one that is not a trusted proxy's.

    Every proxy appends the address that it sees; earlier entries may be forged by the visitor.
    """
    addresses = [address.strip() for address in forwarded.split(",")]
    listed = [network for network in settings.TRUSTED_PROXIES if network.prefixlen]
    return next((address for address in reversed(addresses) if not _is_in(address, listed)), addresses[0])


class Connection(ProtocolWrapper):
    """A connection of HTTP or a WebSocket: its holder, and the progress of its reader."""

    factory: Connections
    transport: Any
    wrappedProtocol: Any  # noqa: N815  Twisted calls it so

    def __init__(self, factory: Connections, wrapped: Any) -> None:
        super().__init__(factory, wrapped)
        self._caller, self._previous_holder = ConnectionCaller(), ""
        self._last_data = time.monotonic()
        self._written = self._read = 0
        self._room = asyncio.Event()
        self._room.set()

    def makeConnection(self, transport: Any) -> None:  # noqa: N802  Twisted calls it so
        with contextlib.suppress(OSError):  # not over TCP
            transport.getHandle().setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
        super().makeConnection(transport)

    def begin_request(self) -> ConnectionCaller:
        """The caller of the next request, to be filled in when it is looked up."""
        self._previous_holder, self._caller = self.holder, ConnectionCaller()
        return self._caller

    @property
    def holder(self) -> str:
        """Key of the user by the newest request with a known caller; "" for visitors."""
        return self._caller.holder or self._previous_holder

    async def writable(self) -> None:
        """Wait until more can be written, or the connection is lost."""
        await self._room.wait()

    def registerProducer(self, producer: Any, streaming: bool) -> None:  # noqa: N802
        """Be notified, too, when the transport's buffer is full."""
        super().registerProducer(_Outflow(self, producer), streaming)

    def write(self, data: bytes) -> None:
        """Send data, and watch that it is read."""
        super().write(data)
        self._watch(len(data))

    def writeSequence(self, data: Any) -> None:  # noqa: N802
        super().writeSequence(data)
        self._watch(sum(map(len, data)))

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        """Record the time of the visitor's data."""
        self._last_data = time.monotonic()
        super().dataReceived(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: N802
        """Release tasks that wait in `writable`."""
        self._room.set()
        super().connectionLost(reason)

    def pause(self) -> None:
        """The buffer is full: suspend writing, and for a WebSocket also reading, which would add answers."""
        self._room.clear()
        if not isinstance(self.wrappedProtocol, Channel):
            self.transport.pauseProducing()

    def resume(self) -> None:
        """The buffer is empty: continue writing."""
        self._room.set()
        if not isinstance(self.wrappedProtocol, Channel):
            self.transport.resumeProducing()

    def idle_seconds(self, now: float) -> float:
        """Seconds that the connection has waited for its visitor; 0 if the visitor waits."""
        deadline = self.factory.unread.get(self)
        if deadline is not None:
            return now - deadline.last_transfer
        waits = isinstance(self.wrappedProtocol, Channel) and not self.wrappedProtocol.is_answering
        return now - self._last_data if waits else 0.0

    def record_read(self, deadline: TransferDeadline, now: float) -> int:
        """Record the bytes that the visitor's host has received; returns the number of outstanding ones."""
        unread = _unread_bytes(self.transport)
        if self._written - unread > self._read:
            deadline.record(self._written - unread - self._read, now)
            self._read = self._written - unread
        return unread

    def _watch(self, count: int) -> None:
        self._written += count
        if self not in self.factory.unread:
            self.factory.unread[self] = TransferDeadline(time.monotonic())


class _Outflow:
    """Forwards the transport's back-pressure to the connection, then to its channel."""

    def __init__(self, connection: Connection, channel: Any) -> None:
        self._connection, self._channel = connection, channel
        self.stopProducing = channel.stopProducing

    def pauseProducing(self) -> None:  # noqa: N802
        """The transport's buffer is full."""
        self._connection.pause()
        self._channel.pauseProducing()

    def resumeProducing(self) -> None:  # noqa: N802
        self._connection.resume()
        self._channel.resumeProducing()


def _unread_bytes(transport: Any) -> int:
    """Bytes in Twisted's buffer, and in the kernel's without an acknowledgement of the other side."""
    unsent = len(transport.dataBuffer) - transport.offset + transport._tempDataLen
    try:
        (queued,) = struct.unpack("i", fcntl.ioctl(transport.fileno(), termios.TIOCOUTQ, bytes(4)))
    except (OSError, ValueError):  # it is closed
        queued = 0
    return int(unsent + queued)


class ConnectionRefused(Protocol):
    """Answers 429 on a connection above the limit."""

    transport: Any

    def connectionMade(self) -> None:  # noqa: N802
        """Wait for the request: an earlier answer could be lost."""
        self._end = REACTOR.callLater(REFUSED_SECONDS, self.transport.abortConnection)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        self.transport.write(_TOO_MANY)
        self.transport.loseConnection()

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: N802
        if self._end.active():
            self._end.cancel()


class Connections(WrappingFactory[Connection]):
    """All connections of this process, with WebSockets; `unread` has those with data that was not read."""

    protocol = Connection

    def __init__(self, server: Any) -> None:
        super().__init__(Channels(server))
        self.unread: dict[Connection, TransferDeadline] = {}
        self._max_connections = raise_file_limit()
        self._by_network: defaultdict[str, dict[Connection, None]] = defaultdict(dict)
        REACTOR.callLater(POLL_INTERVAL, self._poll)

    def buildProtocol(self, addr: Any) -> Protocol:  # type: ignore[override]  # noqa: N802
        """The protocol of a new connection: accepted, or refused."""
        address = getattr(addr, "host", "")
        network, allowed = network_of(address), settings.CONNECTIONS_PER_ADDRESS
        is_crowd = allowed and len(self._by_network.get(network, ())) >= allowed and not is_trusted(address)
        if is_crowd and not self._end_connection_at(network):
            return ConnectionRefused()
        if len(self.protocols) >= self._max_connections and not self._free_slot():
            return ConnectionRefused()
        return super().buildProtocol(addr)

    def registerProtocol(self, p: Connection) -> None:  # noqa: N802
        super().registerProtocol(p)
        self._by_network[_network(p)][p] = None

    def unregisterProtocol(self, p: Connection) -> None:  # noqa: N802
        super().unregisterProtocol(p)
        self._remove(p)

    def _poll(self) -> None:
        now, late = time.monotonic(), []
        for connection, deadline in [*self.unread.items()]:
            if not connection.record_read(deadline, now):
                del self.unread[connection]
            elif deadline.is_expired(now):
                late.append(connection)
        for connection in islice(late, MAX_ENDED_PER_POLL):
            self._abort(connection)
        REACTOR.callLater(POLL_INTERVAL, self._poll)

    def _free_slot(self) -> bool:
        oldest = next(iter(self.wrappedFactory.waiting), None)
        if oldest is not None:
            oldest.end()
            return True
        crowded = max(self._by_network, key=lambda network: len(self._by_network[network]), default=None)
        return crowded is not None and self._end_connection_at(crowded)

    def _end_connection_at(self, network: str) -> bool:
        """Close the most dispensable connection of an address; False if there is none."""
        now, connections = time.monotonic(), self._by_network[network]
        by_holder = Counter(connection.holder for connection in connections)
        dispensable = (
            connection
            for connection in connections
            if not connection.holder
            or by_holder[connection.holder] > CONNECTIONS_PER_PERSON
            or connection.idle_seconds(now) > IDLE_SECONDS
        )
        ended = max(
            dispensable,
            key=lambda connection: (by_holder[connection.holder], connection.idle_seconds(now)),
            default=None,
        )
        if ended is not None:
            self._abort(ended)
        return ended is not None

    def _abort(self, connection: Connection) -> None:
        self._remove(connection)
        connection.transport.abortConnection()

    def _remove(self, connection: Connection) -> None:
        """Remove it now: Twisted reports an aborted connection as lost only later."""
        self.unread.pop(connection, None)
        network = _network(connection)
        self._by_network[network].pop(connection, None)
        if not self._by_network[network]:
            del self._by_network[network]


def _network(connection: ProtocolWrapper) -> str:
    return network_of(getattr(connection.getPeer(), "host", ""))


def raise_file_limit() -> int:
    """Raise the limit of open files to the kernel's maximum; returns the number of possible connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    if soft == resource.RLIM_INFINITY or soft >= limit:
        limit = min(soft, MAX_FILES) if soft != resource.RLIM_INFINITY else MAX_FILES
    else:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return max(limit - RESERVED_FILES, limit // 2)
