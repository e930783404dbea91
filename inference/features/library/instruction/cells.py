"""What is known of one form of an instruction on one CPU, how sure it is, and who says otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from inference.core.explain import SchemeFate
from inference.core.judging.contradictions import NOT_SETTLED
from inference.core.judging.held_out_checks import NEAR, SHARE
from inference.core.judging.words import NO_GROUNDS, AllowedWord, Grounds, StrongWord, strongest_word
from inference.core.mapping import Uops
from inference.core.metrics import SchemeError
from inference.core.protocols import Json
from inference.models import Characterisation, Evaluation, LatencySet, PortMapping

BADLY = 20.0
"""Per cent by which predictions for experiments with a form may be off on average."""


class Certainty(StrEnum):
    """How well the µops of a form are established, the best first."""

    PROVEN = StrongWord.PROVEN.value
    CHECKED = StrongWord.CHECKED.value
    UNSETTLED = NOT_SETTLED
    DOUBTFUL = "doubtful"
    CONTRADICTED = "contradicted"
    UNCHECKED = "not checked"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class AloneTime:
    """One instance as it was measured: the median in cycles, and the experiment."""

    cycles: float
    experiment_id: int


@dataclass(frozen=True)
class FormLatency:
    """The latencies of a form in one set: least to most, or what no pair exceeds; None where unknown.

    `pairs`: as `inference.core.latency.PairLatency.as_json` has them.
    """

    latency_set: LatencySet
    least: float | None
    most: float | None
    at_most: float | None
    pairs: Sequence[Json]


@dataclass(frozen=True)
class OtherUsage:
    """Another mapping of the same core that gives the form other µops."""

    mapping: PortMapping
    uops: Uops


@dataclass(frozen=True)
class OtherNumber:
    """A document that says another number than was measured: of the cycles alone, or of a latency."""

    source: str
    what: str
    said: str


@dataclass(frozen=True)
class FormOnCpu:
    """A cell of the card; `uops` is None where the mapping does not describe the form.

    `slots` is None where the mapping has no limit of slots. `residual` is over the experiments with the form
    in `evaluation`. `grounds`: what a word on its µops rests on; `conflicts`: what other results of the
    machine say instead.
    """

    uops: Uops | None
    slots: int | None
    predicted: float | None
    alone: AloneTime | None
    latency: FormLatency | None
    verdict: Characterisation | None
    witnesses: int
    residual: SchemeError | None
    evaluation: Evaluation | None
    others: Sequence[OtherUsage]
    documents: Sequence[OtherNumber]
    grounds: Grounds = NO_GROUNDS
    conflicts: Sequence[str] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is known."""
        return all(each is None for each in (self.uops, self.alone, self.latency, self.verdict))

    @property
    def off(self) -> float | None:
        """Cycles by which one instance takes longer than predicted, where that is too many either way."""
        if self.alone is None or self.predicted is None:
            return None
        difference = self.alone.cycles - self.predicted
        return difference if abs(difference) > max(NEAR, SHARE * self.alone.cycles) else None

    @property
    def certainty(self) -> Certainty:
        """The word for it; what was measured counts more than what was concluded."""
        if self.uops is None:
            return Certainty.UNKNOWN if self.verdict is None else Certainty.DOUBTFUL
        if self.off is not None:
            return Certainty.CONTRADICTED
        badly = self.residual is not None and self.residual.absolute > BADLY
        if badly or (self.verdict is not None and self.verdict.outcome != SchemeFate.CHARACTERISED):
            return Certainty.DOUBTFUL
        if self.word is None:
            return Certainty.UNCHECKED
        return Certainty(self.word.text) if self.word.is_strong else Certainty.UNSETTLED

    @property
    def word(self) -> AllowedWord | None:
        """The strongest word for its µops; None where nothing was measured that could bear it out."""
        if self.verdict is not None and self.witnesses:
            return strongest_word(StrongWord.PROVEN, self.grounds)
        if self.residual is not None or self.alone is not None:
            return strongest_word(StrongWord.CHECKED, self.grounds)
        return None

    @property
    def why(self) -> str:
        """What the word rests on."""
        told = []
        if self.off is not None and self.alone is not None and self.predicted is not None:
            told.append(f"alone {self.alone.cycles:.2f} cycles, predicted {self.predicted:.2f}")
        if self.verdict is not None and self.verdict.outcome != SchemeFate.CHARACTERISED:
            told.append(self.verdict.text or self.verdict.outcome)
        if self.certainty is Certainty.UNSETTLED and self.word is not None:
            told.append("; ".join((self.word.text, *self.word.reasons)))
        if self.witnesses:
            told.append(f"{self.witnesses} witness{'' if self.witnesses == 1 else 'es'}")
        if self.residual is not None:
            told.append(f"{self.residual.n:,} experiments, off by {self.residual.absolute:.1f} %")
        if not told:
            told.append("measured alone only" if self.alone is not None else "no measurement with it")
        return "; ".join(told)


def differ(first: Uops, second: Uops) -> bool:
    """Whether no renaming of ports makes the µops of two mappings equal: other numbers, or other widths."""
    return _widths(first) != _widths(second)


def _widths(uops: Uops) -> Counter[int]:
    found: Counter[int] = Counter()
    for mask, count in uops:
        found[mask.bit_count()] += count
    return found
