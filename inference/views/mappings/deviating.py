"""How far two mappings are apart on random experiments: the section of the Compare tab."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from inference.core.deviating import Deviation, Sampling
from inference.core.errors import InvalidInputError
from inference.core.metrics import Unit
from inference.figures.heatmap import HeatMap, heat_map
from inference.models import PortMapping
from inference.queries.deviations import Model, deviation_of
from inference.views.address import one_of, whole_number

MOST = 20_000
"""Experiments that a page asks for; the shell takes more."""

SHADES = 8
FIELDS = ("experiments", "length", "seed", "unit", "r_max")


@dataclass(frozen=True)
class Cell:
    """A bin of the map that is not empty, counted from the top left; `shade` from 1 to `SHADES`."""

    x: int
    y: int
    shade: int
    title: str


def deviation_section(request: HttpRequest, row: PortMapping, other: Model) -> dict[str, Any]:
    """The numbers, the map, and the form that asks for others."""
    kept = {key: request.GET[key] for key in FIELDS if request.GET.get(key)}
    context: dict[str, Any] = {
        "units": [(unit.value, unit.label) for unit in Unit],
        "most_experiments": MOST,
        "deviation_fields": kept,
        "other_fields": {
            key: value for key, value in request.GET.items() if key not in (*FIELDS, "page", "cursor")
        },
    }
    try:
        sampling = _sampling(request)
    except InvalidInputError as error:
        return {**context, "sampling": Sampling(), "deviation_error": str(error)}
    found = deviation_of(row, other, sampling)
    context |= {"sampling": sampling, "deviation": found}
    if not found.scores.n:
        return context
    drawn = heat_map(found.first, found.second)
    return {
        **context,
        "deviation_cells": cells_of(drawn),
        "deviation_bins": drawn.bins,
        "deviation_limit": drawn.limit,
        "deviation_outside": drawn.outside,
        "unit_label": sampling.unit.label,
        "furthest_url": _experiment_url(found, row),
    }


def _sampling(request: HttpRequest) -> Sampling:
    """What the address asks for; `InvalidInputError` for what cannot be."""
    usual = Sampling()
    experiments = whole_number(request, "experiments", usual.experiments) or 0
    if experiments > MOST:
        raise InvalidInputError(f"at most {MOST:,} experiments here; the shell takes more")
    return Sampling(
        experiments=experiments,
        length=whole_number(request, "length", usual.length) or 0,
        seed=whole_number(request, "seed", usual.seed) or 0,
        unit=Unit(one_of(request, "unit", tuple(Unit), usual.unit)),
        r_max=_rate(request.GET.get("r_max", "").strip()),
    )


def _rate(text: str) -> float | None:
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise InvalidInputError(f"R_max must be a number, not {text[:40]!r}") from None


def cells_of(drawn: HeatMap, across: str = "here", upwards: str = "there") -> list[Cell]:
    """The bins of a map to be drawn small; `across` and `upwards` name the axes in words."""
    return list(_cells(drawn, across, upwards))


def _cells(drawn: HeatMap, across: str, upwards: str) -> Iterator[Cell]:
    peak = drawn.peak
    for row, counts in enumerate(drawn.counts):
        for column, count in enumerate(counts):
            if count:
                share = math.log(1 + count) / math.log(1 + peak)
                title = f"{count:,}: {across} {drawn.bounds(column)}, {upwards} {drawn.bounds(row)}"
                yield Cell(column, drawn.bins - 1 - row, max(1, math.ceil(SHADES * share)), title)


def _experiment_url(found: Deviation, row: PortMapping) -> str:
    if found.furthest is None:
        return ""
    asked = {"e": str(found.furthest.experiment), "isa": row.isa_id, "mapping": row.pk}
    return f"{reverse('experiments')}?{urlencode(asked)}"
