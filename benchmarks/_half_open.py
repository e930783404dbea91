"""Connections that never say what they want, for `siege`: `HOST PORT NUMBER`, until the standard input ends.

Each sends half of the head of a request and waits; where the site ends one, another takes its place.
"""

from __future__ import annotations

import json
import selectors
import socket
import sys

from pmweb.launcher.file_limit import raise_file_limit

OF_ONE_ADDRESS = 100
_HALF = b"GET /runs/ HTTP/1.1\r\nHost: localhost\r\nX-Slow"


def main(host: str, port: int, number: int) -> None:
    """Say that they are there; at the end, how many there were and how many the site has ended."""
    raise_file_limit()
    ended = 0

    def connect(source: str) -> None:
        connection = socket.create_connection((host, port), 60, (source, 0))
        connection.sendall(_HALF)
        watching.register(connection, selectors.EVENT_READ, source)

    with selectors.DefaultSelector() as watching:
        for each in range(number):
            connect(f"127.0.2.{1 + each // OF_ONE_ADDRESS}")
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        watching.register(sys.stdin, selectors.EVENT_READ, "")
        while True:
            for key, _ in watching.select():
                if key.fileobj is sys.stdin:
                    sys.stdout.write(json.dumps({"half_open": number, "half_open_ended": ended}) + "\n")
                    return
                watching.unregister(key.fileobj)
                key.fileobj.close()  # type: ignore[union-attr]
                ended += 1
                connect(key.data)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
