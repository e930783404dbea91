"""The routers of the API by the path they answer below, in the order of the reference."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # every process reads this file, few ever answer a request
    from ninja import Router

_ROUTERS: list[tuple[str, str, str]] = []
_LAST: list[tuple[str, str, str]] = []


def register(prefix: str, path: str, tag: str, *, last: bool = False) -> None:
    """Add a router; apps do so when they are ready, before the first address is resolved.

    `prefix` is where it answers, e.g. "/campaigns", `path` the dotted path of the `ninja.Router` (imported
    when it is needed), `tag` its heading in the reference, `last`: behind those of all other apps.
    """
    (_LAST if last else _ROUTERS).append((prefix, path, tag))


def routers() -> list[tuple[str, Router, str]]:
    """(prefix, router, tag) of all of them."""
    return [(prefix, _imported(path), tag) for prefix, path, tag in (*_ROUTERS, *_LAST)]


def _imported(path: str) -> Router:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)
