"""Who a request is from: by what it shows, as code inside of Django tells code outside of it, and
remembered.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any, NamedTuple

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest

_BITS = 64
"""Of IPv6: what a single household or host is given at least, and can choose addresses from at will."""

CALLER = "caller"
"""Where a scope has its `ConnectionCaller`."""


_MOST_CREDENTIALS = 20_000


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


@dataclass(frozen=True)
class Visitor:
    """Whom a request counts for; `is_person`: an account, and no address."""

    key: str
    may_change: bool = False
    is_person: bool = False


class Visitors:
    """Accounts by the digest of what they have shown, however that is spelled. What has not let anybody in
    counts for the address that it comes from.
    """

    def __init__(self) -> None:
        self._accounts: OrderedDict[bytes, Visitor] = OrderedDict()

    def of(self, scope: dict[str, Any]) -> list[Visitor]:
        """Everybody whose session or token a request shows: pages look at the one and the API at the other.
        Without any that is known, its address.
        """
        digests = _digests(scope).values()
        accounts = [self._accounts[digest] for digest in digests if digest in self._accounts]
        return list(dict.fromkeys(accounts)) or [_address(scope)]

    def learn(self, scope: dict[str, Any], caller: ConnectionCaller) -> Visitor:
        """Whom a request has turned out to be from, which is remembered of what it has shown."""
        digest = _digests(scope).get(caller.proof)
        if digest is None:
            return self.of(scope)[0]
        self._accounts.pop(digest, None)
        if caller.account is None:
            return _address(scope)
        visitor = Visitor(account_key(caller.account), caller.may_change, is_person=True)
        self._accounts[digest] = visitor
        if len(self._accounts) > _MOST_CREDENTIALS:
            self._accounts.popitem(last=False)
        return visitor


def _address(scope: dict[str, Any]) -> Visitor:
    return Visitor(network_of((scope.get("client") or [""])[0]))


def _digests(scope: dict[str, Any]) -> dict[str, bytes]:
    credentials = credentials_in(scope["headers"])
    texts = {"token": credentials.token, "session": credentials.session}
    return {
        proof: hashlib.blake2b(f"{proof} {text}".encode(), digest_size=16).digest()
        for proof, text in texts.items()
        if text
    }
