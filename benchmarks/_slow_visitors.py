"""Visitors who send or read slowly, for `siege`: one JSON object with the site, and how many of which, as the
argument; until the standard input ends.

`bodies` come from the address of everybody else and send a byte of a body now and then; `downloads` and
`sockets` ask for a long file and for the journal of a run, and read nothing. Where the site ends one, another
takes its place.
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

from pmweb.launcher.file_limit import raise_file_limit

SOURCES = {"bodies": "127.0.0.1", "downloads": "127.0.4.1", "sockets": "127.0.4.2"}
BYTE_EVERY = 5.0
"""Seconds between two bytes of a body."""

_LOOK_EVERY = 0.5


@dataclass(frozen=True)
class Attack:
    """What `siege` asks for: `numbers` of visitors by kind, the file and the journal, cookies of browsers."""

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
            "bodies": (f"POST /login/ HTTP/1.1\r\nHost: {name}", "Content-Length: 90000"),
            "downloads": (f"GET {self.file} HTTP/1.1\r\nHost: {name}",),
            "sockets": (
                f"GET {self.journal} HTTP/1.1\r\nHost: {name}",
                f"Origin: http://{name}",
                f"Cookie: {cookie}",
                "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13",
                f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
            ),
        }
        return "\r\n".join((*lines[kind], "", "")).encode()


@dataclass
class SlowVisitors:
    """All of them, and how many the site has ended."""

    attack: Attack
    ended: Counter[str] = field(default_factory=Counter)
    _kinds: dict[socket.socket, str] = field(default_factory=dict)
    _byte_due: float = 0.0

    def __post_init__(self) -> None:
        self._cookies = itertools.cycle(self.attack.cookies)

    def begin(self) -> None:
        """Let all of them come."""
        for kind, number in self.attack.numbers.items():
            for _ in range(number):
                self._connect(kind)

    def look(self) -> None:
        """Replace those that were ended; send the next bytes when it is time."""
        sends = time.monotonic() >= self._byte_due
        if sends:
            self._byte_due = time.monotonic() + BYTE_EVERY
        for connection, kind in [*self._kinds.items()]:
            if _is_over(connection) or (sends and kind == "bodies" and not _sent(connection)):
                del self._kinds[connection]
                connection.close()
                self.ended[kind] += 1
                self._connect(kind)

    def _connect(self, kind: str) -> None:
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.bind((SOURCES[kind], 0))
        try:
            connection.connect((self.attack.host, self.attack.port))
            connection.sendall(self.attack.request(kind, next(self._cookies)))
        except OSError:
            self.ended[kind] += 1
        self._kinds[connection] = kind


def _sent(connection: socket.socket) -> bool:
    try:
        connection.send(b"1", socket.MSG_DONTWAIT)
    except OSError:
        return False
    return True


def _is_over(connection: socket.socket) -> bool:
    """Whether the site has ended it; what it has sent before stays unread."""
    established = 1  # the first byte of TCP_INFO is the state
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] != established


def main(attack: Attack) -> None:
    """Say that they are there; at the end, how many there were and how many the site has ended."""
    raise_file_limit()
    visitors = SlowVisitors(attack)
    visitors.begin()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    with selectors.DefaultSelector() as watching:
        watching.register(sys.stdin, selectors.EVENT_READ)
        while not watching.select(_LOOK_EVERY):
            visitors.look()
    ended = {f"{kind}_ended": visitors.ended[kind] for kind in attack.numbers}
    sys.stdout.write(json.dumps({**attack.numbers, **ended}) + "\n")


if __name__ == "__main__":
    main(Attack(**json.loads(sys.argv[1])))
