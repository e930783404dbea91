"""Who comes with which session or token, remembered from request to request."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from pmweb.callers import ConnectionCaller, account_key, credentials_in, network_of

_MOST_CREDENTIALS = 20_000


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
