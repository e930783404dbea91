"""What the numbers of a file are, in words that files use, and what they probably are where it does not say.

A file may hold what this program never shows: cycles of a hundred executions, as BHive's. Numbers alone tell
some of it: no processor takes dozens of cycles for every single instruction, none executes dozens in one, and
only cycles grow with the number of instructions. What they do not tell is left to the user.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from inference.core.metrics import Unit
from inference.core.tables import Floats

LOOKED_AT = 5000
"""Rows at the beginning of a file from which the meaning of its numbers is concluded."""
FEWEST = 8
"""Rows from which anything is concluded at all."""
SLOWEST_OF_FAST = 6.0
"""Cycles per instruction that at least one in ten experiments stays below, unless all numbers are ×100."""
WIDEST = 12.0
"""Instructions per cycle that no processor exceeds: the widest ones of today start ten."""
_FAST_SHARE = 0.1
_FOLLOWS, _IGNORES = 0.3, 0.15  # rank correlation with the number of instructions


class FileUnit(StrEnum):
    """What a number in a file is; the first three are `Unit`s."""

    CYCLES = Unit.CYCLES.value
    CPI = Unit.CPI.value
    IPC = Unit.IPC.value
    HUNDREDTHS = "hundredths"
    """Cycles of a hundred executions of the experiment."""

    @property
    def label(self) -> str:
        return HUNDRED if self is FileUnit.HUNDREDTHS else Unit(self.value).label

    def in_cycles(self, value: float, length: int) -> float:
        """Cycles per execution of an experiment of `length` instructions; 0 stays 0 for a range check."""
        if self is FileUnit.CPI:
            return value * length
        if self is FileUnit.IPC:
            return length / value if value else 0.0
        return value / 100 if self is FileUnit.HUNDREDTHS else value


HUNDRED = "cycles of 100 executions"

TITLES: Mapping[str, FileUnit] = {
    "cycles": FileUnit.CYCLES,
    "cycles per iteration": FileUnit.CYCLES,
    "cycles per execution": FileUnit.CYCLES,
    "inverse throughput": FileUnit.CYCLES,
    "cpi": FileUnit.CPI,
    "cycles per instruction": FileUnit.CPI,
    "ipc": FileUnit.IPC,
    "instructions per cycle": FileUnit.IPC,
    "cycles per 100 iterations": FileUnit.HUNDREDTHS,
    "cycles per 100 executions": FileUnit.HUNDREDTHS,
    "cycles per 100": FileUnit.HUNDREDTHS,
}
"""Titles of the column of numbers, in small letters, with blanks for underscores."""


@dataclass(frozen=True)
class Guess:
    """What the numbers probably are, and what speaks for it."""

    unit: FileUnit
    why: str


def likely_unit(values: npt.ArrayLike, lengths: npt.ArrayLike) -> Guess | None:
    """What numbers > 0 of experiments with so many instructions each probably are; None where nothing tells.

    Both float64[n]. The two units of a single instruction per row, cycles and cycles per instruction, are the
    same there: then it is cycles.
    """
    numbers = np.asarray(values, dtype=np.float64)
    sizes = np.asarray(lengths, dtype=np.float64)
    if len(numbers) < FEWEST:
        return None
    fast = float(np.quantile(numbers / sizes, _FAST_SHARE))
    if fast > SLOWEST_OF_FAST:
        return Guess(
            FileUnit.HUNDREDTHS,
            f"nine in ten experiments would take more than {fast:.0f} cycles per instruction",
        )
    follows = _rank_correlation(numbers, sizes)
    too_wide = float(np.mean(numbers * WIDEST < 1))
    if follows is not None and follows >= _FOLLOWS:
        return Guess(FileUnit.CYCLES, "they grow with the number of instructions")
    if too_wide > 0.01:
        return Guess(
            FileUnit.IPC, f"as cycles, {too_wide:.0%} of them would be more than any processor executes"
        )
    if follows is not None and follows <= _IGNORES and float(np.max(numbers)) > WIDEST:
        return Guess(
            FileUnit.CPI,
            "they do not grow with the number of instructions, and some are too large to be "
            "instructions per cycle",
        )
    return None


def _rank_correlation(numbers: Floats, sizes: Floats) -> float | None:
    """Spearman's ρ; None where the sizes hardly differ or the numbers are all the same."""
    if len(np.unique(sizes)) < 3:
        return None
    ranks = [np.unique(each, return_inverse=True)[1].astype(np.float64) for each in (numbers, sizes)]
    if ranks[0].max() == 0:
        return None
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])
