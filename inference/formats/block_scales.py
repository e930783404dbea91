"""What the numbers of a column mean: cycles, cycles of a hundred executions, or how often a block ran.

A column with a title holds cycles, or weights where the title is that: what its numbers look like is told,
and changes nothing. Of one without, that is what they are taken for.

BHive's throughput files hold cycles of a hundred executions, its source files the share of a block in what
was executed; neither says so. No processor takes dozens of cycles for every single instruction, nor executes
dozens in one: that tells them apart. The user has the last word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from inference.formats.blocks_csv import WEIGHT, BlockFile, BlockRow, Scale
from inference.predictors.protocol import Predictor

LOOKED_AT = 5000
"""Rows at the beginning of a file from which the meaning of its numbers is concluded."""
SLOWEST_OF_FAST = 6.0
"""Cycles per instruction that at least one in ten blocks stays below, unless all numbers are ×100.

A hundred executions of the fastest instructions take 100 / 6 ≈ 17 cycles, so even a set of nothing but fast
blocks stands out; of blocks measured in cycles, a tenth without a division or a long chain is always there.
"""
FASTEST = 0.05
"""Cycles per instruction that no block falls below; shares of a large set do, for nearly all blocks."""
_FASTEST_SHARE = 0.1


def scales_of(
    names: Sequence[str], rows: Sequence[BlockRow], *, titled: bool
) -> tuple[tuple[Scale, Scale], ...]:
    """What each column is taken for, and what it looks like."""
    return tuple(_scale(name, position, rows, titled) for position, name in enumerate(names))


def first_rows(file: BlockFile) -> list[BlockRow]:
    """As many rows as are needed to conclude."""
    return list(islice(file.rows(), LOOKED_AT))


def _scale(name: str, position: int, rows: Sequence[BlockRow], titled: bool) -> tuple[Scale, Scale]:
    if name.lower() == WEIGHT:
        return Scale.WEIGHT, Scale.WEIGHT
    alike = _looks(position, rows, titled)
    return Scale.CYCLES if titled else alike, alike


def _looks(position: int, rows: Sequence[BlockRow], titled: bool) -> Scale:
    found = [(row.numbers[position], row.instructions) for row in rows]
    numbers = [(number, length) for number, length in found if number is not None and number > 0]
    if not numbers:
        return Scale.CYCLES
    per_instruction = sorted(number / length for number, length in numbers)
    shares = all(number <= 1 for number, _ in numbers) and sum(number for number, _ in numbers) <= 1.01
    if shares and not titled and per_instruction[0] < FASTEST:
        return Scale.WEIGHT
    fast = per_instruction[int(len(per_instruction) * _FASTEST_SHARE)]
    return Scale.HUNDREDTHS if fast > SLOWEST_OF_FAST else Scale.CYCLES


# Numbers that no processor can reach: answers that are less than what a block takes at the very least.
#
# Two bounds are known: a processor starts so many instructions per cycle and no more (where the user says how
# many), and a port mapping gives the cycles that a block's µops need (where one is given). An answer below
# stays in the set; it is pointed at, since the usual cause is a wrong unit or a broken measurement.


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
