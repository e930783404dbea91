"""The listening socket, host names and URLs of the site, and checks whether it answers."""

from __future__ import annotations

import errno
import getpass
import http.client
import json
import socket
from collections.abc import Mapping, Sequence

from psutil import net_if_addrs

from pmweb.launcher.supervisor import LaunchError

WILDCARD = "0.0.0.0"  # noqa: S104  the user asks for it with --host
BACKLOG = 1024
"""Length of the queue of new connections: if it is full, browsers retry after a second."""

PROBE_HOST = "127.0.0.1"
_LOOPBACK_NAMES = ("localhost", PROBE_HOST)
_TIMEOUT_SECONDS = 2.0


def listen(host: str, port: int) -> socket.socket:
    """A listening IPv4 socket that the web process inherits; port 0 takes any free one.

    The launcher keeps it open: browsers wait in its queue while a web process is replaced, and no other
    program can take the port.

    Raises:
        LaunchError: The address cannot be used; the message says what to do.
    """
    server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        server.bind((host, port))
        server.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        server.close()
        raise LaunchError(_listen_error_text(host, port, error)) from error
    return server


def _listen_error_text(host: str, port: int, error: OSError | OverflowError) -> str:
    if isinstance(error, OverflowError):
        return f"--port {port}: a port is a number from 0 to 65535."
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return (
            f"--host {host} is no IPv4 address of this host. Use 127.0.0.1 (this host alone) or {WILDCARD} "
            "(the whole network)."
        )
    if error.errno == errno.EACCES:
        return f"port {port} needs root's rights. Choose one above 1023: --port 8000 (make run PORT=8000)."
    if error.errno != errno.EADDRINUSE:
        return f"cannot listen on {host}:{port}: {error.strerror}."
    site = find_site("127.0.0.1" if host == WILDCARD else host, port)
    if site is not None:
        return (
            f"pmweb is already running at http://{_display_host(host)}:{port}/ (version {site}). "
            "Use that one, stop it, or start this one on another port: "
            f"--port {port + 1} (make run PORT={port + 1})."
        )
    return (
        f"port {port} is taken by another program (`ss -ltnp 'sport = :{port}'` names it). "
        f"Choose another port: --port {port + 1} (make run PORT={port + 1})."
    )


def _display_host(host: str) -> str:
    return "localhost" if host in {WILDCARD, "127.0.0.1"} else host


def interface_addresses() -> list[str]:
    """IPv4 addresses of this host's network interfaces, without loopback."""
    addresses = [
        row.address for rows in net_if_addrs().values() for row in rows if row.family == socket.AF_INET
    ]
    return [address for address in addresses if not address.startswith("127.")]


def answering_names(host: str, configured: Sequence[str], interfaces: Sequence[str]) -> list[str]:
    """Host names that the site answers to when it listens on `host`.

    On all interfaces these are the addresses in `interfaces` and the host's own name; other names must be
    `configured` (PMWEB_ALLOWED_HOSTS).
    """
    names = [*configured, *_LOOPBACK_NAMES]
    if host == WILDCARD:
        names += [socket.gethostname(), *interfaces]
    else:
        names.append(host)
    return list(dict.fromkeys(names))


def urls(host: str, port: int, interfaces: Sequence[str]) -> list[str]:
    """URLs to print, the one for this host first; `interfaces` as for `answering_names`."""
    names = [_display_host(host)]
    if host == WILDCARD:
        names += interfaces
    return [f"http://{name}:{port}" for name in names]


def screen_hint(host: str, port: int, environment: Mapping[str, str]) -> str | None:
    """How to open the site from another computer; None if this one seems to have a screen."""
    connection = environment.get("SSH_CONNECTION", "").split()
    if not connection and (environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")):
        return None
    if host == WILDCARD:
        return None
    server = connection[2] if len(connection) == 4 else socket.gethostname()
    return (
        "No screen here? On your own computer run\n"
        f"    ssh -L {port}:{_display_host(host)}:{port} {getpass.getuser()}@{server}\n"
        "  and open the link there."
    )


def find_site(host: str, port: int) -> str | None:
    """Version of the pmweb that answers at `host:port` within two seconds; None if none does."""
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
    """Polls, without blocking, for the first good answer of a starting site.

    One request waits in the queue of the listening socket until a web process answers it; repeated requests
    would leave broken connections, about which the web process would complain.
    """

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._socket: socket.socket | None = None
        self._received = b""

    def is_ready(self) -> bool:
        """Whether the site has answered; sends the request again if its web process died."""
        try:
            if self._socket is None:
                self._send_request()
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

    def _send_request(self) -> None:
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
