"""How well predictions agree with measurements: MAPE, Pearson's r, Kendall's τ_b (thesis §3.2.2, §5.2).

MAPE and r differ by rounding with the order of the points, τ_b does not, which is exact and needs no scipy.
Besides: where predictions err (`Residuals`), and what a search counts that is off (`Loss`).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from inference.core.errors import InvalidInputError
from inference.core.tables import ExperimentTable, Floats, Int64s

ERROR_UNIT = 2.0**-32
"""Losses are summed as whole multiples of this: such sums depend on no order, and can be updated."""

DIGITS = 4
"""Decimals of the means, which are in per cent: they are stored by the thousand."""

Key = TypeVar("Key", bound=Hashable)


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


def tau_b(x: Floats, y: Floats) -> float | None:
    """Kendall's τ_b of two equally long arrays without NaN; None where either is constant.

    Counts pairs of points in integers, so the order in which points came makes no difference at all. Points
    that occur several times are looked at once: rounded measurements and the few answers of a mapping have
    many.
    """
    points = np.empty(len(x), dtype=np.complex128)  # which numpy sorts by x and then by y
    points.real = x  # not x + 1j * y: an infinite y would make x NaN
    points.imag = y
    pairs, counts = np.unique(points, return_counts=True)
    by_y = np.argsort(pairs.imag, kind="stable")
    first_x, first_y = _changes(pairs.real), _changes(pairs.imag[by_y])
    total = _twos(np.array([len(x)]))
    tied_x = _twos(_sums(counts, first_x))
    tied_y = _twos(_sums(counts[by_y], first_y))
    if total in (tied_x, tied_y):
        return None
    ranks = np.zeros(len(pairs), dtype=np.int64)
    ranks[first_x[1:]] = 1
    discordant = inversions(np.cumsum(ranks)[by_y], counts[by_y])
    agreeing = total - tied_x - tied_y + _twos(counts) - 2 * discordant
    tau = agreeing / math.sqrt(total - tied_x) / math.sqrt(total - tied_y)
    return min(1.0, max(-1.0, tau))


def inversions(ranks: npt.NDArray[Any], weights: Int64s) -> int:
    """Σ weights[i] · weights[j] over all i < j with ranks[i] > ranks[j]; ranks ≥ 0.

    Bit by bit from the highest: two ranks are in the order that their first differing bit says. At each bit,
    elements that agree on the bits above it lie together, in their original order. O(n · bits of the largest
    rank).
    """
    if len(ranks) and ranks.max() <= np.iinfo(np.uint16).max:
        ranks = ranks.astype(np.uint16)  # these numpy sorts in linear time
    total = 0
    for bit in reversed(range(int(ranks.max(initial=0)).bit_length())):
        ones = ((ranks >> bit) & 1).astype(np.int64)
        alike = _changes(ranks >> (bit + 1))
        above = np.cumsum(weights * ones)  # weight of ones up to here, all groups
        before = np.concatenate(([0], above))[alike]
        below = weights * (1 - ones)
        total += int(below @ above) - int(_sums(below, alike) @ before)
        order = np.argsort(ranks >> bit, kind="stable")
        ranks, weights = ranks[order], weights[order]
    return total


def _changes(values: npt.NDArray[Any]) -> Int64s:
    """Where runs of equal values begin."""
    if not len(values):
        return np.zeros(0, dtype=np.int64)
    return np.concatenate(([0], np.flatnonzero(values[1:] != values[:-1]) + 1))


def _sums(values: Int64s, first: Int64s) -> Int64s:
    """Sums of the runs that begin at `first`."""
    return np.add.reduceat(values, first) if len(first) else np.zeros(0, dtype=np.int64)


def _twos(counts: Int64s) -> int:
    """In how many ways two points can be chosen from the same group."""
    return int((counts * (counts - 1) // 2).sum())


class Loss(NamedTuple):
    """What the relative error e = (predicted - measured) / measured of an experiment counts.

    With a `spread` of 0 just |e|. Otherwise `e² / (e² + spread²)`, `over` times that where e > 0, with
    `waste` times the spread where e < 0, and `distance · min(|e|, 1)` in addition. Ports and slots bound a
    time from below, and no core beats them beyond the noise, which `spread` stands for; many waste a little,
    since ports are chosen before they are free. So what is explained exactly counts, a prediction that is too
    slow is wrong, one that is too fast may only be incomplete, and how far off it is hardly matters.

    `forgiven`: a share of the measured time that a prediction may be too fast by and count nothing, where
    any experiment may have been wasted as much on.
    """

    spread: float
    over: float
    waste: float
    distance: float
    forgiven: float = 0.0


RELATIVE = Loss(spread=0.0, over=1.0, waste=1.0, distance=1.0)
"""The relative error itself, whose mean is D_avg (thesis §5.1.3)."""


def bounded(spread: float, forgiven: float = 0.0) -> Loss:
    """The loss for measurements with this noise, a share of the cycles."""
    return Loss(spread, over=2.0, waste=2.0, distance=0.15, forgiven=forgiven)


@dataclass(frozen=True, slots=True)
class LengthError:
    """The mean absolute percentage error on the `n` experiments of so many instructions."""

    length: int
    n: int
    mape: float


@dataclass(frozen=True, slots=True)
class SchemeError:
    """Relative errors of the `n` experiments that contain a scheme, means in per cent.

    `signed`: above 0 where predictions are too long. `absolute`: without their signs.
    """

    scheme: str
    n: int
    signed: float
    absolute: float


class Residuals:
    """Takes predictions beside measurements as they come; what it keeps grows with lengths and schemes alone.

    Sums are taken in the order of the experiments: in whatever parts they come, the same answer.
    """

    def __init__(self) -> None:
        self._lengths: _Tally[int] = _Tally()
        self._schemes: _Tally[str] = _Tally()

    def add(self, table: ExperimentTable, at: Int64s, measured: Floats, predicted: Floats) -> None:
        """Look at the experiments `at` of a table; `measured` > 0 and finite `predicted` are theirs."""
        errors = (predicted - measured) / measured
        lengths, which = np.unique(table.lengths[at], return_inverse=True)
        self._lengths.add(lengths.tolist(), which, errors)
        of_all = np.full(len(table), np.nan)
        of_all[at] = errors
        of_terms = np.repeat(of_all, np.diff(table.offsets))
        known = ~np.isnan(of_terms)
        self._schemes.add(table.schemes, table.scheme[known].astype(np.int64), of_terms[known])

    @property
    def by_length(self) -> tuple[LengthError, ...]:
        """One entry per length, the shortest first."""
        found = self._lengths.means()
        return tuple(LengthError(length, n, absolute) for length, n, _, absolute in sorted(found))

    @property
    def by_scheme(self) -> tuple[SchemeError, ...]:
        """One entry per scheme that occurs, the largest absolute error first."""
        found = [SchemeError(*means) for means in self._schemes.means()]
        return tuple(sorted(found, key=lambda each: (-each.absolute, each.scheme)))


class _Tally(Generic[Key]):
    """Number, sum and sum of absolute values of what belongs to each key."""

    def __init__(self) -> None:
        self._numbers: dict[Key, int] = {}
        self._counts = np.zeros(0, dtype=np.int64)
        self._sums = np.zeros((2, 0))

    def add(self, keys: Sequence[Key], which: Int64s, errors: Floats) -> None:
        places = [self._numbers.setdefault(key, len(self._numbers)) for key in keys]
        fresh = len(self._numbers) - len(self._counts)
        self._counts = np.pad(self._counts, (0, fresh))
        self._sums = np.pad(self._sums, ((0, 0), (0, fresh)))
        at = np.array(places, dtype=np.int64)[which]
        np.add.at(self._counts, at, 1)  # one by one: not a sum of sums, which would depend on the parts
        np.add.at(self._sums[0], at, errors)
        np.add.at(self._sums[1], at, np.abs(errors))

    def means(self) -> list[tuple[Key, int, float, float]]:
        """(key, number, mean, mean of absolute values) of the keys that have any, the means in per cent."""
        return [
            (key, int(n), round(100 * float(signed / n), DIGITS), round(100 * float(absolute / n), DIGITS))
            for key, n, signed, absolute in zip(self._numbers, self._counts, *self._sums, strict=True)
            if n
        ]
