"""Rows by the million, past models and importers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import cycle, islice
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db import connections

from inference.core.mapping import PortMapping
from inference.core.predicting import PortMappingModel
from inference.storage.streaming import table_of_keys

Floats = npt.NDArray[np.float64]

_ROWS = 20_000  # per executemany
_PREDICTED = 100_000  # experiments at a time
_MEASUREMENT = (
    "experiment_set_id",
    "experiment_id",
    "length",
    "repeat",
    "state",
    "cycles",
    "spread",
    "passes",
    "note",
    "annotations",
    "counters",
)


def insert(table: str, columns: Sequence[str], rows: Iterator[tuple[Any, ...]]) -> None:
    """Insert `rows`, each with a value per column."""
    marks = ", ".join(["%s"] * len(columns))
    statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"
    with connections["default"].cursor() as cursor:
        while part := list(islice(rows, _ROWS)):
            cursor.executemany(statement, part)


def drawn_keys(
    n: int,
    schemes: Sequence[int],
    lengths: Sequence[int],
    dice: np.random.Generator,
    first: Iterable[str] = (),
) -> list[str]:
    """Keys of different experiments: those that come `first`, then mixes of so many schemes each, in turn."""
    keys = dict.fromkeys(first)
    sizes = cycle(lengths)  # some of each, however small the set is
    while len(keys) < n:
        draws = dice.choice(schemes, size=(min(50_000, n // len(lengths)), next(sizes)))
        for mix in np.sort(draws, axis=1).tolist():
            keys[",".join(f"{pk}:{mix.count(pk)}" for pk in dict.fromkeys(mix))] = None
    return list(islice(keys, n))


def predicted_cycles(mapping: PortMapping, keys: Sequence[str], texts: Mapping[int, str]) -> Floats:
    """What a mapping predicts of experiments; `texts`: {id of a scheme: what it is called}."""
    model = PortMappingModel(mapping)
    parts = (keys[start : start + _PREDICTED] for start in range(0, len(keys), _PREDICTED))
    return np.concatenate([model.cycles(table_of_keys(part, texts)) for part in parts])


def insert_experiments(isa: int, keys: Sequence[str], lengths: Sequence[int], *, terms: bool = True) -> None:
    """Experiments with the ids from 1 on, in a database that has none; with their terms, unless told not."""
    n = len(keys)
    rows = zip(range(1, n + 1), [isa] * n, keys, lengths, strict=True)
    insert("inference_experiment", ("id", "isa_id", "key", "length"), rows)
    if terms:
        insert("inference_experimentterm", ("experiment_id", "scheme_id", "count"), _terms(keys))


def insert_measurements(
    experiment_set: int, lengths: Sequence[int], cycles: Sequence[float], answers: Iterable[str]
) -> None:
    """One of each of the first experiments, as many as there are numbers; `answers` of tools, as JSON."""
    rows = zip(lengths, cycles, answers, strict=True)
    insert(
        "inference_measurement",
        _MEASUREMENT,
        (
            (experiment_set, number, length, 0, "settled", seen, None, 1, "", said, "{}")
            for number, (length, seen, said) in enumerate(rows, start=1)
        ),
    )


def _terms(keys: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    for row, key in enumerate(keys, start=1):
        for term in key.split(","):
            scheme, _, count = term.partition(":")
            yield row, int(scheme), int(count)
