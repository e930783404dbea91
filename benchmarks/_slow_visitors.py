"""Visitors who send or read slowly, for `siege`: a task as one line of JSON, until the standard input ends.

`half_open` send half of the head of a request and wait; `bodies` come from the address of everybody else and
send a byte of a body now and then; `downloads` and `sockets` ask for a long file and for the journal of a
run, and read nothing. Where the site ends one, another takes its place.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import selectors
import socket
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from pmweb.launcher.connections import raise_file_limit

SOURCES = {"half_open": "127.0.2.{}", "bodies": "127.0.0.1", "downloads": "127.0.4.1", "sockets": "127.0.4.2"}
"""Addresses of the visitors by kind; of the half-open ones, a hundred each have one of their own."""

BYTE_INTERVAL = 5.0
"""Seconds between two bytes of a body."""

_POLL_INTERVAL = 0.5  # seconds
_ESTABLISHED = 1  # the first byte of TCP_INFO is the state


@dataclass(frozen=True)
class Attack:
    """`numbers` of visitors by kind, the file and the journal that they ask for, cookies of browsers."""

    host: str
    port: int
    numbers: dict[str, int]
    file: str
    journal: str
    cookies: list[str]

    def request(self, kind: str, cookie: str) -> bytes:
        """What a visitor of a kind sends first."""
        name = f"localhost:{self.port}"
        lines = {
            "half_open": (f"GET /runs/ HTTP/1.1\r\nHost: {name}\r\nX-Slow",),
            "bodies": (f"POST /login/ HTTP/1.1\r\nHost: {name}", "Content-Length: 90000", "", ""),
            "downloads": (f"GET {self.file} HTTP/1.1\r\nHost: {name}", "", ""),
            "sockets": (
                f"GET {self.journal} HTTP/1.1\r\nHost: {name}",
                f"Origin: http://{name}",
                f"Cookie: {cookie}",
                "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13",
                f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
                *("", ""),
            ),
        }
        return "\r\n".join(lines[kind]).encode()


@dataclass
class SlowVisitors:
    """All visitors of an attack, and how many the site has ended."""

    attack: Attack
    ended: Counter[str] = field(default_factory=Counter)
    _visitors: dict[socket.socket, tuple[str, str]] = field(default_factory=dict)
    _byte_due: float = 0.0

    def begin(self) -> None:
        """Let all of them come."""
        self._cookies = itertools.cycle(self.attack.cookies)
        for kind, number in self.attack.numbers.items():
            for place in range(number):
                self._connect(kind, SOURCES[kind].format(1 + place // 100))

    def replace(self) -> None:
        """Let another come for each that was ended; send the next bytes when it is time."""
        sends = time.monotonic() >= self._byte_due
        if sends:
            self._byte_due = time.monotonic() + BYTE_INTERVAL
        for connection, (kind, source) in [*self._visitors.items()]:
            state = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
            if state != _ESTABLISHED or (sends and kind == "bodies" and not _sends_byte(connection)):
                del self._visitors[connection]
                connection.close()
                self.ended[kind] += 1
                self._connect(kind, source)

    def _connect(self, kind: str, source: str) -> None:
        """Open a connection with a small buffer, so that it soon blocks the sender, and begin its request."""
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.bind((source, 0))
        try:
            connection.connect((self.attack.host, self.attack.port))
            connection.sendall(self.attack.request(kind, next(self._cookies)))
        except OSError:
            self.ended[kind] += 1
        self._visitors[connection] = kind, source


def _sends_byte(connection: socket.socket) -> bool:
    try:
        return connection.send(b"1", socket.MSG_DONTWAIT) == 1
    except OSError:
        return False


def main() -> None:
    """Say that they are there; at the end, how many there were and how many the site has ended."""
    raise_file_limit()
    visitors = SlowVisitors(Attack(**json.loads(sys.stdin.readline())))
    visitors.begin()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    with selectors.DefaultSelector() as watching:
        watching.register(sys.stdin, selectors.EVENT_READ)
        while not watching.select(_POLL_INTERVAL):
            visitors.replace()
    numbers = visitors.attack.numbers
    report = {**numbers, **{f"{kind}_ended": visitors.ended[kind] for kind in numbers}}
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
