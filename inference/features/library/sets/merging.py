"""Several experiment sets become one; what happens where they contradict each other is its owner's choice.

An experiment that several sets have is taken from the first of them, unless their numbers are further apart
than the tolerance: that is a conflict. How conflicts were resolved, and how many there were, stays with the
new set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from django.db import transaction

from inference.core.protocols import Json
from inference.core.tables import Bools, Floats, Int64s
from inference.formats.errors import ExchangeError
from inference.models import ExperimentSet, Measurement, Run
from inference.storage.copying import copy_as_repeats, copy_measurements, store_medians
from inference.storage.names import free_or_refuse
from inference.storage.set_summary import keep_summary
from inference.storage.streaming import CHUNK

SETS = (2, 20)
"""How many can be merged at once."""
MOST = 1_000_000
"""Measurements in all of them: storing them keeps others from writing for some seconds."""
TOLERANCE = 5.0
"""Per cent that numbers of one experiment may be apart without being a conflict."""


class Conflicts(StrEnum):
    """What becomes of an experiment for which the sets have different numbers."""

    FIRST = "first"
    NEWEST = "newest"
    MEDIAN = "median"
    SMALLEST = "smallest"
    KEEP = "keep"
    LEAVE_OUT = "leave-out"

    @property
    def label(self) -> str:
        return _LABELS[self]


_LABELS = {
    Conflicts.FIRST: "take the set that is named first",
    Conflicts.NEWEST: "take the set that was made last",
    Conflicts.MEDIAN: "take the median of the sets",
    Conflicts.SMALLEST: "take the smallest number",
    Conflicts.KEEP: "keep all of them, as repetitions",
    Conflicts.LEAVE_OUT: "leave the experiment out",
}


@dataclass(frozen=True)
class Merging:
    """What goes into the new set: `rows` of measurements as they are, others as `repeats` of their
    experiments, and `medians` of the sets' numbers by experiment.

    `experiments` in all, of them `in_several` sets, of them `conflicting`, of them `left_out`. `medians`:
    {experiment: (cycles, spread, number of sets)}.
    """

    rows: Int64s
    repeats: Int64s
    experiments: int
    in_several: int
    conflicting: int
    left_out: int
    medians: dict[int, tuple[float, float, int]] = field(default_factory=dict)


def require_mergeable(sets: Sequence[ExperimentSet], tolerance: float) -> None:
    """Raises `ExchangeError` for too few or too many sets, for one given twice, and for different ISAs."""
    fewest, most = SETS
    if not fewest <= len(sets) <= most:
        raise ExchangeError(f"{fewest} to {most} sets can be merged, not {len(sets)}")
    if len({each.pk for each in sets}) < len(sets):
        raise ExchangeError("every set can be merged once")
    if len({each.isa_id for each in sets}) > 1:
        names = ", ".join(f"{each.name!r} ({each.isa.name})" for each in sets)
        raise ExchangeError(f"sets of one instruction set can be merged, not {names}")
    if not 0 <= tolerance <= 1000:
        raise ExchangeError(f"the tolerance must be 0 to 1000 per cent, not {tolerance!r}")


def plan_merging(sets: Sequence[ExperimentSet], conflicts: Conflicts, tolerance: float) -> Merging:
    """Which measurements the new set gets; reads every row's number, changes nothing."""
    require_mergeable(sets, tolerance)
    rows = sum(each.measurements.count() for each in sets)
    if rows > MOST:
        raise ExchangeError(f"the sets have {rows:,} measurements; at most {MOST:,} are merged")
    found = _usable(np.concatenate([_numbers(each, place) for place, each in enumerate(sets)]))
    experiments, which = np.unique(found["experiment"], return_inverse=True)
    middle = _medians(found, which, len(experiments), len(sets))
    several = np.count_nonzero(~np.isnan(middle), axis=1) > 1
    low, high = np.fmin.reduce(middle, axis=1), np.fmax.reduce(middle, axis=1)
    conflicting = several & (high > low * (1 + tolerance / 100 + 1e-12))
    at = np.flatnonzero(conflicting)
    medians = {}
    if conflicts is Conflicts.MEDIAN:
        pairs = zip(experiments[at].tolist(), middle[at], strict=True)
        medians = {experiment: _middle_of(numbers) for experiment, numbers in pairs}
    kept = _kept(found, which, middle, conflicting, conflicts, _by_age(sets))
    again = conflicting[which] & (conflicts is Conflicts.KEEP)
    return Merging(
        rows=found["row"][kept],
        repeats=found["row"][again],
        experiments=len(experiments),
        in_several=int(several.sum()),
        conflicting=len(at),
        left_out=len(at) if conflicts is Conflicts.LEAVE_OUT else 0,
        medians=medians,
    )


def _kept(
    found: Any, which: Int64s, middle: Floats, conflicting: Bools, conflicts: Conflicts, by_age: Int64s
) -> Bools:
    """Which rows go into the new set as they are: bool[rows]."""
    first = np.full(len(middle), middle.shape[1])
    np.minimum.at(first, which, found["place"])
    if conflicts is Conflicts.NEWEST:
        first = np.where(conflicting, by_age[np.argmax(~np.isnan(middle[:, by_age]), axis=1)], first)
    elif conflicts is Conflicts.SMALLEST:
        first = np.where(conflicting, np.argmin(np.where(np.isnan(middle), np.inf, middle), axis=1), first)
    elif conflicts is not Conflicts.FIRST:
        first = np.where(conflicting, -1, first)
    return np.asarray(found["place"] == first[which])


def _middle_of(numbers: Floats) -> tuple[float, float, int]:
    """Median, spread and number of the numbers of one experiment, NaN where a set has none."""
    known = numbers[~np.isnan(numbers)]
    return float(np.median(known)), float(np.ptp(known)), len(known)


def _by_age(sets: Sequence[ExperimentSet]) -> Int64s:
    """The places of the sets, the newest first."""
    places = range(len(sets))
    return np.array(
        sorted(places, key=lambda place: (sets[place].created, sets[place].pk), reverse=True), dtype=np.int64
    )


_ROW = np.dtype(
    [
        ("experiment", np.int64),
        ("row", np.int64),
        ("cycles", np.float64),
        ("settled", bool),
        ("place", np.int64),
    ]
)


def _numbers(experiment_set: ExperimentSet, place: int) -> Any:
    rows = experiment_set.measurements.order_by("id").values_list("experiment_id", "id", "cycles", "state")
    return np.fromiter(
        (
            (experiment, row, np.nan if cycles is None else cycles, state == Measurement.State.SETTLED, place)
            for experiment, row, cycles, state in rows.iterator(chunk_size=CHUNK)
        ),
        dtype=_ROW,
    )


def _usable(found: Any) -> Any:
    """The settled rows, and of experiments that no set has settled all rows."""
    settled = np.unique(found["experiment"][found["settled"]])
    return found[found["settled"] | ~np.isin(found["experiment"], settled)]


def _medians(found: Any, which: Int64s, n: int, sets: int) -> Floats:
    """float64[n, sets]: the median of each set's settled numbers, NaN where it has none."""
    middle = np.full((n, sets), np.nan)
    settled = found["settled"]
    cells = which[settled] * sets + found["place"][settled]
    cycles = found["cycles"][settled]
    order = np.lexsort((cycles, cells))
    cell, starts, counts = np.unique(cells[order], return_index=True, return_counts=True)
    values = cycles[order]
    middle.ravel()[cell] = (values[starts + (counts - 1) // 2] + values[starts + counts // 2]) / 2
    return middle


@transaction.atomic
def store_merged(
    name: str,
    sets: Sequence[ExperimentSet],
    merging: Merging,
    conflicts: Conflicts,
    tolerance: float,
    *,
    note: str = "",
    run: Run | None = None,
) -> ExperimentSet:
    """The new set, all of it or nothing; raises `NameTakenError`."""
    free_or_refuse(ExperimentSet, name)
    machines = {each.machine_id for each in sets}
    identities = [each.identity for each in sets]
    row = ExperimentSet.objects.create(
        name=name,
        note=note,
        isa=sets[0].isa,
        machine=sets[0].machine if len(machines) == 1 else None,
        run=run,
        origin=ExperimentSet.Origin.MERGED,
        source=", ".join(each.name for each in sets)[:300],
        identity=identities[0] if all(each == identities[0] for each in identities) else {},
        making=making_of(sets, merging, conflicts, tolerance),
    )
    copy_measurements(row, merging.rows.tolist())
    copy_as_repeats(row, merging.repeats.tolist())
    store_medians(row, sorted(merging.medians.items()))
    keep_summary(row)
    return row


def making_of(
    sets: Sequence[ExperimentSet], merging: Merging, conflicts: Conflicts, tolerance: float
) -> Json:
    """What the new set tells of how it was made."""
    return {
        "merged": [{"id": each.pk, "name": each.name} for each in sets],
        "conflicts": conflicts.value,
        "tolerance": tolerance,
        "experiments": merging.experiments,
        "in_several": merging.in_several,
        "conflicting": merging.conflicting,
        "left_out": merging.left_out,
    }


def said_of(conflicts: Conflicts, merging: Merging) -> str:
    """What a merge found, in a line of the log."""
    return (
        f"{merging.experiments:,} experiments, {merging.in_several:,} of them in several sets, "
        f"{merging.conflicting:,} with different numbers: {conflicts.label}"
    )
