"""Schemes measured alone beside what a port mapping allows (thesis §3.2.2, "Individual Instructions")."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from inference.core.experiment import Measured, MeasurementState

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
