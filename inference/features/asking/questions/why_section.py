"""Which bound of a core model is closest to a predictor's answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from inference.core.loop.values import LoopBound
from inference.features.asking.loop.answer import LoopAnswer
from inference.features.asking.questions.query import PredictorAnswer

SAME_WITHIN = 0.05
"""Relative difference up to which a number counts as equal to a bound."""


def with_closest_bounds(
    lines: Sequence[PredictorAnswer], explanation: LoopAnswer | None
) -> list[PredictorAnswer]:
    """The answers, each with the bound of the core model that is closest to its number."""
    bounds = () if explanation is None else explanation.analysis.bounds
    return [replace(line, closest_bound=closest_bound(bounds, line.cycles)) for line in lines]


def closest_bound(bounds: Sequence[LoopBound], cycles: float | None) -> str:
    """The closest bound as `dependencies, 4.00`, after "≈ " unless equal within `SAME_WITHIN`; "" without
    any."""
    if cycles is None or not bounds:
        return ""
    nearest = min(bounds, key=lambda bound: abs(bound.usual - cycles))
    near = "" if abs(nearest.usual - cycles) <= SAME_WITHIN * cycles else "≈ "
    return f"{near}{nearest.kind}, {nearest.usual:.2f}"
