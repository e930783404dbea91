"""Numbers that no processor can reach: answers that are less than what a block takes at the very least.

Two bounds are known: a processor starts so many instructions per cycle and no more (where the user says how
many), and a port mapping gives the cycles that a block's µops need (where one is given). An answer below
stays in the set; it is pointed at, since the usual cause is a wrong unit or a broken measurement.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from inference.formats.blocks_csv import BlockRow
from inference.predictors.protocol import Predictor

TOLERANCE = 0.1
"""Answers may be below a bound by this share: tools count a loop's first iterations, machines are noisy."""
LISTED = 50
"""Doubts listed in full; more are counted."""


@dataclass(frozen=True, slots=True)
class AnswerBelowBound:
    """An answer below a bound: where, what it says, and the cycles that the block takes at least."""

    line: int
    column: str
    cycles: float
    least: float


@dataclass
class Bounds:
    """What is known of a processor. `issue_width`: most instructions per cycle; `ports`: a port mapping."""

    issue_width: float | None = None
    ports: Predictor | None = None

    def least(self, rows: Sequence[BlockRow]) -> list[float]:
        """The least number of cycles for each of the blocks; 0 where nothing is known of it."""
        width = self.issue_width
        found = [row.instructions / width if width else 0.0 for row in rows]
        if self.ports is None:
            return found
        answers = self.ports.predict([row.code for row in rows])
        return [max(bound, one.cycles or 0.0) for bound, one in zip(found, answers, strict=True)]


@dataclass
class AnswersBelowBounds:
    """Collects them: the first `LISTED`, and the number of all per column."""

    bounds: Bounds = field(default_factory=Bounds)
    listed: list[AnswerBelowBound] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def look(self, rows: Sequence[BlockRow], answers: Iterable[tuple[str, Sequence[float | None]]]) -> None:
        """Compare the answers of some rows, {column: cycles or None per row}, with the bounds."""
        least = self.bounds.least(rows)
        for name, cycles in answers:
            for row, value, bound in zip(rows, cycles, least, strict=True):
                if value is not None and value < bound * (1 - TOLERANCE):
                    self.counts[name] = self.counts.get(name, 0) + 1
                    if len(self.listed) < LISTED:
                        self.listed.append(AnswerBelowBound(row.line, name, value, bound))
