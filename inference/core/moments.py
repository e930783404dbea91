"""MAPE and Pearson's r of any number of points, from parts that are merged: a dozen numbers, no points.

Sums of products about the mean are merged as in Chan, Golub and LeVeque, "Updating Formulae and a Pairwise
Algorithm for Computing Sample Variances" (1979): nothing large is subtracted from something as large.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from inference.core.arrays import Floats


@dataclass(frozen=True, slots=True)
class Moments:
    """What MAPE and r need of `n` points: measurements x finite and > 0, predictions y ≥ 0, maybe infinite.

    `errors` is the sum of |y − x| / x; `xx`, `yy`, `xy` are sums of products of deviations from the means
    `x` and `y`. The ranges tell constants, which rounded sums cannot.
    """

    n: int = 0
    errors: float = 0.0
    x: float = 0.0
    y: float = 0.0
    xx: float = 0.0
    yy: float = 0.0
    xy: float = 0.0
    x_range: tuple[float, float] = (math.inf, -math.inf)
    y_range: tuple[float, float] = (math.inf, -math.inf)

    @classmethod
    def of(cls, x: Floats, y: Floats) -> Moments:
        """Those of two equally long arrays."""
        if not len(x):
            return cls()
        x_range = float(x.min()), float(x.max())
        y_range = float(y.min()), float(y.max())
        if math.isinf(y_range[1]):
            return cls(len(x), math.inf, x_range=x_range, y_range=y_range)
        x_mean, a = _centred(x)
        y_mean, b = _centred(y)
        return cls(
            n=len(x),
            errors=float(np.sum(np.abs(y - x) / x)),
            x=x_mean,
            y=y_mean,
            # Not a @ b: a sum in pairs is closer, and wakes no threads of a linear algebra library.
            xx=float(np.sum(a * a)),
            yy=float(np.sum(b * b)),
            xy=float(np.sum(a * b)),
            x_range=x_range,
            y_range=y_range,
        )

    def merged(self, other: Moments) -> Moments:
        if not self.n or not other.n:
            return self if self.n else other
        n = self.n + other.n
        dx, dy = other.x - self.x, other.y - self.y
        share = other.n / n
        weight = self.n * share
        return Moments(
            n=n,
            errors=self.errors + other.errors,
            x=self.x + dx * share,
            y=self.y + dy * share,
            xx=self.xx + other.xx + dx * dx * weight,
            yy=self.yy + other.yy + dy * dy * weight,
            xy=self.xy + other.xy + dx * dy * weight,
            x_range=_both(self.x_range, other.x_range),
            y_range=_both(self.y_range, other.y_range),
        )

    @property
    def mape(self) -> float | None:
        """Mean of |y − x| / x in per cent; None without points, or with an infinite prediction."""
        if not self.n or math.isinf(self.y_range[1]):
            return None
        return self.errors / self.n * 100

    @property
    def pearson(self) -> float | None:
        """Pearson's r; None where x or y is constant, y infinite, or a sum beyond what a float can hold."""
        if not self.n or math.isinf(self.y_range[1]):
            return None
        if self.x_range[0] == self.x_range[1] or self.y_range[0] == self.y_range[1]:
            return None
        spread = math.sqrt(self.xx) * math.sqrt(self.yy)
        if not (0 < spread < math.inf and math.isfinite(self.xy)):
            return None
        return min(1.0, max(-1.0, self.xy / spread))


def _centred(values: Floats) -> tuple[float, Floats]:
    """The mean, and the deviations from it.

    A mean is rounded, and may be as far from nearly equal values as these are from each other: what it is off
    by shows in the mean of the deviations.
    """
    mean = float(values.mean())
    deviations = values - mean
    off = float(deviations.mean())
    return mean + off, deviations - off


def _both(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return min(one[0], other[0]), max(one[1], other[1])
