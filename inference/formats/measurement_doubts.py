"""Numbers of a file that are read but hard to believe: below a physical bound, or said twice and differently.

They are imported all the same; they are pointed at, since the usual cause is a wrong unit or a broken
measurement. Bounds: no processor starts more than a dozen instructions per cycle, and where a port mapping is
given, no experiment is quicker than its µops on the ports allow.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inference.core.evaluator import ThroughputModel, predicted_cycles
from inference.core.tables import ExperimentTable, Floats
from inference.formats.document import ReadExperiments
from inference.formats.file_units import WIDEST, FileUnit
from inference.formats.parsing import Parsed

TOLERANCE = 0.1
"""Numbers may be below a bound, or apart from each other, by this share: machines are noisy."""
LISTED = 50
"""Doubts of each kind that are listed; more are counted."""


@dataclass(frozen=True)
class OddMeasurement:
    """A row of the file, its experiment and cycles, and what is odd about it."""

    row: int
    experiment: str
    cycles: float
    why: str


@dataclass(frozen=True)
class OddKind:
    """A kind of doubt in words, how many rows it is about, and the first of them."""

    label: str
    count: int
    listed: tuple[OddMeasurement, ...]


def unit_in_doubt(parsed: Parsed) -> str:
    """Why the numbers are probably in another unit than they were read in; "" where nothing says so."""
    likely, chosen = parsed.facts.get("likely_unit"), parsed.facts.get("unit")
    if likely is None or likely == chosen:
        return ""
    return f"the numbers look like {FileUnit(likely).label}: {parsed.facts['why']}"


def doubts_of(parsed: Parsed, ports: ThroughputModel | None = None) -> list[OddKind]:
    """The doubts about the experiments that a file brings, by kind; kinds without any are left out.

    `ports` predicts the cycles that the µops take at least.
    """
    measured = parsed.measured
    if not isinstance(measured, ReadExperiments) or not len(measured):
        return []
    cycles = np.array(measured.cycles)
    lengths = np.array(measured.lengths, dtype=np.float64)
    found = [_too_wide(measured, cycles, lengths), _contradictory(measured, cycles)]
    if ports is not None:
        found.append(_below_ports(measured, cycles, ports))
    return [kind for kind in found if kind.count]


def _too_wide(measured: ReadExperiments, cycles: Floats, lengths: Floats) -> OddKind:
    at = np.flatnonzero(cycles * WIDEST < lengths * (1 - TOLERANCE))
    whys = (f"{lengths[k] / cycles[k]:.1f} instructions per cycle" for k in at.tolist())
    return _kind(f"with more than {WIDEST:g} instructions per cycle", measured, at, whys)


def _below_ports(measured: ReadExperiments, cycles: Floats, ports: ThroughputModel) -> OddKind:
    table = ExperimentTable.from_experiments(each.experiment for each in measured)
    least = predicted_cycles(ports, table)
    low = np.flatnonzero(cycles < least * (1 - TOLERANCE))
    whys = (f"the ports need {bound:.2f} cycles" for bound in least[low].tolist())
    return _kind("quicker than the ports of the mapping allow", measured, low, whys)


def _contradictory(measured: ReadExperiments, cycles: Floats) -> OddKind:
    """Experiments that occur several times with numbers further apart than the tolerance."""
    first: dict[tuple[tuple[str, int], ...], int] = {}
    at, whys = [], []
    rows = measured.rows
    for place, terms in enumerate(measured.written_terms):
        before = first.setdefault(terms, place)
        low, high = sorted((cycles[before], cycles[place]))
        if high > low * (1 + TOLERANCE):
            at.append(place)
            whys.append(f"row {rows[before]} says {cycles[before]:.2f} for the same experiment")
    return _kind("contradicted by another row", measured, np.array(at, dtype=np.int64), whys)


def _kind(label: str, measured: ReadExperiments, at: npt.NDArray[np.int64], whys: Iterable[str]) -> OddKind:
    rows = measured.rows
    listed = []
    for place, why in zip(at[:LISTED].tolist(), whys, strict=False):
        value = measured[place]
        assert value.cycles is not None, "a file brings numbers only"
        listed.append(OddMeasurement(rows[place], str(value.experiment), value.cycles, why))
    return OddKind(label, len(at), tuple(listed))
