"""Who a request is from: by what it shows, and as code inside of Django tells code outside of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from ipaddress import IPv6Address, ip_address, ip_network
from typing import NamedTuple

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest

_BITS = 64
"""Of IPv6: what a single household or host is given at least, and can choose addresses from at will."""

CALLER = "caller"
"""Where a scope has its `ConnectionCaller`."""


def network_of(address: str) -> str:
    """An IPv4 address itself, the network of an IPv6 address; what is no address stays as it is."""
    try:
        found = ip_address(address.partition("%")[0].strip("[]"))
    except ValueError:
        return address[:64]
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ip_network((found, _BITS), strict=False))
    return str(found)


class Credentials(NamedTuple):
    """What a request shows, valid or not: the key of a session, and the header Authorization; "" for none."""

    session: str
    authorization: str

    @property
    def token(self) -> str:
        """The token in the header."""
        return token_in(self.authorization)


def credentials_in(headers: Iterable[tuple[bytes, bytes]]) -> Credentials:
    """What the headers of an ASGI scope show, taken apart by Django itself: what authenticates a request and
    what counts it cannot come to different ends.
    """
    request = ASGIRequest({"method": "GET", "path": "/", "headers": headers}, BytesIO())
    session = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    return Credentials(session, request.headers.get("Authorization", ""))


def token_in(authorization: str) -> str:
    """The token of a header "Authorization: Bearer TOKEN"; "" for any other."""
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


@dataclass
class ConnectionCaller:
    """Nobody known, until it was looked up who: `name` as the log has it, the account's number, and whether
    they may change things.

    `proof`: what was looked up, "session" or "token", valid or not. `visitor`: who has shown the same before.
    """

    proof: str = ""
    name: str = "-"
    account: int | None = None
    may_change: bool = False
    visitor: str = ""

    @property
    def holder(self) -> str:
        """Whose connection it is; "" while that is not known."""
        if self.account is not None:
            return account_key(self.account)
        return self.visitor or self.name.removeprefix("-")


def account_key(account: int) -> str:
    """How an account is called where visitors are counted."""
    return f"account {account}"
