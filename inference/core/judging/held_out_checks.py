"""Errors of a mapping on experiments that were held out from its search."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Self

import numpy as np

from inference.core.experiment import Experiment, Measured
from inference.core.identity.comparison import NOISE
from inference.core.tables import Floats

TOLERANCE, TOLERANCE_SHARE = 0.05, 0.05
"""Cycles, and share of the measurement, by which a prediction may be off for a search without a tolerance."""


@dataclass(frozen=True)
class HeldOutCheck:
    """`n` held-out experiments with a prediction, of which `off` lie outside the tolerance.

    Attributes:
        error: Mean absolute error in per cent, None without any.
        repeats: The median spread of repeated measurements of one of them, in per cent; None where each was
            measured once.
    """

    n: int
    off: int
    error: float | None
    repeats: float | None

    @property
    def allowed(self) -> float:
        """Error in per cent that repeated measurements explain, at least the noise of any measurement."""
        return max(100 * NOISE, self.repeats or 0.0)


@dataclass(frozen=True)
class HeldOutChecks:
    """A check over all held-out experiments, and over those with each scheme."""

    overall: HeldOutCheck
    schemes: Mapping[str, HeldOutCheck]

    def as_json(self) -> dict[str, Any]:
        """Plain JSON, small enough to be stored with a mapping of thousands of schemes."""
        overall = self.overall
        return {
            "n": overall.n,
            "off": overall.off,
            "error": _round_or_none(overall.error),
            "repeats": _round_or_none(overall.repeats),
            "schemes": {
                scheme: [check.n, check.off, _round_or_none(check.error)]
                for scheme, check in self.schemes.items()
            },
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        repeats = data["repeats"]
        return cls(
            HeldOutCheck(data["n"], data["off"], data["error"], repeats),
            {
                scheme: HeldOutCheck(n, off, error, repeats)
                for scheme, (n, off, error) in data["schemes"].items()
            },
        )


def held_out_checks(
    results: Sequence[Measured], predicted: Floats, epsilon: float | None = None
) -> HeldOutChecks:
    """Compare held-out experiments with the predictions of a mapping.

    Args:
        results: Usable measurements.
        predicted: float64[n] in cycles, nan where the mapping does not describe an experiment.
        epsilon: The search's own tolerance in cycles per instruction; None where it has none.
    """
    by_scheme: defaultdict[str, list[tuple[bool, float]]] = defaultdict(list)
    points: list[tuple[bool, float]] = []
    for result, cycles in zip(results, predicted.tolist(), strict=True):
        if result.cycles is None or np.isnan(cycles):
            continue
        difference = abs(cycles - result.cycles)
        point = difference > tolerance(result.experiment, result.cycles, epsilon), difference / result.cycles
        points.append(point)
        for scheme in result.experiment.schemes:
            by_scheme[scheme].append(point)
    spreads = [
        result.spread / result.cycles
        for result in results
        if result.spread is not None and result.cycles is not None
    ]
    repeats = 100 * median(spreads) if spreads else None
    return HeldOutChecks(
        _check(points, repeats),
        {scheme: _check(scheme_points, repeats) for scheme, scheme_points in sorted(by_scheme.items())},
    )


def tolerance(experiment: Experiment, cycles: float, epsilon: float | None) -> float:
    """Cycles by which a prediction of this experiment may be off."""
    return max(TOLERANCE, TOLERANCE_SHARE * cycles) if epsilon is None else epsilon * experiment.length


def _check(points: Sequence[tuple[bool, float]], repeats: float | None) -> HeldOutCheck:
    errors = [error for _, error in points]
    return HeldOutCheck(
        len(points),
        sum(off for off, _ in points),
        100 * sum(errors) / len(errors) if errors else None,
        repeats,
    )


def _round_or_none(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
