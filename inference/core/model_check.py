"""How well the port mapping model describes a processor (thesis §3.2.2): single schemes, mixes, orders.

What is measured is held against a reference port mapping: schemes by themselves, of which some go on, random
mixes of them by length, and what the order of the instructions costs.
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

NEAR = 0.10
"""Share of the measurement by which the model may be off."""

SHORT_CYCLES = 3.0
"""Figure 3.6 (a) shows the schemes that take no more than this."""

_MOST_PORTS = 20


class AloneVerdict(StrEnum):
    """What became of a scheme; only the first two are counted in the share."""

    WITHIN = "within"
    DISCREPANCY = "discrepancy"
    EXCLUDED = "excluded"
    NO_PORTS = "no ports"
    NOT_DESCRIBED = "not described"
    NOT_SETTLED = "not settled"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True)
class Alone:
    """A scheme with its measured and its modelled cycles, None where there are none.

    `note` says why the scheme is not compared; of a discrepancy, which way it goes and by how much.
    """

    scheme: str
    measured: float | None
    modelled: float | None
    verdict: AloneVerdict
    note: str = ""

    @property
    def compared(self) -> bool:
        """Whether it counts in the share of schemes that follow the model."""
        return self.verdict in (AloneVerdict.WITHIN, AloneVerdict.DISCREPANCY)

    @property
    def error(self) -> float | None:
        """The model's error as a share of the measurement, above 0 where the model says more cycles."""
        if self.measured is None or self.modelled is None:
            return None
        return (self.modelled - self.measured) / self.measured

    def as_row(self) -> list[Any]:
        """Plain data; `of_row` reads it back."""
        return [self.scheme, self.measured, self.modelled, self.verdict.value, self.note]

    @classmethod
    def of_row(cls, row: Sequence[Any]) -> Alone:
        scheme, measured, modelled, verdict, note = row
        return cls(scheme, measured, modelled, AloneVerdict(verdict), note)


def judge_alone(
    result: Measured, modelled: float | None, exclusion: str = "", *, referred: bool = True
) -> Alone:
    """A scheme measured alone beside what the reference says: `modelled` cycles, None where it says nothing.

    `exclusion` is the reason why the scheme is not in the model's scope, "" where it is. Without a reference
    (`referred` false) a scheme is held against 1/n cycles for the nearest whole n, a single µop's time.
    """
    (scheme,) = result.experiment.schemes
    measured = result.cycles
    if measured is not None and not referred:
        modelled = nearest_single_uop(measured)
    return Alone(scheme, measured, modelled, *_verdict(result, modelled, exclusion))


def _verdict(result: Measured, modelled: float | None, exclusion: str) -> tuple[AloneVerdict, str]:
    """What the measurement allows to say, with the reason."""
    if result.cycles is None:
        return AloneVerdict.NOT_MEASURED, result.note or "failed"
    if exclusion:
        return AloneVerdict.EXCLUDED, exclusion
    if result.state is MeasurementState.SETTLED:
        return _compared(result.cycles, modelled)
    disturbed = result.state is MeasurementState.CONTENDED
    why = "the computer was too disturbed" if disturbed else "its measurements did not agree"
    return AloneVerdict.NOT_SETTLED, why


def _compared(measured: float, modelled: float | None) -> tuple[AloneVerdict, str]:
    if modelled is None:
        return AloneVerdict.NOT_DESCRIBED, "the reference does not describe it"
    if modelled == 0:
        return AloneVerdict.NO_PORTS, "it uses no port according to the reference"
    if abs(modelled - measured) <= NEAR * measured:
        return AloneVerdict.WITHIN, ""
    far = 100 * abs(measured - modelled) / modelled
    return (
        AloneVerdict.DISCREPANCY,
        f"{far:.0f} % {'slower' if measured > modelled else 'faster'} than modelled",
    )


def nearest_single_uop(cycles: float) -> float:
    """1/n for the whole n from 1 to 20 that is nearest to the cycles (> 0): a µop that can use n ports."""
    below, above = math.floor(1 / cycles), math.ceil(1 / cycles)
    candidates = {min(max(n, 1), _MOST_PORTS) for n in (below, above)}
    return min((1 / n for n in sorted(candidates)), key=lambda share: abs(share - cycles))


@dataclass(frozen=True, slots=True)
class AloneSummary:
    """How many schemes were asked for, compared, and `within` 10 % of the model; `short` up to 3 cycles.

    `verdicts` counts all of them.
    """

    asked: int
    compared: int
    within: int
    short: int
    verdicts: dict[AloneVerdict, int]

    @property
    def share(self) -> float | None:
        """Of the compared schemes, those within 10 %."""
        return self.within / self.compared if self.compared else None

    @property
    def short_share(self) -> float | None:
        """Of the compared schemes, those of at most three cycles."""
        return self.short / self.compared if self.compared else None


def summary_of(alone: Iterable[Alone]) -> AloneSummary:
    rows = list(alone)
    counts = Counter(row.verdict for row in rows)
    compared = [row.measured for row in rows if row.compared and row.measured is not None]
    return AloneSummary(
        asked=len(rows),
        compared=len(compared),
        within=counts[AloneVerdict.WITHIN],
        short=sum(measured <= SHORT_CYCLES for measured in compared),
        verdicts={verdict: counts[verdict] for verdict in AloneVerdict},
    )


MIX_LENGTHS = (1, 2, 3, 4, 5, 6, 10, 15, 20)
"""Those of Figure 3.7."""


def drawn_mixes(schemes: Sequence[str], n: int, seed: int) -> dict[int, list[Experiment]]:
    """{length: up to n random mixes}; of length 1 every scheme, since they are measured already."""
    if not n or not schemes:
        return {}
    return {
        length: [Experiment.of([scheme]) for scheme in schemes]
        if length == 1
        else random_mixes(schemes, n, seed, length)
        for length in MIX_LENGTHS
    }


@dataclass(frozen=True, slots=True)
class MixSummary:
    """The mixes of one length: how many were asked for and settled, and how well the reference predicts them.

    `scores` is None without a reference. `slower` took over 10 % longer than their instructions one after the
    other, `faster` were over 10 % quicker than one of their schemes alone: no port mapping says either.
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
    """Takes the mixes of one length; `alone` is {scheme: cycles} of all that occur in them."""

    length: int
    alone: Mapping[str, float]
    asked: int = 0
    measured: list[float] = field(default_factory=list)
    modelled: list[float] = field(default_factory=list)
    _settled: int = 0
    _slower: int = 0
    _faster: int = 0

    def add(self, result: Measured, modelled: float | None) -> None:
        """A mix that was measured, and what the reference says in cycles; None without a reference."""
        self.asked += 1
        if not result.usable or result.cycles is None:
            return
        self._settled += 1
        each = [count * self.alone[scheme] for scheme, count in result.experiment.terms]
        self._slower += result.cycles > (1 + NEAR) * sum(each)
        self._faster += result.cycles < (1 - NEAR) * max(each)
        if modelled is not None:
            self.measured.append(result.cycles / self.length)
            self.modelled.append(modelled / self.length)

    @property
    def summary(self) -> MixSummary:
        """Of everything taken in so far."""
        scores = score(self.measured, self.modelled) if self.measured else None
        return MixSummary(self.length, self.asked, self._settled, scores, self._slower, self._faster)


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
