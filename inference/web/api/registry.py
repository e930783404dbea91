"""The routers of the API by the path they answer below, in the order of the reference."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # every process reads this file, few ever answer a request
    from ninja import Router

_ROUTERS: list[tuple[str, str, str]] = []


def register(prefix: str, path: str, tag: str) -> None:
    """Add a router; apps do so when they are ready, before the first address is resolved.

    `prefix` is where it answers, e.g. "/campaigns", `path` the dotted path of the `ninja.Router` (imported
    when it is needed), `tag` its heading in the reference, whose order is that of registering.
    """
    _ROUTERS.append((prefix, path, tag))


def routers() -> list[tuple[str, Router, str]]:
    """(prefix, router, tag) of all of them."""
    return [(prefix, _imported(path), tag) for prefix, path, tag in _ROUTERS]


def _imported(path: str) -> Router:
    module, _, name = path.rpartition(".")
    router: Router = getattr(import_module(module), name)
    return router
