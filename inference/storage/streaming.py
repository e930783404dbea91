"""Loads measurements as arrays, in chunks, and copies them between sets.

No object is created per row: the keys of a chunk of experiments are parsed at once. A chunk takes about 1 kB
per row while it is parsed, which is freed before the next.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast

from inference.core.errors import InvalidInputError
from inference.core.experiment import MeasurementState
from inference.core.tables import ExperimentTable, Floats, Int64s
from inference.models import ISA, Experiment, ExperimentSet, Measurement
from inference.storage.rows import COLUMNS, insert_missing, portions, scheme_texts

CHUNK = 1 << 15
"""Rows per chunk: enough to make the overhead per chunk small."""


@dataclass(frozen=True, eq=False)
class Chunk:
    """Usable measurements of one instruction set, in the order of their rows.

    `ids` int64[n]: row ids of the measurements; `experiments` int64[n]: row ids of their experiments;
    `cycles` float64[n];

    Attributes:
        read: Rows that were read, usable or not.
        table: The experiments, over the schemes that occur.
        answers: {tool: cycles, NaN where it has none, float64[n]}, in the order of their first answers.
    """

    read: int
    ids: Int64s
    experiments: Int64s
    cycles: Floats
    table: ExperimentTable
    answers: Mapping[str, Floats]


def usable_chunks(
    rows: QuerySet[Measurement], isa: ISA, *, answers: bool = False, size: int = CHUNK
) -> Iterator[Chunk]:
    """Usable measurements of a query, all of one instruction set, in chunks of `size` rows.

    One query, read lazily, so that all chunks are of one state of the database. `answers`: whether to load
    other tools' answers.
    """
    texts = scheme_texts(isa)
    fields = ["id", "experiment_id", "state", "cycles", "experiment__key"]
    if answers:
        rows = rows.annotate(answers_text=Cast("annotations", TextField()))
        fields.append("answers_text")
    for part in portions(rows.order_by("id").values_list(*fields).iterator(chunk_size=size), size):
        yield _chunk(part, texts, answers)


def set_chunks(experiment_set: ExperimentSet, *, answers: bool = False, size: int = CHUNK) -> Iterator[Chunk]:
    """The usable measurements of a set, in chunks.

    Args:
        experiment_set: Is read once, from the beginning.
        answers: Whether chunks have the answers of tools, too.
        size: Measurements in a chunk.
    """
    return usable_chunks(experiment_set.measurements.all(), experiment_set.isa, answers=answers, size=size)


def _chunk(rows: Sequence[tuple[Any, ...]], texts: Mapping[int, str], answers: bool) -> Chunk:
    usable = [row for row in rows if row[2] == MeasurementState.SETTLED]
    return Chunk(
        read=len(rows),
        ids=np.array([row[0] for row in usable], dtype=np.int64),
        experiments=np.array([row[1] for row in usable], dtype=np.int64),
        cycles=np.array([row[3] for row in usable], dtype=np.float64),
        table=table_of_keys([row[4] for row in usable], texts),
        answers=_answers([row[5] for row in usable]) if answers else {},
    )


def table_of_keys(keys: Sequence[str], texts: Mapping[int, str]) -> ExperimentTable:
    """The table of experiments given by keys `id:count,id:count`, over the schemes that occur.

    `texts`: {row id: scheme text}. Schemes are numbered by ascending id, the order of terms in keys, so that
    nothing needs sorting. Raises `InvalidInputError` for a multiplicity beyond 32 bits.
    """
    if not keys:
        return ExperimentTable.from_experiments(())
    joined = ";".join(keys)
    numbers = np.fromstring(joined.replace(":", ",").replace(";", ","), dtype=np.int64, sep=",")
    letters = np.frombuffer(joined.encode(), dtype=np.uint8)
    terms = np.cumsum(letters == ord(":"))
    offsets = np.concatenate(([0], terms[letters == ord(";")], terms[-1:]))
    ids, counts = numbers[0::2], numbers[1::2]
    if counts.max() > np.iinfo(np.int32).max:
        raise InvalidInputError(f"a multiplicity may be at most {np.iinfo(np.int32).max}")
    occurring, scheme = np.unique(ids, return_inverse=True)
    return ExperimentTable(
        schemes=tuple(texts[pk] for pk in occurring.tolist()),
        offsets=offsets,
        scheme=scheme.astype(np.int32),
        count=counts.astype(np.int32),
        lengths=np.add.reduceat(counts, offsets[:-1]),
    )


def _answers(texts: Sequence[str]) -> dict[str, Floats]:
    """{tool: cycles per row, NaN for none} from the rows' JSON texts {tool: cycles}."""
    present = [(at, text) for at, text in enumerate(texts) if text != "{}"]
    values = json.loads(f"[{','.join(text for _, text in present)}]")
    at = np.array([at for at, _ in present], dtype=np.int64)
    answers = {}
    for tool in dict.fromkeys(tool for value in values for tool in value):
        column = np.full(len(texts), np.nan)
        column[at] = [value.get(tool, np.nan) for value in values]
        answers[tool] = column
    return answers


_COPIED = ("experiment_id", "length", *COLUMNS)


def copy_measurements(experiment_set: ExperimentSet, ids: Iterable[int]) -> None:
    """Copy measurements to a set with their repeats, which must be unique per experiment."""
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
    """Copy measurements to a set, in order; repeats of each experiment are numbered from 0."""
    repeats: Counter[int] = Counter()
    table = connection.ops.quote_name(Measurement._meta.db_table)
    columns = ", ".join(_COPIED)
    experiments = dict(_experiments_of(ids := list(ids)))
    with connection.cursor() as cursor:
        for pk in ids:
            experiment = experiments[pk]
            cursor.execute(
                f"INSERT INTO {table} (experiment_set_id, repeat, {columns}) "  # noqa: S608 names of our columns
                f"SELECT %s, %s, {columns} FROM {table} WHERE id = %s",
                [experiment_set.pk, repeats[experiment], pk],
            )
            repeats[experiment] += 1


def store_medians(
    experiment_set: ExperimentSet, medians: Iterable[tuple[int, tuple[float, float, int]]]
) -> None:
    """Store medians, (experiment id, (cycles, spread, number of sets)), as settled measurements."""
    head, settled, medians_by_experiment = (
        (experiment_set.pk, 0),
        str(Measurement.State.SETTLED),
        dict(medians),
    )
    lengths: dict[int, int] = {}
    for portion in portions(medians_by_experiment):
        lengths.update(Experiment.objects.filter(pk__in=portion).values_list("id", "length"))
    insert_missing(
        Measurement,
        ("experiment_set_id", "repeat", *_COPIED),
        (
            (*head, pk, lengths[pk], settled, *numbers, f"median of {numbers[-1]} sets", "{}", "{}")
            for pk, numbers in medians_by_experiment.items()
        ),
    )


def _experiments_of(ids: Iterable[int]) -> Iterator[tuple[int, int]]:
    for portion in portions(ids):
        yield from Measurement.objects.filter(pk__in=portion).values_list("id", "experiment_id")
