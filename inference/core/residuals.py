"""Where predictions err: by the length of the experiments, and by the schemes that occur in them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from inference.core.arrays import Floats, Int64s
from inference.core.tables import ExperimentTable

Key = TypeVar("Key", bound=Hashable)

DIGITS = 4
"""Decimals of the means, which are in per cent: they are stored by the thousand."""


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
