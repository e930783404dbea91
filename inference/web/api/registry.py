"""The routers of the API by the path they answer below, in the order of the reference.

Other apps add theirs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # every process reads this file, few ever answer a request
    from ninja import Router

_OWN = (
    ("schemes.api", "Instruction sets"),
    ("machines.api", "Machines"),
    ("sets.api", "Experiment sets"),
    ("experiments.api", "Experiments"),
    ("mappings.api", "Port mappings"),
    ("comparing.api", "Port mappings"),
    ("explained.api", "Port mappings"),
    ("doubts.api", "Port mappings"),
    ("excess.api", "Port mappings"),
    ("resources.api", "Resource mappings"),
    ("evaluations.api", "Evaluations"),
    ("runs.api", "Runs"),
    ("runs.events_api", "Runs"),
    ("model_check.api", "Runs"),
    ("inferring.api", "Runs"),
    ("uploads.api", "Uploads"),
    ("blocks.api", "Basic blocks"),
    ("search.api", "Search"),
)
_OTHERS: list[tuple[str, str, str]] = []
_LAST: list[tuple[str, str, str]] = []


def register(prefix: str, path: str, tag: str, *, last: bool = False) -> None:
    """Add the router of another app; it does so when it is ready, before the first address is resolved.

    `prefix` is where it answers, e.g. "/campaigns", `path` the dotted path of the `ninja.Router` (imported
    when it is needed), `tag` its heading in the reference, `last`: behind those of all other apps.
    """
    (_LAST if last else _OTHERS).append((prefix, path, tag))


def routers() -> list[tuple[str, Router, str]]:
    """(prefix, router, tag) of all of them."""
    own = [("", import_module(f"inference.features.{name}").router, tag) for name, tag in _OWN]
    return [*own, *((prefix, _imported(path), tag) for prefix, path, tag in (*_OTHERS, *_LAST))]


def _imported(path: str) -> Router:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)
