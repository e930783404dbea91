"""Addresses of the views of a comparison, on its own page or on a tab of another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest
from django.utils.http import urlencode

from inference.features.judging.engine.views import VIEWS
from inference.web.requests import one_of

HEAT_MAP = "map"
VIEW_NAMES = frozenset({HEAT_MAP, *VIEWS})
_FIELDS_OF_HOST = ("tab", "set", "with", "first", "second")
_FIELDS_OF_PART = (
    *("unit", "q", "ext", "category", "among", "of", "shortest", "longest", "common", "colours"),
    *("against", "bound", "apart", "threshold", "metric"),
)


def view_name(request: HttpRequest, names: tuple[str, ...], usual: str) -> str:
    """The view that the address names: under `view`, in older addresses of a comparison under `tab`."""
    older = request.GET.get("tab", "")
    return one_of(request, "view", names, older if older in names else usual)


def host_fields(request: HttpRequest) -> dict[str, str]:
    """What of the address names the page whose tab the views are; {} on the comparison's own page."""
    fields = {name: request.GET[name] for name in _FIELDS_OF_HOST if request.GET.get(name)}
    return {name: value for name, value in fields.items() if name != "tab" or value not in VIEW_NAMES}


def part_fields(request: HttpRequest) -> dict[str, str]:
    """What of the address says which items are shown how; an older `scheme` by its name of today."""
    kept = {name: request.GET[name] for name in _FIELDS_OF_PART if request.GET.get(name)}
    older = request.GET.get("scheme")
    return kept | {"of": older} if older and "of" not in kept else kept


def view_url(request: HttpRequest, name: str, fields: Mapping[str, object], *, part: bool = True) -> str:
    """A view of the same comparison; without `part`, of all its items."""
    kept: dict[str, Any] = {**host_fields(request), **(part_fields(request) if part else {})}
    return "?" + urlencode({**kept, "view": name, **fields})
