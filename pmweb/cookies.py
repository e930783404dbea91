"""Cookies whose names carry the port.

A browser keeps one jar for all ports of a host: two sites there, or two that are reached through tunnels,
would take each other's session for their own and log each other out.

The site itself knows nothing of it: names are changed where requests come in and answers go out. The port is
the one that the browser has in its address bar, which proxies and tunnels may have made another.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pmweb.origins import Application, Headers, Message, Origin, Receive, Send, asked_at_by


def name_at(origin: Origin | None, name: str) -> str:
    """What the site's cookie is called in a browser that is at this origin."""
    return f"{name}-{origin.port if origin else 0}"


class OwnCookies:
    """An application whose cookies have other names in the browser; it sees none of other sites."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if "headers" not in scope:  # the server's own beginning and end
            await self._application(scope, receive, send)
            return
        headers = [*scope["headers"]]
        suffix = name_at(asked_at_by(headers), "").encode()

        async def renaming(message: Message) -> None:
            if any(name.lower() == b"set-cookie" for name, _ in message.get("headers", ())):
                message = {**message, "headers": _going_out(message["headers"], suffix)}
            await send(message)

        await self._application({**scope, "headers": own_cookies(headers)}, receive, renaming)


def own_cookies(headers: Collection[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of a scope with the site's own cookies alone, as it knows them."""
    suffix = name_at(asked_at_by(headers), "").encode()
    kept: list[tuple[bytes, bytes]] = []
    cookies: list[bytes] = []
    for name, value in headers:
        if name != b"cookie":
            kept.append((name, value))
            continue
        for cookie in value.split(b";"):
            key, _, content = cookie.strip().partition(b"=")
            if key.endswith(suffix) and key != suffix:
                cookies.append(key.removesuffix(suffix) + b"=" + content)
    return [*kept, (b"cookie", b"; ".join(cookies))] if cookies else kept


def _going_out(headers: Headers, suffix: bytes) -> list[tuple[bytes, bytes]]:
    return [
        (name, value.replace(b"=", suffix + b"=", 1) if name.lower() == b"set-cookie" else value)
        for name, value in headers
    ]
