"""Which schemes get into each other's way, from measurements alone: of single schemes and of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from inference.core.experiment import Measured


@dataclass(frozen=True)
class PairConflicts:
    """`alone`: cycles of one instance. `shares`: of pairs (a, b) with a < b, which part of the quicker one
    comes on top of the slower one: 0 where they run side by side, 1 where one waits for the other.
    """

    alone: Mapping[str, float]
    shares: Mapping[tuple[str, str], float]


def pair_conflicts(results: Iterable[Measured]) -> PairConflicts:
    """Of all usable measurements of single schemes and 1:1 pairs, of repeated ones the last.

    Pairs of what was not measured alone are left out.
    """
    alone: dict[str, float] = {}
    together: dict[tuple[str, str], float] = {}
    for result in results:
        if not result.usable or not result.cycles:
            continue
        terms = result.experiment.terms
        if result.experiment.length == 1:
            alone[terms[0][0]] = result.cycles
        elif result.experiment.length == 2 and len(terms) == 2:
            first, second = sorted(scheme for scheme, _ in terms)
            together[first, second] = result.cycles
    shares = {}
    for (first, second), cycles in together.items():
        if first in alone and second in alone:
            slower, quicker = max(alone[first], alone[second]), min(alone[first], alone[second])
            shares[first, second] = min(max((cycles - slower) / quicker, 0.0), 1.0)
    return PairConflicts(alone, shares)
