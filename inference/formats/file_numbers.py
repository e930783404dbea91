"""Units of the numbers in an imported file, and measurements that are implausible.

The unit is concluded from the numbers where the file does not state it: no processor takes dozens of cycles
for every instruction, none executes dozens per cycle, and only cycles grow with the number of instructions.
Where this does not decide, the user does.

Numbers below a physical bound, or contradicting another row, are imported and reported: the usual cause is a
wrong unit or a broken measurement. Bounds: a dozen instructions per cycle, and the time that the µops of a
given port mapping need.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from inference.core.evaluator import ThroughputModel, predicted_cycles
from inference.core.experiment import Measured, Unit
from inference.core.tables import ExperimentTable, Floats
from inference.formats.document import FileExperiments
from inference.formats.doubts import LISTED, TOLERANCE, OddKind, OddMeasurement, contradiction, differ

SAMPLE_ROWS = 5000
"""Rows at the beginning of a file from which the unit of its numbers is concluded."""

MIN_ROWS = 8
"""Rows below which no unit is concluded."""

SLOWEST_OF_FAST = 6.0
"""Cycles per instruction that at least one in ten experiments stays below, unless all numbers are ×100."""

WIDEST = 12.0
"""Instructions per cycle that no processor exceeds: the widest of today start ten."""

_FAST_SHARE = 0.1  # of the numbers are less than what is compared with `SLOWEST_OF_FAST`
_FOLLOWS, _IGNORES = 0.3, 0.15  # rank correlation with the number of instructions


class FileUnit(StrEnum):
    """Unit of a number in a file; the first three are `Unit`s."""

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
    """The likely unit, and the reason as a sentence."""

    unit: FileUnit
    why: str


def likely_unit(values: npt.ArrayLike, lengths: npt.ArrayLike) -> Guess | None:
    """The likely unit of a file's numbers; None where they do not tell.

    Args:
        values: Numbers > 0, float64[n].
        lengths: Instructions of each experiment, float64[n]. Where all are 1, cycles and cycles per
            instruction are the same; the unit is cycles then.
    """
    numbers = np.asarray(values, dtype=np.float64)
    sizes = np.asarray(lengths, dtype=np.float64)
    if len(numbers) < MIN_ROWS:
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
    ranks = [np.unique(values, return_inverse=True)[1].astype(np.float64) for values in (numbers, sizes)]
    if ranks[0].max() == 0:
        return None
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def unit_in_doubt(facts: Mapping[str, Any]) -> str:
    """Why the numbers are probably in another unit than they were read in; "" for no reason."""
    likely, unit = facts.get("likely_unit"), facts.get("unit")
    if likely is None or likely == unit:
        return ""
    return f"the numbers look like {FileUnit(likely).label}: {facts['why']}"


def doubts_of(measured: Sequence[Measured], ports: ThroughputModel | None = None) -> list[OddKind]:
    """Implausible measurements of a file, by kind; kinds without any are left out.

    `ports`: a model whose predictions are lower bounds in cycles.
    """
    if not isinstance(measured, FileExperiments) or not len(measured):
        return []
    cycles = np.array(measured.cycles)
    lengths = np.array(measured.lengths, dtype=np.float64)
    kinds = [_too_wide(measured, cycles, lengths), _contradictory(measured, cycles)]
    if ports is not None:
        kinds.append(_below_ports(measured, cycles, ports))
    return [kind for kind in kinds if kind.count]


def _too_wide(measured: FileExperiments, cycles: Floats, lengths: Floats) -> OddKind:
    at = np.flatnonzero(cycles * WIDEST < lengths * (1 - TOLERANCE))
    whys = (f"{lengths[k] / cycles[k]:.1f} instructions per cycle" for k in at.tolist())
    return _kind(f"with more than {WIDEST:g} instructions per cycle", measured, at, whys)


def _below_ports(measured: FileExperiments, cycles: Floats, ports: ThroughputModel) -> OddKind:
    table = ExperimentTable.from_experiments(result.experiment for result in measured)
    lower_bounds = predicted_cycles(ports, table)
    low = np.flatnonzero(cycles < lower_bounds * (1 - TOLERANCE))
    whys = (f"the ports need {bound:.2f} cycles" for bound in lower_bounds[low].tolist())
    return _kind("quicker than the ports of the mapping allow", measured, low, whys)


def _contradictory(measured: FileExperiments, cycles: Floats) -> OddKind:
    """Experiments that occur several times with numbers further apart than the tolerance."""
    first: dict[tuple[tuple[str, int], ...], int] = {}
    at, whys = [], []
    rows = measured.rows
    for place, terms in enumerate(measured.written_terms):
        before = first.setdefault(terms, place)
        if differ(cycles[before], cycles[place]):
            at.append(place)
            whys.append(contradiction(cycles[place], cycles[before], f"row {rows[before]}"))
    return _kind("contradicted by another row", measured, np.array(at, dtype=np.int64), whys)


def _kind(label: str, measured: FileExperiments, at: npt.NDArray[np.int64], whys: Iterable[str]) -> OddKind:
    rows = measured.rows
    listed = []
    for place, why in zip(at[:LISTED].tolist(), whys, strict=False):
        value = measured[place]
        assert value.cycles is not None, "a file brings numbers only"
        listed.append(OddMeasurement(rows[place], str(value.experiment), value.cycles, why))
    return OddKind(label, len(at), tuple(listed))
