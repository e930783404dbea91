"""How well predictions agree with measurements: MAPE, Pearson's r, Kendall's τ_b (thesis §3.2.2, §5.2)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from inference.core.errors import InvalidInputError

Floats = npt.NDArray[np.float64]


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
    """Cycles per experiment in another unit; `lengths` are instructions per experiment (same shape).

    0 cycles are infinitely many instructions per cycle.
    """
    unit = _unit(unit)
    values = np.asarray(cycles, dtype=np.float64)
    sizes = np.asarray(lengths, dtype=np.float64)
    if values.shape != sizes.shape:
        raise InvalidInputError(
            f"cycles of shape {values.shape} need lengths of that shape, not {sizes.shape}"
        )
    if np.any(sizes < 1):
        raise InvalidInputError("an experiment has at least one instruction")
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
        """{"n", "mape", "pearson", "kendall"}."""
        return asdict(self)


def score(measured: npt.ArrayLike, predicted: npt.ArrayLike) -> Scores:
    """Compare two equally long lists in one unit: measurements finite and > 0, predictions ≥ 0.

    τ_b is taken on measurements rounded to two decimals, as in the thesis: noise below that would break ties
    that the processor does not have. None: everything for n = 0; r and τ where either list is constant;
    MAPE and r where a prediction is infinite (0 cycles as instructions per cycle).
    """
    seen = np.asarray(measured, dtype=np.float64)
    said = np.asarray(predicted, dtype=np.float64)
    if seen.ndim != 1 or seen.shape != said.shape:
        raise InvalidInputError(f"scores need two equally long lists, not {seen.shape} and {said.shape}")
    _require(np.isfinite(seen) & (seen > 0), seen, "measurement {}: {} is not a finite number > 0")
    _require(said >= 0, said, "prediction {}: {} is not a number ≥ 0")
    if not len(seen):
        return Scores(0, None, None, None)
    kendall = _kendall(np.round(seen, 2), said)
    if np.any(np.isinf(said)):
        return Scores(len(seen), None, None, kendall)
    mape = float(np.mean(np.abs(said - seen) / seen)) * 100
    return Scores(len(seen), mape, _pearson(seen, said), kendall)


def _require(good: npt.NDArray[np.bool_], values: Floats, complaint: str) -> None:
    bad = np.flatnonzero(~good)
    if len(bad):
        raise InvalidInputError(complaint.format(bad[0], values[bad[0]]))


def _unit(unit: Unit | str) -> Unit:
    try:
        return Unit(unit)
    except ValueError:
        raise InvalidInputError(f"unknown unit {unit!r}; known: {', '.join(Unit)}") from None


def _pearson(x: Floats, y: Floats) -> float | None:
    # Compared before anything is subtracted: a mean can differ from equal values by its own rounding.
    if np.all(x == x[0]) or np.all(y == y[0]):
        return None
    a = x - x.mean()
    b = y - y.mean()
    spread = float(np.linalg.norm(a)) * float(np.linalg.norm(b))
    if spread == 0:
        return None
    return min(1.0, max(-1.0, float(a @ b) / spread))


def _kendall(x: Floats, y: Floats) -> float | None:
    if np.all(x == x[0]) or np.all(y == y[0]):
        return None
    from scipy.stats import kendalltau

    return float(kendalltau(x, y, variant="b").statistic)
