"""Addresses of webhooks: what is one, what of it may be shown, and which ones only this site's host reaches.

Needs neither Django nor the database: the site's own address is checked while its settings are read.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

URL_LIMIT = 500  # characters, as the column has it
RIGHT = f"http://… or https://… with a host name, without a password, {URL_LIMIT} characters at most"

_HAS_ANOTHER_INSIDE = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))
"""Prefixes of NAT64, the well-known one and that for local use: the rest is an address of IPv4."""


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
        if address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        elif (
            any(address in network for network in _HAS_ANOTHER_INSIDE)
            or address.sixtofour is not None
            or address.teredo is not None
            or address.is_site_local
        ):
            return False  # an address of the other kind is inside, or what was the internal ones' prefix once
    return address.is_global and not address.is_multicast
