"""Plotly figures as the plain JSON that the browser's plotly draws."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

Json = dict[str, Any]

_FEW_TICKS = 16
_KEPT = 32
"""Figures that need no second check: pages are looked at again, while nothing in them changes."""


def figure_json(traces: Sequence[Json], layout: Json) -> Json:
    """Build a figure with plotly's Python package, which checks every attribute, and return it as JSON.

    ValueError where plotly does not know an attribute or cannot have its value. Plotly's default template
    (backgrounds, grid and text colours) is left out: these belong to the page's theme.
    """
    return cast(Json, json.loads(_checked(json.dumps([list(traces), layout]))))


@lru_cache(maxsize=_KEPT)
def _checked(wanted: str) -> str:
    from plotly import graph_objects  # noqa: PLC0415 -- takes 0.3 s, and only pictures need it

    traces, layout = json.loads(wanted)
    figure = graph_objects.Figure(data=traces, layout={"template": {}, **layout})
    plain = json.loads(figure.to_json())
    plain["layout"].pop("template", None)
    return json.dumps(plain)


def whole_ticks(values: Sequence[int]) -> Json:
    """Of an axis with whole numbers only: a tick for each of a few."""
    return {"tickvals": list(values)} if 0 < len(values) <= _FEW_TICKS else {"tickformat": ",d"}
