"""What the order of the instructions costs (thesis §3.2.2, "Varying Experiment Order", Table 3.1)."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from inference.core.experiment import Experiment, Measured, OrderedExperiment

ORDER_LENGTHS = tuple(range(2, 21, 2))
"""Those of Table 3.1."""

ORDER_CPI = 0.05
"""Cycles per instruction beyond which two orders differ notably."""

SHOWN = 3
"""Experiments that a summary names, those whose orders differ most."""

_SPARE = 50  # draws per order wanted: with few instructions many draws are alike


def most_orders(length: int, permutations: int) -> int:
    """How many different orders a mix of so many instructions has at most, of those that are wanted."""
    return min(permutations, math.factorial(length))


def orders_of(experiment: Experiment, permutations: int, seed: int) -> list[OrderedExperiment]:
    """Up to so many different orders of the experiment, drawn at random; the same seed draws the same.

    Each once: the same order again would measure the noise. Fewer where equal schemes or few instructions
    leave no more.
    """
    schemes = [scheme for scheme, count in experiment.terms for _ in range(count)]
    possible = math.factorial(len(schemes))
    for _, count in experiment.terms:
        possible //= math.factorial(count)
    wanted = min(permutations, possible)
    digest = hashlib.blake2b(f"{seed} {experiment.terms!r}".encode(), digest_size=16).digest()
    random = np.random.default_rng(int.from_bytes(digest))
    found: dict[OrderedExperiment, None] = {}
    for _ in range(_SPARE * permutations):
        if len(found) == wanted:
            break
        drawn = OrderedExperiment.in_order(schemes[k] for k in random.permutation(len(schemes)).tolist())
        found[drawn] = None
    return list(found)


@dataclass(frozen=True, slots=True)
class OrderSummary:
    """A row of Table 3.1, in cycles per instruction; None where no experiment has two settled orders.

    `samples` of the `asked` experiments have two or more; `notable` of them differ by more than 0.05. `worst`
    are those that differ most: (experiment, fewest, most).
    """

    length: int
    asked: int
    samples: int
    mean: float | None
    largest: float | None
    notable: int
    worst: tuple[tuple[str, float, float], ...]

    @property
    def share(self) -> float | None:
        """Of the samples, those that differ notably."""
        return self.notable / self.samples if self.samples else None

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "share": self.share}


@dataclass
class OrderTally:
    """Takes the orders of the experiments of one length as they are measured."""

    length: int
    _asked: dict[Experiment, None] = field(default_factory=dict)
    _cpi: defaultdict[Experiment, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, ordered: OrderedExperiment, result: Measured) -> None:
        """One order of an experiment, measured."""
        self._asked[ordered.multiset] = None
        if result.usable and result.cycles is not None:
            self._cpi[ordered.multiset].append(result.cycles / self.length)

    @property
    def summary(self) -> OrderSummary:
        """Of everything taken in so far."""
        ranges = [(str(e), min(cpi), max(cpi)) for e, cpi in self._cpi.items() if len(cpi) > 1]
        differences: Sequence[float] = [most - least for _, least, most in ranges]
        ranges.sort(key=lambda each: each[1] - each[2])
        return OrderSummary(
            length=self.length,
            asked=len(self._asked),
            samples=len(ranges),
            mean=sum(differences) / len(differences) if differences else None,
            largest=max(differences, default=None),
            notable=sum(difference > ORDER_CPI for difference in differences),
            worst=tuple(ranges[:SHOWN]),
        )
