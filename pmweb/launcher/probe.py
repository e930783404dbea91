"""Does a pmweb answer at an address?"""

from __future__ import annotations

import http.client
import json
import socket

PROBE_HOST = "127.0.0.1"
_TIMEOUT_SECONDS = 2.0


def find_site(host: str, port: int) -> str | None:
    """The version of the pmweb that answers at `host:port` within moments, None if none does."""
    connection = http.client.HTTPConnection(host, port, timeout=_TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/health/", headers={"Host": PROBE_HOST})
        response = connection.getresponse()
        answer = json.loads(response.read(4096))
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
    if response.status != http.client.OK or not isinstance(answer, dict) or answer.get("product") != "pmweb":
        return None
    return str(answer.get("version", "unknown"))


class FirstAnswer:
    """Waits, without blocking, for the first good answer of a site that is being started.

    One request is left waiting in the queue of the listening socket until a web process gets to it; asking
    again and again would leave a trail of broken connections for it to complain about.
    """

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._socket: socket.socket | None = None
        self._received = b""

    def has_come(self) -> bool:
        """Whether the site has answered; asks again where a web process died over the request."""
        try:
            if self._socket is None:
                self._ask()
            return self._listen()
        except BlockingIOError:
            return False
        except OSError:
            self.close()
            return False

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket, self._received = None, b""

    def _ask(self) -> None:
        self._socket = socket.create_connection(self._address, timeout=_TIMEOUT_SECONDS)
        self._socket.sendall(f"GET /health/ HTTP/1.0\r\nHost: {PROBE_HOST}\r\n\r\n".encode())
        self._socket.setblocking(False)

    def _listen(self) -> bool:
        assert self._socket is not None
        while chunk := self._socket.recv(4096):
            self._received += chunk
        good = self._received.split(b"\r\n", 1)[0].split(b" ")[1:2] == [b"200"]
        self.close()
        return good
