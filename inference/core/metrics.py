"""How well predictions agree with measurements: MAPE, Pearson's r, Kendall's τ_b (thesis §3.2.2, §5.2).

`RunningScores` takes points as they come and is merged with others; `score` is that for two whole lists.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from inference.core.arrays import Floats
from inference.core.errors import InvalidInputError
from inference.core.moments import Moments
from inference.core.ranks import PairCounts

PART = 1 << 16
"""Points looked at at once: what is needed on the way fits the cache, however many there are."""


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


_PENDING = 16 * PART  # distinct pairs that may wait to be merged: 24 MiB


class RunningScores:
    """The scores of points that come in parts, and are not kept.

    In whatever parts they come, and in whatever order parts are merged, n and τ_b are the same bit for bit;
    MAPE and r differ by rounding alone. Memory: a dozen numbers, and for τ_b 24 bytes per distinct pair of a
    measurement, rounded to two decimals, and a prediction: at most 24 bytes per point, and up to five times
    that while parts are merged and τ_b is counted.
    """

    def __init__(self) -> None:
        self._moments = Moments()
        self._pairs: list[PairCounts] = []

    def add(self, measured: npt.ArrayLike, predicted: npt.ArrayLike) -> None:
        """Take in two equally long lists in one unit: measurements finite and > 0, predictions ≥ 0.

        Raises `InvalidInputError`, and then has taken in none of them.
        """
        seen = _numbers(measured, "measurements")
        said = _numbers(predicted, "predictions")
        if seen.ndim != 1 or seen.shape != said.shape:
            raise InvalidInputError(f"scores need two equally long lists, not {seen.shape} and {said.shape}")
        _require(np.isfinite(seen) & (seen > 0), seen, "measurement {}: {} is not a finite number > 0")
        _require(said >= 0, said, "prediction {}: {} is not a number ≥ 0")
        for start in range(0, len(seen), PART):
            part = slice(start, start + PART)
            self._moments = self._moments.merged(Moments.of(seen[part], said[part]))
            self._take_in(PairCounts.of(np.round(seen[part], 2), said[part]))

    def merge(self, other: RunningScores) -> None:
        """Take in the points of another, which stays as it is."""
        self._moments = self._moments.merged(other._moments)
        for part in other._pairs:
            self._take_in(part)

    def _take_in(self, part: PairCounts) -> None:
        # Merged when they have doubled: every pair is touched a few times, however many parts there are.
        self._pairs.append(part)
        if sum(map(len, self._pairs[1:])) >= max(len(self._pairs[0]), _PENDING):
            self._pairs = [PairCounts.merged(self._pairs)]

    @property
    def scores(self) -> Scores:
        """The scores of everything taken in so far; see `score` for what is undefined."""
        self._pairs = [PairCounts.merged(self._pairs)] if len(self._pairs) > 1 else self._pairs
        kendall = self._pairs[0].tau_b() if self._pairs else None
        return Scores(self._moments.n, self._moments.mape, self._moments.pearson, kendall)


def score(measured: npt.ArrayLike, predicted: npt.ArrayLike) -> Scores:
    """Compare two equally long lists in one unit: measurements finite and > 0, predictions ≥ 0.

    τ_b is taken on measurements rounded to two decimals, as in the thesis: noise below that would break ties
    that the processor does not have. None: everything for n = 0; r and τ where either list is constant;
    MAPE and r where a prediction is infinite (0 cycles as instructions per cycle).
    """
    agreement = RunningScores()
    agreement.add(measured, predicted)
    return agreement.scores


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
