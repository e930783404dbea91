"""Addresses of webhooks: validation, masking of secrets, and the test for public addresses.

It must not import Django: the settings use it to validate the site's own webhook.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

URL_LIMIT = 500  # characters; the width of the database column
EXPECTED_FORM = f"http://… or https://… with a host name, without a password, {URL_LIMIT} characters at most"

_GLOBAL_IPV6 = ipaddress.IPv6Network("2000::/3")
"""Allocated global addresses; outside are local ones and transition formats that embed IPv4 addresses."""

_NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            "192.0.0.0/24",  # protocol assignments; one is the metadata service of a cloud
            "192.88.99.0/24",  # former relays to IPv6
            "168.63.129.16/32",  # Azure's metadata service, though the address looks public
            "2001::/23",  # protocol assignments; Teredo embeds IPv4 addresses
            "2001:db8::/32",
            "2002::/16",  # 6to4 embeds IPv4 addresses
            "3fff::/20",
        ),
    )
)
"""Networks that are not public, though `ipaddress` calls them global, at least in Python 3.11."""

_ISATAP = (0x0000_5EFE, 0x0200_5EFE)
"""Bits 32 to 63 of an ISATAP address, behind any prefix: its last 32 bits are an IPv4 address."""


def is_address(url: str) -> bool:
    """Whether the URL has the `EXPECTED_FORM`. Its host is not resolved."""
    return (
        len(url) <= URL_LIMIT and url.isascii() and url.isprintable() and " " not in url and _names_host(url)
    )


def _names_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna")  # labels that are too long, or empty
        return (
            parts.scheme in ("http", "https") and host != b"" and parts.port != 0 and parts.username is None
        )
    except ValueError:
        return False


def masked(url: str) -> str:
    """The URL without path, query, user name and password, which may be secrets.

    >>> masked("https://hooks.example.com/services/T0/B1")
    'https://hooks.example.com/…'
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "…"
    netloc = f"[{host}]" if ":" in host else host
    suffix = "/…" if parts.path.strip("/") or parts.query else "/"
    return f"{parts.scheme}://{netloc}{'' if port is None else f':{port}'}{suffix}"


def is_public(text: str) -> bool:
    """Whether an IP address is reachable on the Internet, not only from this host or its network.

    >>> is_public("10.0.0.1"), is_public("8.8.8.8")
    (False, True)
    """
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
