"""Origins (scheme, host, port) of WebSockets, and cookies per port.

A page of any origin can open a WebSocket with the visitor's cookies; only the header Origin tells which. So
only this origin is accepted, and those that are trusted for forms.

Browsers share cookies between all ports of a host: two sites on one host, or reached through tunnels, would
overwrite each other's sessions. So cookie names have the port as a suffix in the browser; the suffix is added
to answers and removed from requests. The port is that of the browser's address bar, which may differ from the
server's behind a proxy or tunnel.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import validate_host
from django.utils.http import is_same_domain

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]

_DEFAULT_PORTS = {"http": 80, "https": 443}


class Origin(NamedTuple):
    """An origin in lower case, with the scheme's default port filled in."""

    scheme: str
    host: str
    port: int


def origin_in(text: str) -> Origin | None:
    """The origin of a URL; None for texts without one, such as "null".

    >>> origin_in("https://Example.org/path")
    Origin(scheme='https', host='example.org', port=443)
    """
    try:
        parts = urlsplit(text)
        port = parts.port or _DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return None
    if not parts.hostname or port is None:
        return None
    return Origin(parts.scheme, parts.hostname, port)


def browser_origin(host: str, forwarded_scheme: str) -> Origin | None:
    """The site's origin in the browser, by the header Host, and by X-Forwarded-Proto behind a proxy."""
    encrypted = settings.TLS and forwarded_scheme == "https"
    return origin_in(f"{'https' if encrypted else 'http'}://{host}")


def browser_origin_of(headers: Headers) -> Origin | None:
    """`browser_origin` for the headers of an ASGI scope."""
    return browser_origin(_header(headers, b"host"), _header(headers, b"x-forwarded-proto"))


class SameOriginOnly:
    """ASGI middleware that refuses WebSockets of pages of other origins."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Pass the connection on, or refuse it in the handshake."""
        application = self._application if _is_allowed(scope["headers"]) else WebsocketDenier()
        await application(scope, receive, send)


def _is_allowed(headers: Headers) -> bool:
    origin = origin_in(_header(headers, b"origin"))
    if origin is None:
        return False
    if origin == browser_origin_of(headers):
        return validate_host(_in_header(origin.host), settings.ALLOWED_HOSTS)
    return any(_is_trusted(origin, trusted) for trusted in settings.CSRF_TRUSTED_ORIGINS)


def _is_trusted(origin: Origin, text: str) -> bool:
    """Whether the origin matches an entry of `CSRF_TRUSTED_ORIGINS`, where `*.` matches all subdomains."""
    trusted = origin_in(text)
    if trusted is None or (origin.scheme, origin.port) != (trusted.scheme, trusted.port):
        return False
    return bool(is_same_domain(origin.host, trusted.host.removeprefix("*")))


def _in_header(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _header(headers: Headers, header: bytes) -> str:
    return next((value.decode("latin-1") for name, value in headers if name == header), "")


def cookie_name_at(origin: Origin | None, name: str) -> str:
    return f"{name}-{origin.port if origin else 0}"


class PortCookies:
    """ASGI middleware that adds the port to cookie names, and hides cookies of other sites."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if "headers" not in scope:  # a lifespan event of the server
            await self._application(scope, receive, send)
            return
        headers = [*scope["headers"]]
        suffix = cookie_name_at(browser_origin_of(headers), "").encode()

        async def send_renamed(message: Message) -> None:
            if any(name.lower() == b"set-cookie" for name, _ in message.get("headers", ())):
                message = {**message, "headers": _with_suffix(message["headers"], suffix)}
            await send(message)

        await self._application({**scope, "headers": own_cookies(headers)}, receive, send_renamed)


def own_cookies(headers: Collection[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of a scope with only this site's cookies, without the suffix."""
    suffix = cookie_name_at(browser_origin_of(headers), "").encode()
    other_headers: list[tuple[bytes, bytes]] = []
    cookies: list[bytes] = []
    for name, value in headers:
        if name != b"cookie":
            other_headers.append((name, value))
            continue
        for cookie in value.split(b";"):
            key, _, content = cookie.strip().partition(b"=")
            if key.endswith(suffix) and key != suffix:
                cookies.append(key.removesuffix(suffix) + b"=" + content)
    return [*other_headers, (b"cookie", b"; ".join(cookies))] if cookies else other_headers


def _with_suffix(headers: Headers, suffix: bytes) -> list[tuple[bytes, bytes]]:
    return [
        (name, value.replace(b"=", suffix + b"=", 1) if name.lower() == b"set-cookie" else value)
        for name, value in headers
    ]
