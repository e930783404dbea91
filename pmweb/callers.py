"""Who a connection is from: told by whatever finds out inside to what stands outside, log and budgets."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network

# Which addresses count as one and the same visitor's.


_BITS = 64
"""Of IPv6: what a single household or host is given at least, and can choose addresses from at will."""


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


CALLER = "caller"
"""Where a scope has its `ConnectionCaller`."""


@dataclass
class ConnectionCaller:
    """Nobody known, until somebody has `asked` who: `name` as the log has it, the account's number, and
    whether they may change things.
    """

    asked: bool = False
    name: str = "-"
    account: int | None = None
    may_change: bool = False
