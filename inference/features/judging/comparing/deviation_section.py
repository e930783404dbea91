"""How far two mappings are apart on random experiments: the section of the Compare tab."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from inference.core.deviating import Deviation, Sampling
from inference.core.errors import InvalidInputError
from inference.core.metrics import Unit
from inference.features.judging.comparing.deviation_query import Model, deviation_of
from inference.figures.heatmap import heat_map
from inference.models import PortMapping
from inference.web.requests import one_of, whole_number
from inference.web.small_maps import cells_of

MOST = 20_000
"""Experiments that a page asks for; the shell takes more."""

FIELDS = ("experiments", "length", "seed", "unit", "r_max")


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


def _experiment_url(found: Deviation, row: PortMapping) -> str:
    if found.furthest is None:
        return ""
    asked: dict[str, Any] = {"e": str(found.furthest.experiment), "isa": row.isa_id, "mapping": row.pk}
    return f"{reverse('experiments')}?{urlencode(asked)}"
