"""Measurements of some sets copied into another one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from django.db import connection

from inference.models import Experiment, ExperimentSet, Measurement
from inference.storage.inserting import insert_missing, portions
from inference.storage.rows import COLUMNS

_COPIED = ("experiment_id", "length", *COLUMNS)


def copy_measurements(experiment_set: ExperimentSet, ids: Iterable[int]) -> None:
    """Copy the rows with these ids, of which no two of one experiment have the same repeat."""
    table = connection.ops.quote_name(Measurement._meta.db_table)
    columns = ", ".join(("repeat", *_COPIED))
    for portion in portions(ids):
        marks = ", ".join(["%s"] * len(portion))
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {table} (experiment_set_id, {columns}) "  # noqa: S608 names of our columns
                f"SELECT %s, {columns} FROM {table} WHERE id IN ({marks}) ORDER BY id",
                [experiment_set.pk, *portion],
            )


def copy_as_repeats(experiment_set: ExperimentSet, ids: Iterable[int]) -> None:
    """Copy the rows with these ids in their order; those of one experiment are numbered anew."""
    seen: Counter[int] = Counter()
    table = connection.ops.quote_name(Measurement._meta.db_table)
    columns = ", ".join(_COPIED)
    experiments = dict(_experiments_of(ids := list(ids)))
    with connection.cursor() as cursor:
        for pk in ids:
            experiment = experiments[pk]
            cursor.execute(
                f"INSERT INTO {table} (experiment_set_id, repeat, {columns}) "  # noqa: S608 names of our columns
                f"SELECT %s, %s, {columns} FROM {table} WHERE id = %s",
                [experiment_set.pk, seen[experiment], pk],
            )
            seen[experiment] += 1


def store_medians(
    experiment_set: ExperimentSet, medians: Iterable[tuple[int, tuple[float, float, int]]]
) -> None:
    """New measurements: (experiment, (cycles, spread, number of sets))."""
    head, settled, found = (experiment_set.pk, 0), str(Measurement.State.SETTLED), dict(medians)
    lengths: dict[int, int] = {}
    for portion in portions(found):
        lengths.update(Experiment.objects.filter(pk__in=portion).values_list("id", "length"))
    insert_missing(
        Measurement,
        ("experiment_set_id", "repeat", *_COPIED),
        (
            (*head, pk, lengths[pk], settled, *numbers, f"median of {numbers[-1]} sets", "{}", "{}")
            for pk, numbers in found.items()
        ),
    )


def _experiments_of(ids: Iterable[int]) -> Iterator[tuple[int, int]]:
    for portion in portions(ids):
        yield from Measurement.objects.filter(pk__in=portion).values_list("id", "experiment_id")
