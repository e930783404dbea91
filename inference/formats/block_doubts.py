"""Answers in a set of blocks that are implausible: below a bound, or unlike another row's."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from inference.core.texts import count_of
from inference.formats.blocks_csv import BlockRow
from inference.formats.doubts import LISTED, TOLERANCE, differ, is_factor_of_two
from inference.predictors.protocol import Predictor


@dataclass(frozen=True, slots=True)
class AnswerBelowBound:
    """An answer below a bound. `line` from 1; `least`: cycles that the block takes at least."""

    line: int
    column: str
    cycles: float
    least: float


@dataclass
class Bounds:
    """Lower bounds of a processor.

    Attributes:
        issue_width: Most instructions per cycle.
        ports: A port mapping.
    """

    issue_width: float | None = None
    ports: Predictor | None = None

    def least_cycles(self, rows: Sequence[BlockRow]) -> list[float]:
        """Lower bound in cycles for each block; 0 where there is none."""
        width = self.issue_width
        bounds = [row.instructions / width if width else 0.0 for row in rows]
        if self.ports is None:
            return bounds
        answers = self.ports.predict([row.code for row in rows])
        return [max(bound, answer.cycles or 0.0) for bound, answer in zip(bounds, answers, strict=True)]


@dataclass
class AnswersBelowBounds:
    """Collects answers below bounds: the first `LISTED` of them, and their number per column."""

    bounds: Bounds = field(default_factory=Bounds)
    listed: list[AnswerBelowBound] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def compare(
        self, rows: Sequence[BlockRow], answers: Iterable[tuple[str, Sequence[float | None]]]
    ) -> None:
        """Compare answers, (column, cycles or None per row), with the bounds."""
        least = self.bounds.least_cycles(rows)
        for name, cycles in answers:
            for row, value, bound in zip(rows, cycles, least, strict=True):
                if value is not None and value < bound * (1 - TOLERANCE):
                    self.counts[name] = self.counts.get(name, 0) + 1
                    if len(self.listed) < LISTED:
                        self.listed.append(AnswerBelowBound(row.line, name, value, bound))


@dataclass
class RepeatedBlocks:
    """Rows that repeat an earlier block. `lines`: of the first `LISTED`; all stay in the set."""

    count: int = 0
    lines: list[int] = field(default_factory=list)
    _first: dict[int, int] = field(default_factory=dict)
    """{hash of a block: the index of its first row}; lines and numbers by that index are in arrays, which
    take a tenth of the memory of tuples."""
    _lines: array[int] = field(default_factory=lambda: array("q"))
    _cycles: array[float] = field(default_factory=lambda: array("d"))
    _unlike: Counter[str] = field(default_factory=Counter)
    _factors: Counter[str] = field(default_factory=Counter)
    _examples: dict[str, str] = field(default_factory=dict)

    def add(
        self, names: Sequence[str], rows: Sequence[BlockRow], cycles: Sequence[tuple[float | None, ...]]
    ) -> None:
        """Compare rows with earlier ones of the same block. `cycles`: per row, one per column in `names`."""
        for row, numbers in zip(rows, cycles, strict=True):
            block_hash = hash(row.code)  # 64 bits, keyed by the process: 8 bytes a block instead of the block
            index = self._first.setdefault(block_hash, len(self._lines))
            if index == len(self._lines):
                self._lines.append(row.line)
                self._cycles.extend(0.0 if number is None else number for number in numbers)
                continue
            self.count += 1
            if len(self.lines) < LISTED:
                self.lines.append(row.line)
            line, first = self._lines[index], self._cycles[index * len(names) : (index + 1) * len(names)]
            for name, number, other in zip(names, numbers, first, strict=True):
                if number and other and differ(number, other):
                    self._unlike[name] += 1
                    self._factors[name] += is_factor_of_two(number, other)
                    example = f"row {row.line}: {number:g}, row {line}: {other:g} cycles"
                    self._examples.setdefault(name, example)

    def remarks(self) -> list[str]:
        """A line per column whose repeated blocks have different numbers."""
        return [
            f"{name}: {count_of(count, 'repeated block')} with another number ({self._examples[name]})"
            + (f", {self._factors[name]:,} about twice or half as large" if self._factors[name] else "")
            for name, count in self._unlike.items()
        ]
