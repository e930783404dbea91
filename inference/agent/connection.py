"""The WebSocket to the server: the only module that needs more than the standard library."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urljoin, urlsplit, urlunsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI

from inference.agent.protocol import MAX_MESSAGE_BYTES

PATH = "ws/agent/"
_NOT_ADMITTED = (401, 403)  # HTTP states of a wrong token and of a missing permission
_OPEN_SECONDS = 10.0  # for the handshake
_CLOSE_SECONDS = 1.0  # that the site may take to confirm


class ConnectionLostError(Exception):
    """The server cannot be reached, or is no longer there."""


class NotAdmittedError(Exception):
    """The server does not accept this agent's token."""


class AddressError(ValueError):
    """The server's address, or the file of certificates, is invalid."""


def tls_context(authority: str | None) -> ssl.SSLContext:
    """TLS that verifies the server, by the system's certificates or those in the file `authority`.

    Raises `AddressError` for a file without certificates.
    """
    try:
        return ssl.create_default_context(cafile=authority)
    except OSError as error:  # of which ssl.SSLError is one
        reason = error.strerror or error
        raise AddressError(f"{authority} has no certificates in PEM format: {reason}") from error


class AgentConnection:
    """An open connection: text in, text out."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def send(self, text: str) -> None:
        """Raises `ConnectionLostError`."""
        try:
            await self._socket.send(text)
        except ConnectionClosed as error:
            raise ConnectionLostError(_reason(error)) from error

    async def close(self) -> None:
        await self._socket.close()

    async def receive(self) -> str | bytes:
        """The next message. Raises `ConnectionLostError`."""
        try:
            return await self._socket.recv()
        except ConnectionClosed as error:
            raise ConnectionLostError(_reason(error)) from error


class _SameOrigin(connect):
    """Follows redirects within the origin only, so that no other server gets the token."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        """The address to dial next, or the error."""
        location = exc.response.headers.get("Location") if isinstance(exc, InvalidStatus) else None
        target = urljoin(self.uri, location or "")
        if _origin(target) != _origin(self.uri):
            return ConnectionLostError(
                f"{self.uri} redirects to another origin, {target}, which does not get the token. "
                "If that is your site, give the agent its address"
            )
        return super().process_redirect(exc)


def _origin(address: str) -> tuple[str, str | None, int]:
    parts = urlsplit(address)
    encrypted = parts.scheme in ("wss", "https")
    return "wss" if encrypted else "ws", parts.hostname, parts.port or (443 if encrypted else 80)


@asynccontextmanager
async def dial(server: str, token: str, tls: ssl.SSLContext) -> AsyncIterator[AgentConnection]:
    """A connection to the server at its http(s) address.

    Raises `ConnectionLostError`, `NotAdmittedError` or `AddressError`.
    """
    address = socket_address(server)
    try:
        socket = await _SameOrigin(
            address,
            additional_headers={"Authorization": f"Bearer {token}"},
            max_size=MAX_MESSAGE_BYTES,
            compression=None,
            ssl=tls if address.startswith("wss:") else None,
            open_timeout=_OPEN_SECONDS,
            close_timeout=_CLOSE_SECONDS,
            proxy=None if _is_loopback(address) else True,
        )
    except InvalidStatus as error:
        if (status := error.response.status_code) in _NOT_ADMITTED:
            raise NotAdmittedError(
                f"{server} refuses this token (HTTP {status}): it is unknown there, revoked or expired. "
                "Get a new one from the site"
            ) from error
        raise ConnectionLostError(f"{server} does not answer: {error}") from error
    except (OSError, TimeoutError, InvalidHandshake, ValueError) as error:
        raise ConnectionLostError(f"{server} does not answer: {error or type(error).__name__}") from error
    except InvalidURI as error:
        raise AddressError(str(error)) from error
    try:
        yield AgentConnection(socket)
    finally:
        await socket.close()


def socket_address(server: str) -> str:
    """The address of the server's WebSocket for agents. Raises `AddressError`."""
    parts = urlsplit(server if "://" in server else f"http://{server}")
    scheme = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}.get(parts.scheme)
    if scheme is None or not parts.hostname:
        raise AddressError(f"the server's address looks like http://host:8000, not {server!r}")
    path = parts.path.rstrip("/") + "/" + PATH
    return urlunsplit((scheme, parts.netloc, path, "", ""))


def is_unencrypted(server: str) -> bool:
    """Whether messages to a server can be read on the way: no TLS, and another computer."""
    address = socket_address(server)
    return address.startswith("ws:") and not _is_loopback(address)


def _is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _reason(error: ConnectionClosed) -> str:
    closed = error.rcvd
    return (
        f"the server closed the connection ({closed.code} {closed.reason})"
        if closed
        else "the connection broke"
    )
