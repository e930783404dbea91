"""Addresses of webhooks: what is one, what of it may be shown, and which ones only this site's host reaches.

Needs neither Django nor the database: the site's own address is checked while its settings are read.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

URL_LIMIT = 500  # characters, as the column has it
RIGHT = f"http://… or https://… with a host name, without a password, {URL_LIMIT} characters at most"

_GLOBAL_IPV6 = ipaddress.IPv6Network("2000::/3")
"""All that is given out; outside are local addresses of every kind, and forms with one of IPv4 inside."""

_NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            "192.0.0.0/24",  # protocols' own; one of them is a cloud's metadata
            "192.88.99.0/24",  # was a relay into IPv6
            "168.63.129.16/32",  # what a cloud tells its hosts, behind an address that looks public
            "2001::/23",  # protocols' own; Teredo has addresses of IPv4 inside
            "2001:db8::/32",
            "2002::/16",  # 6to4: the address of IPv4 is inside
            "3fff::/20",
        ),
    )
)
"""What Python's own table of the addresses without a way through the Internet lacks, or lacked in 3.11."""

_ISATAP = (0x0000_5EFE, 0x0200_5EFE)
"""In the middle of an address of IPv6, behind any prefix: the last 32 bits are one of IPv4."""


def is_address(url: str) -> bool:
    """Whether something can be sent there, see `RIGHT`. Its host is not looked up yet."""
    return (
        len(url) <= URL_LIMIT and url.isascii() and url.isprintable() and " " not in url and _names_host(url)
    )


def _names_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
        named = (parts.hostname or "").encode("idna")  # labels that are too long, or empty
        return (
            parts.scheme in ("http", "https") and named != b"" and parts.port != 0 and parts.username is None
        )
    except ValueError:
        return False


def masked(url: str) -> str:
    """The address without its path, and without name and password should it have any."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "…"
    place = f"[{host}]" if ":" in host else host
    rest = "/…" if parts.path.strip("/") or parts.query else "/"
    return f"{parts.scheme}://{place}{'' if port is None else f':{port}'}{rest}"


def is_public(text: str) -> bool:
    """Whether an address is one of the whole Internet, not one that only this host or its network reaches."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is None:
            return _is_public_ipv6(address)
        address = address.ipv4_mapped
    return address.is_global and not address.is_multicast and not _is_special(address)


def _is_public_ipv6(address: ipaddress.IPv6Address) -> bool:
    if address not in _GLOBAL_IPV6 or int(address) >> 32 & 0xFFFF_FFFF in _ISATAP:
        return False
    return address.is_global and not _is_special(address)


def _is_special(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return any(address in network for network in _NOT_PUBLIC)
