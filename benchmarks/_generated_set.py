"""A generated experiment set as large as wanted, stored without the importers."""

from __future__ import annotations

import numpy as np
from django.db import transaction

from benchmarks._generated_rows import insert_experiments, insert_measurements
from inference.core.mapping import PortMapping
from inference.core.predicting import PortMappingModel
from inference.isa.scheme import Scheme
from inference.models import ISA, ExperimentSet
from inference.storage.instruction_sets import store_isa
from inference.storage.rows import scheme_texts
from inference.storage.streaming import table_of_keys

PORTS = 10
SCHEMES = 100
_LENGTH = 5


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
    insert_experiments(isa.pk, keys, [_LENGTH] * n, terms=terms)
    predicted = PortMappingModel(generated_mapping(seed)).cycles(table_of_keys(keys, scheme_texts(isa)))
    measured = np.maximum(np.round(predicted * rng.normal(1.02, 0.08, n), 2), 0.25)
    second = np.round(measured * rng.normal(1.0, 0.3, n).clip(0.1), 2)
    answers = (
        _answers(k, *pair) for k, pair in enumerate(zip(measured.tolist(), second.tolist(), strict=True))
    )
    insert_measurements(row.pk, [_LENGTH] * n, measured.tolist(), answers)
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
