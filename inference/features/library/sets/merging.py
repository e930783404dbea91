"""Merging of experiment sets with a selectable rule for contradictions.

An experiment of several sets is taken from the first of them, unless their times differ by more than the
tolerance: that is a conflict. The rule and the number of conflicts are stored with the new set.
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
from inference.formats.problems import ExchangeError
from inference.models import ExperimentSet, Measurement, Run
from inference.storage.names import check_name_free
from inference.storage.rows import store_summary
from inference.storage.streaming import CHUNK, copy_as_repeats, copy_measurements, store_medians

SETS = (2, 20)
"""Minimum and maximum number of sets."""
MAX_MEASUREMENTS = 1_000_000
"""Maximum number of measurements: storing them blocks other writers for some seconds."""
TOLERANCE = 5.0
"""Per cent by which times of an experiment may differ without being a conflict."""


class Conflicts(StrEnum):
    """The rule for an experiment whose times differ between sets."""

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
    Conflicts.FIRST: "take the first set",
    Conflicts.NEWEST: "take the newest set",
    Conflicts.MEDIAN: "take the median of the sets",
    Conflicts.SMALLEST: "take the smallest time",
    Conflicts.KEEP: "keep all, as repetitions",
    Conflicts.LEAVE_OUT: "omit the experiment",
}


@dataclass(frozen=True)
class Merging:
    """The content of the new set: `rows` are copied, `repeats` are added as repetitions of their experiments,
    `medians` are new measurements.

    Of `experiments`, `in_several` are in several sets; of these, `conflicting` differ; of these, `left_out`
    are omitted. `medians`: {experiment: (cycles, spread, number of sets)}.
    """

    rows: Int64s
    repeats: Int64s
    experiments: int
    in_several: int
    conflicting: int
    left_out: int
    medians: dict[int, tuple[float, float, int]] = field(default_factory=dict)


def require_mergeable(sets: Sequence[ExperimentSet], tolerance: float) -> None:
    """Raises `ExchangeError` for too few or too many sets, a repeated set, and different instruction sets."""
    fewest, most = SETS
    if not fewest <= len(sets) <= most:
        raise ExchangeError(f"merge {fewest} to {most} sets, not {len(sets)}")
    if len({row.pk for row in sets}) < len(sets):
        raise ExchangeError("a set is listed twice: list each once")
    if len({row.isa_id for row in sets}) > 1:
        names = ", ".join(f"{row.name!r} ({row.isa.name})" for row in sets)
        raise ExchangeError(f"choose sets of one instruction set, not {names}")
    if not 0 <= tolerance <= 1000:
        raise ExchangeError(f"the tolerance must be 0 to 1000 per cent, not {tolerance!r}")


def plan_merging(sets: Sequence[ExperimentSet], conflicts: Conflicts, tolerance: float) -> Merging:
    """The content of the new set; reads every measurement, changes nothing."""
    require_mergeable(sets, tolerance)
    rows = sum(row.measurements.count() for row in sets)
    if rows > MAX_MEASUREMENTS:
        raise ExchangeError(
            f"the sets have {rows:,} measurements; at most {MAX_MEASUREMENTS:,} can be merged"
        )
    usable = _usable(np.concatenate([_read_rows(row, place) for place, row in enumerate(sets)]))
    experiments, index_of = np.unique(usable["experiment"], return_inverse=True)
    medians_by_set = _medians(usable, index_of, len(experiments), len(sets))
    several = np.count_nonzero(~np.isnan(medians_by_set), axis=1) > 1
    low, high = np.fmin.reduce(medians_by_set, axis=1), np.fmax.reduce(medians_by_set, axis=1)
    conflicting = several & (high > low * (1 + tolerance / 100 + 1e-12))
    conflict_indices = np.flatnonzero(conflicting)
    medians = {}
    if conflicts is Conflicts.MEDIAN:
        pairs = zip(experiments[conflict_indices].tolist(), medians_by_set[conflict_indices], strict=True)
        medians = {experiment: _median_spread_count(numbers) for experiment, numbers in pairs}
    is_copied = _copied_rows(usable, index_of, medians_by_set, conflicting, conflicts, _by_age(sets))
    is_repeat = conflicting[index_of] & (conflicts is Conflicts.KEEP)
    return Merging(
        rows=usable["row"][is_copied],
        repeats=usable["row"][is_repeat],
        experiments=len(experiments),
        in_several=int(several.sum()),
        conflicting=len(conflict_indices),
        left_out=len(conflict_indices) if conflicts is Conflicts.LEAVE_OUT else 0,
        medians=medians,
    )


def _copied_rows(
    usable: Any, index: Int64s, medians: Floats, conflicting: Bools, conflicts: Conflicts, by_age: Int64s
) -> Bools:
    """bool[rows]: whether a row is copied to the new set."""
    first = np.full(len(medians), medians.shape[1])
    np.minimum.at(first, index, usable["place"])
    if conflicts is Conflicts.NEWEST:
        first = np.where(conflicting, by_age[np.argmax(~np.isnan(medians[:, by_age]), axis=1)], first)
    elif conflicts is Conflicts.SMALLEST:
        first = np.where(conflicting, np.argmin(np.where(np.isnan(medians), np.inf, medians), axis=1), first)
    elif conflicts is not Conflicts.FIRST:
        first = np.where(conflicting, -1, first)
    return np.asarray(usable["place"] == first[index])


def _median_spread_count(numbers: Floats) -> tuple[float, float, int]:
    """(median, spread, count) of the times of one experiment, without the NaN of sets that lack it."""
    present = numbers[~np.isnan(numbers)]
    return float(np.median(present)), float(np.ptp(present)), len(present)


def _by_age(sets: Sequence[ExperimentSet]) -> Int64s:
    """Indices of the sets, newest first."""
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


def _read_rows(experiment_set: ExperimentSet, place: int) -> Any:
    rows = experiment_set.measurements.order_by("id").values_list("experiment_id", "id", "cycles", "state")
    return np.fromiter(
        (
            (experiment, row, np.nan if cycles is None else cycles, state == Measurement.State.SETTLED, place)
            for experiment, row, cycles, state in rows.iterator(chunk_size=CHUNK)
        ),
        dtype=_ROW,
    )


def _usable(numbers: Any) -> Any:
    """The settled rows, and all rows of experiments that no set has settled."""
    settled = np.unique(numbers["experiment"][numbers["settled"]])
    return numbers[numbers["settled"] | ~np.isin(numbers["experiment"], settled)]


def _medians(usable: Any, index_of: Int64s, n: int, sets: int) -> Floats:
    """float64[n, sets]: the median of each set's settled times, NaN without any."""
    medians = np.full((n, sets), np.nan)
    settled = usable["settled"]
    cells = index_of[settled] * sets + usable["place"][settled]
    cycles = usable["cycles"][settled]
    order = np.lexsort((cycles, cells))
    cell, starts, counts = np.unique(cells[order], return_index=True, return_counts=True)
    values = cycles[order]
    medians.ravel()[cell] = (values[starts + (counts - 1) // 2] + values[starts + counts // 2]) / 2
    return medians


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
    """Stores the new set, all or nothing. Raises `NameInUseError`."""
    check_name_free(ExperimentSet, name)
    machines = {merged.machine_id for merged in sets}
    identities = [merged.identity for merged in sets]
    row = ExperimentSet.objects.create(
        name=name,
        note=note,
        isa=sets[0].isa,
        machine=sets[0].machine if len(machines) == 1 else None,
        run=run,
        origin=ExperimentSet.Origin.MERGED,
        source=", ".join(merged.name for merged in sets)[:300],
        identity=identities[0] if all(identity == identities[0] for identity in identities) else {},
        making=provenance_of(sets, merging, conflicts, tolerance),
    )
    copy_measurements(row, merging.rows.tolist())
    copy_as_repeats(row, merging.repeats.tolist())
    store_medians(row, sorted(merging.medians.items()))
    store_summary(row)
    return row


def provenance_of(
    sets: Sequence[ExperimentSet], merging: Merging, conflicts: Conflicts, tolerance: float
) -> Json:
    """How the set was merged, as stored with it."""
    return {
        "merged": [{"id": row.pk, "name": row.name} for row in sets],
        "conflicts": conflicts.value,
        "tolerance": tolerance,
        "experiments": merging.experiments,
        "in_several": merging.in_several,
        "conflicting": merging.conflicting,
        "left_out": merging.left_out,
    }


def log_line(conflicts: Conflicts, merging: Merging) -> str:
    return (
        f"{merging.experiments:,} experiments, {merging.in_several:,} of them in several sets, "
        f"{merging.conflicting:,} with different numbers: {conflicts.label}"
    )
