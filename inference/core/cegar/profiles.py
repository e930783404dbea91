"""The facts of a three-level candidate that throughput depends on, and where two candidates differ.

A *fact* (c, w) about a candidate says: some c ports confine w[i] µops of every scheme i. With all its facts

    tp⁻¹(e) = max over (c, w) of Σ w[i]·e(i) / c                      (thesis §5.1.4)

so facts are all that measuring can see. A fact implies those with more ports or fewer µops. Divided by the
length, an experiment is a point of the simplex of shares; where one candidate is slower than another by more
than 2ε cycles per instruction is a linear program over the simplex for each fact of the slower one.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from fractions import Fraction
from math import comb

import numpy as np
import numpy.typing as npt

from inference.core.cegar.shape import Candidate, Shape, unions
from inference.core.experiment import Experiment
from inference.core.tables import Floats

Fact = tuple[int, tuple[int, ...]]
"""(c, w): the number of ports, and the µops of each scheme of a shape that they confine."""

Integers = npt.NDArray[np.int64]

TOLERANCE = 1e-9  # of the linear programs, in cycles per instruction
MAX_POINTS = 5_000  # short experiments evaluated before a linear program is solved, which takes milliseconds
MAX_POINT_LENGTH = 12  # instructions in the longest of these
BLOCK = 256  # facts evaluated together: a matrix product of 256 × 5,000 floats takes 10 MB
MAX_REPEATS = 240  # instructions at most in an experiment that approximates a linear program's shares


def facts_of(shape: Shape, candidate: Candidate) -> tuple[Fact, ...]:
    """The facts that no other one implies, sorted."""
    best: dict[tuple[int, ...], int] = {}
    for union in unions(candidate):
        counts = tuple(sum(candidate[row] & ~union == 0 for row in rows) for rows in shape.rows_of)
        best[counts] = min(union.bit_count(), best.get(counts, shape.ports))
    facts = [(width, counts) for counts, width in best.items()]
    return tuple(sorted(f for f in facts if not any(g != f and implies(g, f) for g in facts)))


def implies(fact: Fact, other: Fact) -> bool:
    """Whether a candidate of which the one holds is at least as slow as the other says."""
    return fact[0] <= other[0] and all(a >= b for a, b in zip(fact[1], other[1], strict=True))


def weaker_facts(ports: int, fact: Fact) -> Iterator[Fact]:
    """The strongest facts that it implies, on at most `ports` ports."""
    width, counts = fact
    for i, n in enumerate(counts):
        if n and sum(counts) > 1:
            yield width, (*counts[:i], n - 1, *counts[i + 1 :])
    if width < ports:
        yield width + 1, counts


@functools.lru_cache(maxsize=8)
def points(n_schemes: int) -> Floats:
    """Shares of all short experiments, the shortest first: float64[experiments, schemes]."""
    rows: list[Floats] = []
    for length in range(1, MAX_POINT_LENGTH + 1):
        if sum(map(len, rows)) + comb(n_schemes + length - 1, length) > MAX_POINTS and rows:
            break
        picks = np.array(list(itertools.combinations_with_replacement(range(n_schemes), length)))
        counts = np.zeros((len(picks), n_schemes))
        np.add.at(counts, (np.arange(len(picks))[:, None], picks), 1)
        rows.append(counts / length)
    return np.concatenate(rows)


class Profile:
    """The facts of a candidate, or some of them, as a function of the shares of an experiment."""

    def __init__(self, shape: Shape, facts: Collection[Fact]) -> None:
        self.shape = shape
        self.facts = tuple(facts)
        self._rates = np.array([rates_of(fact) for fact in facts])
        self._floor = float(shape.floor)
        self._margin = float(shape.margin) + TOLERANCE
        shares = points(len(shape.schemes))
        self._points_cpi = np.full(len(shares), self._floor)
        if facts:
            self._points_cpi = np.maximum(self._points_cpi, (shares @ self._rates.T).max(axis=1))

    def slower_somewhere(self, widths: Integers, counts: Integers) -> npt.NDArray[np.bool_]:
        """bool[n]: which facts exceed this profile by over 2ε cycles per instruction for a short experiment.

        Args:
            widths: int64[n], the ports of each fact.
            counts: int64[n, schemes], its µops.
        """
        is_slower = np.zeros(len(widths), dtype=bool)
        rates = counts / widths[:, None]
        for start in range(0, len(widths), BLOCK):
            times = rates[start : start + BLOCK] @ points(rates.shape[1]).T
            is_slower[start : start + BLOCK] = (times - self._points_cpi > self._margin).any(axis=1)
        return is_slower

    def slower(self, fact: Fact) -> Floats | None:
        """Shares for which the fact exceeds this profile by over 2ε cycles per instruction; None for none."""
        rates = rates_of(fact)
        if rates.max() <= self._floor + self._margin:
            return None
        if len(self.facts) and ((rates - self._rates).max(axis=1) <= self._margin).any():
            return None  # a single fact says nearly as much for every experiment
        excess = points(len(rates)) @ rates - self._points_cpi
        if excess.max() > self._margin:
            return np.asarray(points(len(rates))[int(excess.argmax())])
        return self._most_excess(rates)

    def _most_excess(self, rates: Floats) -> Floats | None:
        """The shares where the fact exceeds the profile most, by a linear program; None for no more than 2ε.

        Its variables are the shares and t, the profile's cycles per instruction, which no fact of it exceeds.
        It maximises rates · shares - t.
        """
        from scipy.optimize import linprog  # loads scipy

        n = len(rates)
        rows = np.hstack([self._rates.reshape(-1, n), -np.ones((len(self.facts), 1))])
        best = linprog(
            np.append(-rates, 1.0),
            A_ub=rows,
            b_ub=np.zeros(len(rows)),
            A_eq=[[1.0] * n + [0.0]],
            b_eq=[1.0],
            bounds=[(0, None)] * n + [(self._floor, None)],
            method="highs",
        )
        return np.asarray(best.x[:n]) if -best.fun > self._margin else None


def rates_of(fact: Fact) -> Floats:
    """Cycles per instruction that the fact implies for each scheme: float64[n_schemes]."""
    return np.array(fact[1], dtype=float) / fact[0]


def cycles(shape: Shape, facts: Iterable[Fact], counts: Sequence[int]) -> Fraction:
    """Exact inverse throughput of an experiment, R_max applied; `counts` per scheme."""
    ports = max(
        Fraction(sum(a * b for a, b in zip(confined, counts, strict=True)), width)
        for width, confined in facts
    )
    return max(ports, shape.floor * sum(counts))


def experiments_near(shares: Floats) -> Iterator[tuple[int, ...]]:
    """Numbers of instructions in about these shares, short experiments first."""
    for length in range(1, MAX_REPEATS + 1):
        counts = tuple(round(share * length) for share in shares)
        if any(counts):
            yield counts


def deciding_experiment(
    shape: Shape, first: Sequence[Fact], second: Sequence[Fact], shares: Floats
) -> Experiment | None:
    """An experiment with about these shares whose two predictions differ by more than 2ε, exactly."""
    for counts in experiments_near(shares):
        apart = abs(cycles(shape, first, counts) - cycles(shape, second, counts))
        if apart > shape.margin * sum(counts):
            return Experiment.of({scheme: n for scheme, n in zip(shape.schemes, counts, strict=True) if n})
    return None
