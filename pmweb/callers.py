"""Who sent a request: credentials of headers, the caller that Django has looked up, and visitors as budgets
count them.
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

_IPV6_PREFIX = 64
"""Prefix of an IPv6 network that counts as one address: a host can choose any address in it."""

CALLER = "caller"
"""Key of the `ConnectionCaller` in an ASGI scope."""


_MAX_CREDENTIALS = 20_000


def network_of(address: str) -> str:
    """An IPv4 address itself, the /64 of an IPv6 address; other texts are cut to 64 characters.

    >>> network_of("2001:db8::1"), network_of("::ffff:192.0.2.7")
    ('2001:db8::/64', '192.0.2.7')
    """
    try:
        parsed = ip_address(address.partition("%")[0].strip("[]"))
    except ValueError:
        return address[:64]
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ip_network((parsed, _IPV6_PREFIX), strict=False))
    return str(parsed)


class Credentials(NamedTuple):
    """Credentials of a request, not validated: a session's key and the header Authorization; "" if absent."""

    session: str
    authorization: str

    @property
    def token(self) -> str:
        """The token in the header; "" without one."""
        return token_in(self.authorization)


def credentials_in(headers: Iterable[tuple[bytes, bytes]]) -> Credentials:
    """Credentials in the headers of an ASGI scope.

    Django parses them: authentication and budgets must not read them differently.
    """
    request = ASGIRequest({"method": "GET", "path": "/", "headers": headers}, BytesIO())
    session = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    return Credentials(session, request.headers.get("Authorization", ""))


def token_in(authorization: str) -> str:
    """The token of a header "Authorization: Bearer TOKEN"; "" for other headers.

    >>> token_in("Bearer abc"), token_in("Basic abc")
    ('abc', '')
    """
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


@dataclass
class ConnectionCaller:
    """The caller of a connection, filled in when Django has looked it up.

    Attributes:
        proof: Looked-up credential, "session" or "token", valid or not; "" before the look-up.
        name: Name in the access log; "-" for visitors.
        account: Id of the account.
        may_change: Whether the caller may change things.
        visitor: Key of the visitor who sent the same credentials before.
    """

    proof: str = ""
    name: str = "-"
    account: int | None = None
    may_change: bool = False
    visitor: str = ""

    @property
    def holder(self) -> str:
        """Key of the connection's owner; "" if it is unknown."""
        if self.account is not None:
            return account_key(self.account)
        return self.visitor or self.name.removeprefix("-")


def account_key(account: int) -> str:
    return f"account {account}"


@dataclass(frozen=True)
class Visitor:
    """A visitor to whom requests are charged; `is_person`: an account, not an address."""

    key: str
    may_change: bool = False
    is_person: bool = False


class Visitors:
    """Accounts by digests of their credentials; requests with invalid credentials count for their address."""

    def __init__(self) -> None:
        self._accounts: OrderedDict[bytes, Visitor] = OrderedDict()

    def visitors_of(self, scope: dict[str, Any]) -> list[Visitor]:
        """Visitors of a request: accounts of its session and its token, else its address.

        Both count, as pages use the session and the API the token.
        """
        digests = _digests(scope).values()
        accounts = [self._accounts[digest] for digest in digests if digest in self._accounts]
        return list(dict.fromkeys(accounts)) or [_address(scope)]

    def record(self, scope: dict[str, Any], caller: ConnectionCaller) -> Visitor:
        """Store the looked-up caller of the request's credentials; returns the visitor."""
        digest = _digests(scope).get(caller.proof)
        if digest is None:
            return self.visitors_of(scope)[0]
        self._accounts.pop(digest, None)
        if caller.account is None:
            return _address(scope)
        visitor = Visitor(account_key(caller.account), caller.may_change, is_person=True)
        self._accounts[digest] = visitor
        if len(self._accounts) > _MAX_CREDENTIALS:
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
