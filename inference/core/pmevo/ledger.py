"""The measurements of the adaptive plan as a table: schemes × experiments with representatives.

Column 0 is the scheme alone, columns 1 + 2k and 2 + 2k are the two pair experiments (§5.1.1) with the
representative in slot k. In the representative's own row, its first column with itself is twice its time
alone: that needs no experiment, and a scheme of the class must take as long beside it. A doubtful result gets
a second opinion, the experiment with all multiplicities doubled: its loop takes the same time per instance,
but is different code and another sample. The mean of both then counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from inference.core.experiment import Experiment
from inference.core.pmevo import plan
from inference.core.tables import Bools, Floats, Int64s

_ROOM = 32  # slots added at a time


@dataclass(frozen=True)
class LedgerExperiment:
    """An experiment, and the cells (row, column) of the table that its result belongs to."""

    experiment: Experiment
    cells: tuple[tuple[int, int], ...]
    second: bool = False


class Ledger:
    """The table; rows are the schemes with a usable time alone, the quickest first.

    Args:
        alone: {scheme: cycles alone}.
        epsilon: Relative difference within which times count as equal.
    """

    def __init__(self, alone: Mapping[str, float], epsilon: float) -> None:
        self.schemes = sorted(alone, key=lambda scheme: (alone[scheme], scheme))
        self.epsilon = epsilon
        smooth = plan.smooth_times(alone, epsilon)
        times, self._level = np.unique([smooth[scheme] for scheme in self.schemes], return_inverse=True)
        self._times: list[float] = times.tolist()
        n = len(self.schemes)
        self.representatives: list[int] = []
        self.slot_of: dict[int, int] = {}
        self._cycles: Floats = np.full((n, 1 + 2 * _ROOM), np.nan)
        self._cycles[:, 0] = [alone[scheme] for scheme in self.schemes]
        self._twice: Bools = np.zeros((n, 1 + 2 * _ROOM), dtype=bool)
        self._requested: Bools = np.zeros((n, _ROOM), dtype=bool)
        self._multiple: Int64s = np.zeros((n, _ROOM), dtype=np.int64)
        """The n of the 1:n experiment, negative where the representative is the slower one, or 0 for none."""

    @property
    def n_slots(self) -> int:
        return len(self.representatives)

    @property
    def requested(self) -> Bools:
        """bool[schemes, slots]: pairs that were requested, with or without a usable result."""
        return self._requested[:, : self.n_slots]

    def medians(self) -> Iterator[int]:
        """The row in the middle of each group of equal times alone, the quickest group first."""
        for level in range(len(self._times)):
            rows = np.flatnonzero(self._level == level)
            yield int(rows[(len(rows) - 1) // 2])

    def add_representative(self, row: int) -> None:
        """Make a scheme the representative of a new class; its measurements with others are kept."""
        slot = self.n_slots
        if slot == self._requested.shape[1]:
            self._grow()
        self.representatives.append(row)
        self.slot_of[row] = slot
        own_ratios = np.array(
            [self._ratio(level, int(self._level[row])) for level in range(len(self._times))]
        )
        self._multiple[:, slot] = own_ratios[self._level]
        self._requested[row, slot] = True
        self._cycles[row, 1 + 2 * slot] = 2 * self._cycles[row, 0]
        for other, theirs in self.slot_of.items():
            if other != row:
                self._requested[other, slot] = self._requested[row, theirs]
                for k in (1, 2):
                    self._cycles[other, 2 * slot + k] = self._cycles[row, 2 * theirs + k]
                    self._twice[other, 2 * slot + k] = self._twice[row, 2 * theirs + k]

    def _grow(self) -> None:
        n = len(self.schemes)
        self._cycles = np.hstack([self._cycles, np.full((n, 2 * _ROOM), np.nan)])
        self._twice = np.hstack([self._twice, np.zeros((n, 2 * _ROOM), dtype=bool)])
        self._requested = np.hstack([self._requested, np.zeros((n, _ROOM), dtype=bool)])
        self._multiple = np.hstack([self._multiple, np.zeros((n, _ROOM), dtype=np.int64)])

    def _ratio(self, level: int, other: int) -> int:
        """n of the 1:n experiment of schemes with two smoothed times, see `_multiple`."""
        own_time, other_time = self._times[level], self._times[other]
        n = plan.ceiling(max(own_time, other_time) / min(own_time, other_time), self.epsilon)
        return 0 if n == 1 else n if own_time > other_time else -n

    def pair(self, row: int, slot: int) -> list[LedgerExperiment]:
        """The experiments of a scheme with a slot's representative; they count as requested from now on."""
        other = self.representatives[slot]
        cells = [(row, slot)]
        if row in self.slot_of:
            cells.append((other, self.slot_of[row]))
        for cell in cells:
            self._requested[cell] = True
        return [
            LedgerExperiment(experiment, tuple((r, 2 * s + k) for r, s in cells))
            for k, experiment in self._experiments(row, slot)
        ]

    def _experiments(self, row: int, slot: int) -> Iterator[tuple[int, Experiment]]:
        """(1, the 1:1 experiment) and, where there is one, (2, the 1:n experiment)."""
        a, b = self.schemes[row], self.schemes[self.representatives[slot]]
        yield 1, Experiment.of({a: 1, b: 1})
        multiple = int(self._multiple[row, slot])
        if multiple:
            yield 2, Experiment.of({a: 1, b: multiple} if multiple > 0 else {a: -multiple, b: 1})

    def second_opinion(self, row: int, column: int) -> LedgerExperiment | None:
        """The doubled experiment of a cell; it counts as requested from now on. None where it was already."""
        slot = (column - 1) // 2
        if column and self.representatives[slot] == row:
            return self.second_opinion(row, 0)
        if self._twice[row, column]:
            return None
        if column == 0:
            cells, experiment = [(row, 0)], Experiment.of({self.schemes[row]: 1})
        else:
            k = column - 2 * slot
            cells = [(row, column)]
            if row in self.slot_of:
                cells.append((self.representatives[slot], 2 * self.slot_of[row] + k))
            experiment = dict(self._experiments(row, slot))[k]
        for cell in cells:
            self._twice[cell] = True
        double = Experiment.of({scheme: 2 * count for scheme, count in experiment.terms})
        return LedgerExperiment(double, tuple(cells), second=True)

    def answer(self, questions: Iterable[LedgerExperiment], answers: Iterable[float]) -> None:
        """Enter the cycles of experiments, NaN for those without a usable result."""
        for question, cycles in zip(questions, answers, strict=True):
            if np.isnan(cycles):
                continue
            for row, column in question.cells:
                before = self._cycles[row, column]
                has_first = question.second and not np.isnan(before)
                self._cycles[row, column] = (before + cycles / 2) / 2 if has_first else cycles
                if column == 0 and row in self.slot_of:
                    self._cycles[row, 1 + 2 * self.slot_of[row]] = 2 * self._cycles[row, 0]

    def differences(self, rows: Int64s, partners: Int64s) -> Floats:
        """Symmetric relative difference (§5.1.2) per row and column, NaN where either is unknown.

        Rows broadcast: one against many, or as many pairs.
        """
        width, slots = 1 + 2 * self.n_slots, self.n_slots
        first, second = self._cycles[rows, :width], self._cycles[partners, :width]
        result = np.abs(first - second) / ((first + second) / 2)
        # 1:n experiments of different n say nothing about each other.
        unlike = self._multiple[rows, :slots] != self._multiple[partners, :slots]
        result[:, 2::2][unlike] = np.nan
        return np.asarray(result)

    def count_requested(self, row: int) -> int:
        """Number of experiments of a scheme that were requested: with representatives, and alone."""
        requested = self._requested[row, : self.n_slots]
        return (
            1 + int(requested.sum()) + int(np.count_nonzero(self._multiple[row, : self.n_slots][requested]))
        )

    def is_twice(self, row: int, column: int) -> bool:
        """Whether a second opinion on a cell was requested."""
        slot = (column - 1) // 2
        is_own = column and self.representatives[slot] == row
        return bool(self._twice[row, 0 if is_own else column])
