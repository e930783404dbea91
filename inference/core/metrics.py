"""How well predictions agree with measurements: MAPE, Pearson's r, Kendall's τ_b (thesis §3.2.2, §5.2).

MAPE and r differ by rounding with the order of the points, τ_b does not.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from inference.core.arrays import Floats
from inference.core.errors import InvalidInputError
from inference.core.ranks import tau_b


class Unit(StrEnum):
    """What a number of cycles is shown as."""

    CYCLES = "cycles"
    CPI = "cpi"
    IPC = "ipc"

    @property
    def label(self) -> str:
        """In words, for axes and column heads."""
        return _LABELS[self]


_LABELS = {
    Unit.CYCLES: "cycles",
    Unit.CPI: "cycles per instruction",
    Unit.IPC: "instructions per cycle",
}


def convert(cycles: npt.ArrayLike, lengths: npt.ArrayLike, unit: Unit | str) -> Floats:
    """Cycles ≥ 0 per experiment in another unit; `lengths` are instructions per experiment (same shape).

    0 cycles are infinitely many instructions per cycle. Raises `InvalidInputError` for anything else.
    """
    unit = _unit(unit)
    values = _numbers(cycles, "cycles")
    sizes = _numbers(lengths, "lengths")
    if values.shape != sizes.shape:
        raise InvalidInputError(
            f"cycles of shape {values.shape} need lengths of that shape, not {sizes.shape}"
        )
    _require(values >= 0, values, "cycles of experiment {}: {} is not a number ≥ 0")
    whole = np.isfinite(sizes) & (sizes >= 1) & (sizes == np.floor(sizes))
    _require(whole, sizes, "length of experiment {}: {} is not a whole number ≥ 1")
    if unit is Unit.CPI:
        return np.asarray(values / sizes)
    if unit is Unit.IPC:
        with np.errstate(divide="ignore"):
            return np.asarray(sizes / values)
    return values.copy()


@dataclass(frozen=True, slots=True)
class Scores:
    """Agreement of `n` predictions with measurements; None where a number is undefined.

    `mape` is in per cent of the measurement; `pearson` and `kendall` lie in [-1, 1].
    """

    n: int
    mape: float | None
    pearson: float | None
    kendall: float | None

    def as_json(self) -> dict[str, float | int | None]:
        return asdict(self)


def score(measured: npt.ArrayLike, predicted: npt.ArrayLike) -> Scores:
    """Compare two equally long lists in one unit: measurements finite and > 0, predictions ≥ 0.

    τ_b is taken on measurements rounded to two decimals, as in the thesis: noise below that would break ties
    that the processor does not have. None: everything for n = 0; r and τ where either list is constant;
    MAPE and r where a prediction is infinite (0 cycles as instructions per cycle).
    """
    seen = _numbers(measured, "measurements")
    said = _numbers(predicted, "predictions")
    if seen.ndim != 1 or seen.shape != said.shape:
        raise InvalidInputError(f"scores need two equally long lists, not {seen.shape} and {said.shape}")
    _require(np.isfinite(seen) & (seen > 0), seen, "measurement {}: {} is not a finite number > 0")
    _require(said >= 0, said, "prediction {}: {} is not a number ≥ 0")
    kendall = tau_b(np.round(seen, 2), said)
    if not len(seen) or np.isinf(said).any():
        return Scores(len(seen), None, None, kendall)
    return Scores(len(seen), float(np.mean(np.abs(said - seen) / seen)) * 100, _pearson(seen, said), kendall)


def _pearson(x: Floats, y: Floats) -> float | None:
    """Pearson's r of finite values; None where either is constant, or a sum too large for a float."""
    if x.min() == x.max() or y.min() == y.max():
        return None
    a, b = _centred(x), _centred(y)
    # Not a @ b: a sum in pairs is closer, and wakes no threads of a linear algebra library.
    spread, product = math.sqrt(np.sum(a * a)) * math.sqrt(np.sum(b * b)), float(np.sum(a * b))
    if not (0 < spread < math.inf and math.isfinite(product)):
        return None
    return min(1.0, max(-1.0, product / spread))


def _centred(values: Floats) -> Floats:
    """Deviations from the mean.

    A mean is rounded, and may be as far from nearly equal values as these are from each other: what it is off
    by shows in the mean of the deviations.
    """
    deviations = values - values.mean()
    return np.asarray(deviations - deviations.mean())


def _numbers(values: npt.ArrayLike, what: str) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{what} must be numbers: {error}") from None


def _require(good: npt.NDArray[np.bool_], values: Floats, complaint: str) -> None:
    bad = np.flatnonzero(~good)
    if len(bad):
        raise InvalidInputError(complaint.format(bad[0], values.flat[bad[0]]))


def _unit(unit: Unit | str) -> Unit:
    try:
        return Unit(unit)
    except ValueError:
        raise InvalidInputError(f"unknown unit {unit!r}; known: {', '.join(Unit)}") from None
