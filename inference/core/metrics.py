"""How well predictions agree with measurements: MAPE, Pearson's r, Kendall's τ_b (thesis §3.2.2, §5.2).

MAPE and r depend on the order of the points by rounding alone; τ_b is exact, independent of the order, and
needs no scipy. Also here: errors by length and by scheme (`Residuals`), and the losses of searches (`Loss`).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from inference.core.errors import InvalidInputError
from inference.core.experiment import Unit
from inference.core.tables import ExperimentTable, Floats, Int64s

ERROR_UNIT = 2.0**-32
"""Losses are summed as whole multiples of this: such sums are the same in any order, and can be updated."""

DIGITS = 4
"""Decimals of stored means, which are in per cent."""

Key = TypeVar("Key", bound=Hashable)


def convert(cycles: npt.ArrayLike, lengths: npt.ArrayLike, unit: Unit | str) -> Floats:
    """Cycles per experiment in another unit.

    Args:
        cycles: ≥ 0 per experiment; 0 cycles are infinitely many instructions per cycle.
        lengths: Instructions per experiment, whole numbers ≥ 1, of the same shape.
        unit: `Unit` or its value.

    Raises:
        InvalidInputError: For other shapes, or values out of range.

    >>> convert([2.0, 3.0], [4, 3], Unit.IPC).tolist()
    [2.0, 1.0]
    """
    unit = _unit(unit)
    values = _numbers(cycles, "cycles")
    sizes = _numbers(lengths, "lengths")
    if values.shape != sizes.shape:
        raise InvalidInputError(
            f"cycles of shape {values.shape} need lengths of that shape, not {sizes.shape}"
        )
    _require(values >= 0, values, "cycles of experiment {}: {} is not a number ≥ 0")
    is_length = np.isfinite(sizes) & (sizes >= 1) & (sizes == np.floor(sizes))
    _require(is_length, sizes, "length of experiment {}: {} is not a whole number ≥ 1")
    if unit is Unit.CPI:
        return np.asarray(values / sizes)
    if unit is Unit.IPC:
        with np.errstate(divide="ignore"):
            return np.asarray(sizes / values)
    return values.copy()


@dataclass(frozen=True, slots=True)
class Scores:
    """Agreement of predictions with measurements; None where a number is undefined.

    Attributes:
        n: Number of predictions.
        mape: Mean absolute percentage error, in per cent of the measurement.
        pearson: Pearson's r, from -1 to 1.
        kendall: Kendall's τ_b, from -1 to 1.
    """

    n: int
    mape: float | None
    pearson: float | None
    kendall: float | None

    def as_json(self) -> dict[str, float | int | None]:
        return asdict(self)


def score(measured: npt.ArrayLike, predicted: npt.ArrayLike) -> Scores:
    """Compare measurements with predictions in one unit.

    τ_b is computed on measurements rounded to two decimals, as in the thesis: noise below that would break
    ties that the processor does not have.

    Args:
        measured: Finite and > 0.
        predicted: ≥ 0, equally many.

    Returns:
        The scores. All are None for n = 0; r and τ where either list is constant; MAPE and r where a
            prediction is infinite (0 cycles as instructions per cycle).

    Raises:
        InvalidInputError: For lists of different lengths, or values out of range.

    >>> score([1.0, 2.0], [1.0, 3.0]).mape
    25.0
    """
    y_true = _numbers(measured, "measurements")
    y_pred = _numbers(predicted, "predictions")
    if y_true.ndim != 1 or y_true.shape != y_pred.shape:
        raise InvalidInputError(f"scores need two equally long lists, not {y_true.shape} and {y_pred.shape}")
    _require(np.isfinite(y_true) & (y_true > 0), y_true, "measurement {}: {} is not a finite number > 0")
    _require(y_pred >= 0, y_pred, "prediction {}: {} is not a number ≥ 0")
    kendall = tau_b(np.round(y_true, 2), y_pred)
    if not len(y_true) or np.isinf(y_pred).any():
        return Scores(len(y_true), None, None, kendall)
    mape = float(np.mean(np.abs(y_pred - y_true) / y_true)) * 100
    return Scores(len(y_true), mape, _pearson(y_true, y_pred), kendall)


def _pearson(x: Floats, y: Floats) -> float | None:
    """Pearson's r of finite values; None where either is constant, or a sum is too large for a float."""
    if x.min() == x.max() or y.min() == y.max():
        return None
    a, b = _deviations(x), _deviations(y)
    # Not a @ b: a sum in pairs is closer, and wakes no threads of a linear algebra library.
    spread, product = math.sqrt(np.sum(a * a)) * math.sqrt(np.sum(b * b)), float(np.sum(a * b))
    if not (0 < spread < math.inf and math.isfinite(product)):
        return None
    return min(1.0, max(-1.0, product / spread))


def _deviations(values: Floats) -> Floats:
    """Deviations from the mean.

    A mean is rounded, and can be as far from nearly equal values as these are from each other. The mean of
    the deviations corrects it.
    """
    deviations = values - values.mean()
    return np.asarray(deviations - deviations.mean())


def _numbers(values: npt.ArrayLike, label: str) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{label} must be numbers: {error}") from None


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

    Pairs of points are counted in integers, so the result does not depend on the order of the points. Points
    that occur several times are counted once, with their number: rounded measurements and a mapping's few
    different answers have many.
    """
    points = np.empty(len(x), dtype=np.complex128)  # which numpy sorts by x and then by y
    points.real = x  # not x + 1j * y: an infinite y would make x NaN
    points.imag = y
    pairs, counts = np.unique(points, return_counts=True)
    by_y = np.argsort(pairs.imag, kind="stable")
    first_x, first_y = _run_starts(pairs.real), _run_starts(pairs.imag[by_y])
    total = _pair_count(np.array([len(x)]))
    tied_x = _pair_count(_run_sums(counts, first_x))
    tied_y = _pair_count(_run_sums(counts[by_y], first_y))
    if total in (tied_x, tied_y):
        return None
    ranks = np.zeros(len(pairs), dtype=np.int64)
    ranks[first_x[1:]] = 1
    discordant = inversions(np.cumsum(ranks)[by_y], counts[by_y])
    agreeing = total - tied_x - tied_y + _pair_count(counts) - 2 * discordant
    tau = agreeing / math.sqrt(total - tied_x) / math.sqrt(total - tied_y)
    return min(1.0, max(-1.0, tau))


def inversions(ranks: npt.NDArray[Any], weights: Int64s) -> int:
    """Σ weights[i] · weights[j] over all i < j with ranks[i] > ranks[j]; ranks ≥ 0.

    Bit by bit from the highest: the first differing bit decides the order of two ranks. At each bit, elements
    that agree on the bits above it lie together, in their original order. O(n · bits of the largest rank).
    """
    if len(ranks) and ranks.max() <= np.iinfo(np.uint16).max:
        ranks = ranks.astype(np.uint16)  # these numpy sorts in linear time
    total = 0
    for bit in reversed(range(int(ranks.max(initial=0)).bit_length())):
        bits = ((ranks >> bit) & 1).astype(np.int64)
        groups = _run_starts(ranks >> (bit + 1))
        prefix = np.cumsum(weights * bits)  # weight of ones up to here, all groups
        before = np.concatenate(([0], prefix))[groups]
        zeros = weights * (1 - bits)
        total += int(zeros @ prefix) - int(_run_sums(zeros, groups) @ before)
        order = np.argsort(ranks >> bit, kind="stable")
        ranks, weights = ranks[order], weights[order]
    return total


def _run_starts(values: npt.NDArray[Any]) -> Int64s:
    """The indices at which runs of equal values begin."""
    if not len(values):
        return np.zeros(0, dtype=np.int64)
    return np.concatenate(([0], np.flatnonzero(values[1:] != values[:-1]) + 1))


def _run_sums(values: Int64s, first: Int64s) -> Int64s:
    """Sums of the runs that begin at the indices `first`."""
    return np.add.reduceat(values, first) if len(first) else np.zeros(0, dtype=np.int64)


def _pair_count(counts: Int64s) -> int:
    """Σ n · (n − 1) / 2 over the counts: the number of pairs of points within a group."""
    return int((counts * (counts - 1) // 2).sum())


class Loss(NamedTuple):
    """Loss of an experiment as a function of its relative error e = (predicted − measured) / measured.

    With a `spread` of 0 it is |e|. Otherwise it is `e² / (e² + spread²)`, multiplied by `over` where e > 0,
    with `waste · spread` in place of the spread where e < 0, plus `distance · min(|e|, 1)`.

    Ports and slots bound a time from below, and no core beats them beyond the noise, for which `spread`
    stands. Many cores waste a little, because ports are chosen before they are free. So a prediction that is
    exact is rewarded, one that is too slow is wrong, one that is too fast may only be incomplete, and the
    size of a large error matters little.

    `forgiven`: share of the measured time by which a prediction may be too fast at no loss, for cores that
    may waste as much on any experiment.
    """

    spread: float
    over: float
    waste: float
    distance: float
    forgiven: float = 0.0


RELATIVE_LOSS = Loss(spread=0.0, over=1.0, waste=1.0, distance=1.0)
"""The relative error itself, whose mean is D_avg (thesis §5.1.3)."""


def bounded_loss(spread: float, forgiven: float = 0.0) -> Loss:
    """The loss for measurements whose noise is `spread`, a share of the cycles; `forgiven` as in `Loss`."""
    return Loss(spread, over=2.0, waste=2.0, distance=0.15, forgiven=forgiven)


@dataclass(frozen=True, slots=True)
class LengthError:
    """The mean absolute percentage error on the `n` experiments of `length` instructions."""

    length: int
    n: int
    mape: float


@dataclass(frozen=True, slots=True)
class SchemeError:
    """Mean relative errors, in per cent, of the `n` experiments that contain a scheme.

    Attributes:
        signed: Above 0 where predictions are too long.
        absolute: Mean of the absolute errors.
    """

    scheme: str
    n: int
    signed: float
    absolute: float


class Residuals:
    """Accumulates errors by length and by scheme; its memory grows with lengths and schemes only.

    Sums are taken in the order of the experiments, so the result is the same in whichever portions they come.
    """

    def __init__(self) -> None:
        self._lengths: _Tally[int] = _Tally()
        self._schemes: _Tally[str] = _Tally()

    def add(self, table: ExperimentTable, at: Int64s, measured: Floats, predicted: Floats) -> None:
        """Add the experiments `at` of a table with their `measured` (> 0) and finite `predicted` cycles."""
        errors = (predicted - measured) / measured
        lengths, index = np.unique(table.lengths[at], return_inverse=True)
        self._lengths.add(lengths.tolist(), index, errors)
        by_experiment = np.full(len(table), np.nan)
        by_experiment[at] = errors
        by_term = np.repeat(by_experiment, np.diff(table.offsets))
        has_error = ~np.isnan(by_term)
        self._schemes.add(table.schemes, table.scheme[has_error].astype(np.int64), by_term[has_error])

    @property
    def by_length(self) -> tuple[LengthError, ...]:
        """One entry per length, the shortest first."""
        means = self._lengths.means()
        return tuple(LengthError(length, n, absolute) for length, n, _, absolute in sorted(means))

    @property
    def by_scheme(self) -> tuple[SchemeError, ...]:
        """One entry per scheme that occurs, the largest absolute error first."""
        errors = [SchemeError(*means) for means in self._schemes.means()]
        return tuple(sorted(errors, key=lambda error: (-error.absolute, error.scheme)))


class _Tally(Generic[Key]):
    """Count, sum and sum of absolute values per key."""

    def __init__(self) -> None:
        self._numbers: dict[Key, int] = {}
        self._counts = np.zeros(0, dtype=np.int64)
        self._sums = np.zeros((2, 0))

    def add(self, keys: Sequence[Key], key_index: Int64s, errors: Floats) -> None:
        places = [self._numbers.setdefault(key, len(self._numbers)) for key in keys]
        n_new = len(self._numbers) - len(self._counts)
        self._counts = np.pad(self._counts, (0, n_new))
        self._sums = np.pad(self._sums, ((0, 0), (0, n_new)))
        at = np.array(places, dtype=np.int64)[key_index]
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
