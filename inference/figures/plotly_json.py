"""Plotly figures as JSON for plotly in the browser."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

Json = dict[str, Any]

_FEW_TICKS = 16
_CACHE_SIZE = 32
"""Validated figures to keep: pages are often opened again without changes."""


def figure_json(traces: Sequence[Json], layout: Json) -> Json:
    """Validate a figure with plotly's Python package, and return it as JSON.

    Plotly's default template (backgrounds, grid and text colours) is removed: these belong to the page's
    theme.

    Raises:
        ValueError: Plotly does not know an attribute, or does not allow its value.
    """
    return cast(Json, json.loads(_check_text(json.dumps([list(traces), layout]))))


@lru_cache(maxsize=_CACHE_SIZE)
def _check_text(figure_text: str) -> str:
    from plotly import graph_objects  # noqa: PLC0415 -- takes 0.3 s, and only pictures need it

    traces, layout = json.loads(figure_text)
    figure = graph_objects.Figure(data=traces, layout={"template": {}, **layout})
    plain = json.loads(figure.to_json())
    plain["layout"].pop("template", None)
    return json.dumps(plain)


def integer_ticks(values: Sequence[int]) -> Json:
    """Tick settings of an axis of integers: a tick for each of up to `_FEW_TICKS` values, else a format."""
    return {"tickvals": list(values)} if 0 < len(values) <= _FEW_TICKS else {"tickformat": ",d"}
