"""The addresses that are secrets: who knows one gets in, or sees what was shared."""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.urls import URLPattern, URLResolver, get_resolver

TOKEN = "S3cr-et_Token"
WORDS = {"action", "extension", "file", "isa", "kind", "mnemonic", "name", "slug"}
"""Parts of addresses that are words, none of them a secret."""

_TEXT = re.compile(r"<(?:str:|path:|slug:|uuid:)?(\w+)>")
_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")


def _routes(patterns: list[URLPattern | URLResolver], before: str = "/") -> Iterator[str]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, route)
        else:
            yield route


def text_parameters() -> set[str]:
    """The names of all that is text in the addresses of the site."""
    routes = _routes(get_resolver().url_patterns)
    return {name for route in routes if not route.startswith("/^") for name in _TEXT.findall(route)}


def secret_addresses() -> list[str]:
    """An address of each route with a token, and what else it needs."""
    return sorted(
        _PARAMETER.sub(lambda match: TOKEN if match[1] == "token" else "card.png", route)
        for route in _routes(get_resolver().url_patterns)
        if re.search(r"<(?:\w+:)?token>", route)
    )
