"""A generated experiment set in a database of its own, as large as wanted, stored without the importers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management import call_command
from django.db import connections, transaction

from inference.core.mapping import PortMapping
from inference.core.predicting import MappingPredictor
from inference.exchange.instruction_sets import store_isa
from inference.exchange.stored import scheme_texts
from inference.exchange.streaming import table_of_keys
from inference.isa.scheme import Scheme
from inference.models import ISA, ExperimentSet

PORTS = 10
SCHEMES = 100
_LENGTH = 5
_ROWS = 50_000  # per INSERT


@contextmanager
def temporary_database() -> Iterator[None]:
    """An empty SQLite database as the product sets it up, in place of the site's, as long as this lasts."""
    connection = connections["default"]
    before = connection.settings_dict["NAME"]
    connection.close()
    with tempfile.TemporaryDirectory(prefix="pmweb-generated-") as directory:
        connection.settings_dict["NAME"] = Path(directory) / "pmweb.sqlite3"
        try:
            call_command("migrate", verbosity=0)
            yield
        finally:
            connection.close()
            connection.settings_dict["NAME"] = before


def generated_mapping(seed: int = 1) -> PortMapping:
    """A port mapping of `SCHEMES` schemes, one to three µops each."""
    rng = np.random.default_rng(seed)
    usage = {}
    for scheme in scheme_names():
        masks = {int(rng.integers(1, 1 << PORTS)): int(rng.integers(1, 3)) for _ in range(rng.integers(1, 4))}
        usage[scheme] = tuple(sorted(masks.items()))
    return PortMapping(tuple(str(port) for port in range(PORTS)), usage)


def scheme_names() -> list[str]:
    """The schemes of the generated instruction set."""
    return [f"op{number:03} R, R" for number in range(SCHEMES)]


@transaction.atomic
def generate_set(n: int, name: str = "generated", *, terms: bool = False, seed: int = 1) -> ExperimentSet:
    """A set of `n` five-scheme mixes that scatter around what the generated mapping predicts.

    Two tools come with it, of which one answers every time and one for every fourth mix. Their terms, which
    only searches by scheme look at, are left out unless `terms` asks for them.
    """
    isa = store_isa("generated", [_scheme(text) for text in scheme_names()], "generated")
    row = ExperimentSet.objects.create(name=name, isa=isa, origin=ExperimentSet.Origin.UPLOAD)
    rng = np.random.default_rng(seed)
    keys = _keys(n, rng, isa)
    experiments = ((k + 1, isa.pk, key, _LENGTH) for k, key in enumerate(keys))
    _insert("inference_experiment", "id, isa_id, key, length", experiments)
    if terms:
        columns = "experiment_id, scheme_id, count"
        _insert("inference_experimentterm", columns, _terms(keys))
    predicted = MappingPredictor(generated_mapping(seed)).cycles(table_of_keys(keys, scheme_texts(isa)))
    measured = np.maximum(np.round(predicted * rng.normal(1.02, 0.08, n), 2), 0.25)
    second = np.round(measured * rng.normal(1.0, 0.3, n).clip(0.1), 2)
    columns = "id, experiment_set_id, experiment_id, length, repeat, state, cycles, spread, passes, note"
    rows = zip(measured.tolist(), second.tolist(), strict=True)
    _insert(
        "inference_measurement",
        f"{columns}, annotations, counters",
        (
            (k + 1, row.pk, k + 1, _LENGTH, 0, "settled", seen, None, 1, "", _answers(k, seen, said), "{}")
            for k, (seen, said) in enumerate(rows)
        ),
    )
    return row


def _answers(k: int, measured: float, said: float) -> str:
    rarely = f', "Seldom": {measured * 1.5:.2f}' if k % 4 == 0 else ""
    return f'{{"Always": {said}{rarely}}}'


def _scheme(text: str) -> Scheme:
    return Scheme(text, text.split(" ", maxsplit=1)[0], (), "BASE", "arithmetic", "", "", 64, "", False)


def _keys(n: int, rng: np.random.Generator, isa: ISA) -> list[str]:
    ids = sorted(scheme_texts(isa))
    found: dict[str, None] = {}
    while len(found) < n:
        draws = np.sort(rng.integers(0, SCHEMES, size=(n - len(found), _LENGTH)), axis=1)
        for mix in draws.tolist():
            found[",".join(f"{ids[k]}:{mix.count(k)}" for k in dict.fromkeys(mix))] = None
    return list(found)


def _terms(keys: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    for k, key in enumerate(keys):
        for term in key.split(","):
            scheme, _, count = term.partition(":")
            yield k + 1, int(scheme), int(count)


def _insert(table: str, columns: str, rows: Iterator[tuple[Any, ...]]) -> None:
    marks = ", ".join(["%s"] * (columns.count(",") + 1))
    with connections["default"].cursor() as cursor:
        while part := list(islice(rows, _ROWS)):
            cursor.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", part)
