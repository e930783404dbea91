"""The routers of the API by the path they answer below, in the order of the reference."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # every process reads this file, few ever answer a request
    from ninja import Router

_ROUTERS: list[tuple[int, str, str, str]] = []


def register(prefix: str, path: str, tag: str, *, place: int = 1) -> None:
    """Add a router; apps do so when they are ready, before the first address is resolved.

    `prefix` is where it answers, e.g. "/campaigns", `path` the dotted path of the `ninja.Router` (imported
    when it is needed), `tag` its heading in the reference, where those of smaller `place` come first.
    """
    _ROUTERS.append((place, prefix, path, tag))


def routers() -> list[tuple[str, Router, str]]:
    """(prefix, router, tag) of all of them."""
    ordered = sorted(_ROUTERS, key=lambda each: each[0])
    return [(prefix, _imported(path), tag) for _, prefix, path, tag in ordered]


def _imported(path: str) -> Router:
    module, _, name = path.rpartition(".")
    router: Router = getattr(import_module(module), name)
    return router
