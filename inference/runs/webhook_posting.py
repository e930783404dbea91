"""One message to one address: connected to where its host is at that moment, with time-outs.

What users of a site may enter must not reach what only the site's host can reach: addresses that are not
public are refused. The host is looked up once, and what was found public is what is connected to.
Redirections are not followed.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading
from urllib.parse import urlsplit

from inference import __version__
from inference.core.protocols import Json
from inference.runs.webhook_address import RIGHT, is_public

TIME_OUT = 5.0
"""Seconds for connecting."""
ANSWER_TIME_OUT = 10.0
"""Seconds from then on for the whole answer, however slow: a worker that shall end waits for it."""


class DeliveryError(Exception):
    """A message was not taken; the text says why."""


def post(url: str, message: Json, internal: bool) -> None:
    """Send the message; raises `DeliveryError`. `internal`: it may go to an address that is not public."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        encrypted = parts.scheme == "https"
        port = parts.port or (443 if encrypted else 80)
    except ValueError:  # which quotes what may be secret
        raise DeliveryError(f"the address is none that can be sent to; {RIGHT}") from None
    kind = http.client.HTTPSConnection if encrypted else http.client.HTTPConnection
    connection = kind(host, port)
    deadline = threading.Timer(ANSWER_TIME_OUT, _cut_off, (connection,))
    deadline.daemon = True
    try:
        # Connected here: a host that is looked up again could have another address by then.
        plain = socket.create_connection((address_of(host, port, internal), port), TIME_OUT)
        connection.sock = _encrypted(plain, host) if encrypted else plain
        deadline.start()
        if isinstance(connection.sock, ssl.SSLSocket):
            connection.sock.do_handshake()
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = {"Content-Type": "application/json", "User-Agent": f"pmweb/{__version__}"}
        connection.request("POST", target, json.dumps(message).encode(), headers)
        status = connection.getresponse().status
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise DeliveryError(f"{host} cannot be reached or does not answer: {error}") from error
    finally:
        deadline.cancel()
        connection.close()
    if not 200 <= status < 300:
        raise DeliveryError(f"{host} answered with status {status}, where one from 200 to 299 is expected")


def _cut_off(connection: http.client.HTTPConnection) -> None:
    """Whoever waits for an answer gets none."""
    with contextlib.suppress(OSError):
        if connection.sock is not None:
            connection.sock.shutdown(socket.SHUT_RDWR)


def _encrypted(plain: socket.socket, host: str) -> ssl.SSLSocket:
    try:
        context = ssl.create_default_context()
        return context.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
    except (OSError, ValueError):
        plain.close()
        raise


def address_of(host: str, port: int, internal: bool) -> str:
    """An address of the host that may be connected to.

    Raises `DeliveryError`, and `OSError` for an unknown host.
    """
    found = [entry[4][0] for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    allowed = [str(each) for each in found if internal or is_public(str(each))]
    if not allowed:
        raise DeliveryError(
            f"{host} is not a public address: PMWEB_WEBHOOK_INTERNAL=1 lets webhooks be sent to internal ones"
        )
    return allowed[0]
