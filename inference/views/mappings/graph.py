"""The tripartite graph of a mapping."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from inference.core.mapping import PortMapping as Mapping
from inference.figures.palette import LIGHT
from inference.figures.tripartite import tripartite
from inference.models import PortMapping


def graph_tab(request: HttpRequest, row: PortMapping, value: Mapping) -> dict[str, Any]:
    """The graph's model with the id of every scheme, so that it can link to the scheme's page."""
    del request  # what is pinned, opened and searched is read from the address by the script
    ids = dict(row.usages.values_list("scheme__text", "scheme_id"))
    model = tripartite(value)
    for group in model["groups"]:
        group["ids"] = [ids[text] for text in group["schemes"]]
    return {
        "model": model,
        "ports": [(index, index % len(LIGHT), name) for index, name in enumerate(value.ports)],
    }
