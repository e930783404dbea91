"""How well the port mapping model describes a processor (thesis §3.2.2): single schemes, mixes, orders.

Measurements are compared with a reference port mapping: schemes alone, some of which continue with random
mixes by length, and the effect of the order of instructions.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from inference.core.experiment import Experiment, Measured, MeasurementState, OrderedExperiment
from inference.core.metrics import Scores, score
from inference.core.sampling import random_mixes

MODEL_TOLERANCE = 0.10
"""Share of the measurement by which the model may be off."""

SHORT_CYCLES_MAX = 3.0
"""Figure 3.6 (a) shows the schemes that take no more than this."""

_MAX_PORTS = 20  # of a scheme that is compared with a single µop on so many ports


class AloneVerdict(StrEnum):
    """Result of comparing a scheme alone; only the first two count in the share."""

    WITHIN = "within"
    DISCREPANCY = "discrepancy"
    EXCLUDED = "excluded"
    NO_PORTS = "no ports"
    NOT_DESCRIBED = "not described"
    NOT_SETTLED = "not settled"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True)
class AloneCheck:
    """A scheme with its measured and its modelled cycles, None where there are none.

    `note`: why the scheme is not compared; for a discrepancy, its direction and size.
    """

    scheme: str
    measured: float | None
    modelled: float | None
    verdict: AloneVerdict
    note: str = ""

    @property
    def compared(self) -> bool:
        """Whether the scheme counts in the share of schemes that follow the model."""
        return self.verdict in (AloneVerdict.WITHIN, AloneVerdict.DISCREPANCY)

    @property
    def error(self) -> float | None:
        """The model's error as a share of the measurement, above 0 where the model predicts more cycles."""
        if self.measured is None or self.modelled is None:
            return None
        return (self.modelled - self.measured) / self.measured

    def as_row(self) -> list[Any]:
        """Plain data; `of_row` reads it back."""
        return [self.scheme, self.measured, self.modelled, self.verdict.value, self.note]

    @classmethod
    def of_row(cls, row: Sequence[Any]) -> AloneCheck:
        scheme, measured, modelled, verdict, note = row
        return cls(scheme, measured, modelled, AloneVerdict(verdict), note)


def judge_alone(
    result: Measured, modelled: float | None, exclusion: str = "", *, referred: bool = True
) -> AloneCheck:
    """Compare a scheme that was measured alone with the reference.

    Args:
        result: Result of an experiment of one scheme.
        modelled: Cycles that the reference predicts; None where it does not describe the scheme.
        exclusion: Why the scheme is outside the model's scope; "" where it is inside.
        referred: False without a reference: the scheme is compared with 1/n cycles for the nearest whole n,
            the time of a single µop.
    """
    (scheme,) = result.experiment.schemes
    measured = result.cycles
    if measured is not None and not referred:
        modelled = nearest_single_uop(measured)
    return AloneCheck(scheme, measured, modelled, *_verdict(result, modelled, exclusion))


def _verdict(result: Measured, modelled: float | None, exclusion: str) -> tuple[AloneVerdict, str]:
    """The verdict that the measurement allows, with its reason."""
    if result.cycles is None:
        return AloneVerdict.NOT_MEASURED, result.note or "failed"
    if exclusion:
        return AloneVerdict.EXCLUDED, exclusion
    if result.state is MeasurementState.SETTLED:
        return _compare_times(result.cycles, modelled)
    disturbed = result.state is MeasurementState.CONTENDED
    why = "the computer was too disturbed" if disturbed else "its measurements did not agree"
    return AloneVerdict.NOT_SETTLED, why


def _compare_times(measured: float, modelled: float | None) -> tuple[AloneVerdict, str]:
    if modelled is None:
        return AloneVerdict.NOT_DESCRIBED, "the reference does not describe it"
    if modelled == 0:
        return AloneVerdict.NO_PORTS, "it uses no port according to the reference"
    if abs(modelled - measured) <= MODEL_TOLERANCE * measured:
        return AloneVerdict.WITHIN, ""
    far = 100 * abs(measured - modelled) / modelled
    return (
        AloneVerdict.DISCREPANCY,
        f"{far:.0f} % {'slower' if measured > modelled else 'faster'} than modelled",
    )


def nearest_single_uop(cycles: float) -> float:
    """1/n for the whole n from 1 to 20 that is nearest to `cycles` > 0: a µop that can use n ports.

    >>> nearest_single_uop(0.27)
    0.25
    """
    below, above = math.floor(1 / cycles), math.ceil(1 / cycles)
    candidates = {min(max(n, 1), _MAX_PORTS) for n in (below, above)}
    return min((1 / n for n in sorted(candidates)), key=lambda share: abs(share - cycles))


@dataclass(frozen=True, slots=True)
class AloneSummary:
    """Numbers of schemes: `requested`, compared, `within` 10 % of the model, and `short` ones of up to 3
    cycles.

    `verdicts` counts all of them.
    """

    requested: int
    compared: int
    within: int
    short: int
    verdicts: dict[AloneVerdict, int]

    @property
    def share(self) -> float | None:
        """Share of the compared schemes within 10 %; None where none was compared."""
        return self.within / self.compared if self.compared else None

    @property
    def short_share(self) -> float | None:
        """Share of the compared schemes of at most three cycles; None where none was compared."""
        return self.short / self.compared if self.compared else None


def summary_of(alone: Iterable[AloneCheck]) -> AloneSummary:
    rows = list(alone)
    counts = Counter(row.verdict for row in rows)
    compared = [row.measured for row in rows if row.compared and row.measured is not None]
    return AloneSummary(
        requested=len(rows),
        compared=len(compared),
        within=counts[AloneVerdict.WITHIN],
        short=sum(measured <= SHORT_CYCLES_MAX for measured in compared),
        verdicts={verdict: counts[verdict] for verdict in AloneVerdict},
    )


MIX_LENGTHS = (1, 2, 3, 4, 5, 6, 10, 15, 20)
"""Those of Figure 3.7."""


def mixes_by_length(schemes: Sequence[str], mixes_per_length: int, seed: int) -> dict[int, list[Experiment]]:
    """{length: random mixes}, of length 1 every scheme, as these are measured already.

    Args:
        schemes: To mix.
        mixes_per_length: Mixes of each length at most; 0 for none at all.
        seed: Equal seeds give equal mixes.
    """
    if not mixes_per_length or not schemes:
        return {}
    return {
        length: [Experiment.of([scheme]) for scheme in schemes]
        if length == 1
        else random_mixes(schemes, mixes_per_length, seed, length)
        for length in MIX_LENGTHS
    }


@dataclass(frozen=True, slots=True)
class MixSummary:
    """The mixes of one length: how many were requested and settled, and how well the reference predicts
    them.

    `scores` is None without a reference.

    Attributes:
        slower: Over 10 % longer than their instructions one after the other.
        faster: Over 10 % quicker than one of their schemes alone. No port mapping predicts either.
    """

    length: int
    asked: int
    settled: int
    scores: Scores | None
    slower: int
    faster: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class MixTally:
    """Accumulates the mixes of one length; `alone` is {scheme: cycles} of all that occur in them."""

    length: int
    alone: Mapping[str, float]
    requested: int = 0
    measured: list[float] = field(default_factory=list)
    modelled: list[float] = field(default_factory=list)
    _settled: int = 0
    _slower: int = 0
    _faster: int = 0

    def add(self, result: Measured, modelled: float | None) -> None:
        """Add a measured mix, and the cycles that the reference predicts; None without a reference."""
        self.requested += 1
        if not result.usable or result.cycles is None:
            return
        self._settled += 1
        cycles_alone = [count * self.alone[scheme] for scheme, count in result.experiment.terms]
        self._slower += result.cycles > (1 + MODEL_TOLERANCE) * sum(cycles_alone)
        self._faster += result.cycles < (1 - MODEL_TOLERANCE) * max(cycles_alone)
        if modelled is not None:
            self.measured.append(result.cycles / self.length)
            self.modelled.append(modelled / self.length)

    @property
    def summary(self) -> MixSummary:
        """Summary of the mixes added so far."""
        scores = score(self.measured, self.modelled) if self.measured else None
        return MixSummary(self.length, self.requested, self._settled, scores, self._slower, self._faster)


ORDER_LENGTHS = tuple(range(2, 21, 2))
"""Those of Table 3.1."""

ORDER_TOLERANCE = 0.05
"""Cycles per instruction beyond which two orders differ notably."""

MAX_NAMED = 3
"""Number of experiments that a summary names, those whose orders differ most."""

_DRAWS_PER_ORDER = 50  # draws per order wanted: with few instructions many draws are alike


def most_orders(length: int, permutations: int) -> int:
    """An upper bound of the different orders of a mix of `length` instructions, at most `permutations`."""
    return min(permutations, math.factorial(length))


def orders_of(experiment: Experiment, permutations: int, seed: int) -> list[OrderedExperiment]:
    """Different random orders of an experiment.

    An order is not repeated, since that would measure the noise. There are fewer where equal schemes or
    few instructions leave fewer orders.

    Args:
        experiment: A multiset of schemes.
        permutations: Orders at most.
        seed: Equal seeds give equal orders.
    """
    schemes = [scheme for scheme, count in experiment.terms for _ in range(count)]
    possible = math.factorial(len(schemes))
    for _, count in experiment.terms:
        possible //= math.factorial(count)
    n_orders = min(permutations, possible)
    digest = hashlib.blake2b(f"{seed} {experiment.terms!r}".encode(), digest_size=16).digest()
    random = np.random.default_rng(int.from_bytes(digest))
    orders: dict[OrderedExperiment, None] = {}
    for _ in range(_DRAWS_PER_ORDER * permutations):
        if len(orders) == n_orders:
            break
        order = OrderedExperiment.in_order(schemes[k] for k in random.permutation(len(schemes)).tolist())
        orders[order] = None
    return list(orders)


@dataclass(frozen=True, slots=True)
class OrderSummary:
    """A row of Table 3.1, in cycles per instruction; None where no experiment has two settled orders.

    `samples` of the `asked` experiments have two or more; `notable` of them differ by more than 0.05.
    `worst`: those that differ most, as (experiment, fewest, most).
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
        """Share of the samples that differ notably; None without samples."""
        return self.notable / self.samples if self.samples else None

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "share": self.share}


@dataclass
class OrderTally:
    """Accumulates measurements of the orders of experiments of one length."""

    length: int
    _experiments: dict[Experiment, None] = field(default_factory=dict)
    _cpi: defaultdict[Experiment, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, ordered: OrderedExperiment, result: Measured) -> None:
        """Add the measurement of one order of an experiment."""
        self._experiments[ordered.multiset] = None
        if result.usable and result.cycles is not None:
            self._cpi[ordered.multiset].append(result.cycles / self.length)

    @property
    def summary(self) -> OrderSummary:
        """Summary of the orders added so far."""
        ranges = [(str(e), min(cpi), max(cpi)) for e, cpi in self._cpi.items() if len(cpi) > 1]
        differences: Sequence[float] = [highest - lowest for _, lowest, highest in ranges]
        ranges.sort(key=lambda row: row[1] - row[2])
        return OrderSummary(
            length=self.length,
            asked=len(self._experiments),
            samples=len(ranges),
            mean=sum(differences) / len(differences) if differences else None,
            largest=max(differences, default=None),
            notable=sum(difference > ORDER_TOLERANCE for difference in differences),
            worst=tuple(ranges[:MAX_NAMED]),
        )
