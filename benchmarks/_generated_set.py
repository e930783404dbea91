"""A generated experiment set as large as wanted, stored without the importers."""

from __future__ import annotations

import numpy as np
from django.db import transaction

from benchmarks._generated_rows import drawn_keys, insert_experiments, insert_measurements, predicted_cycles
from inference.core.mapping import PortMapping, uops_of
from inference.isa.scheme import Scheme
from inference.models import ISA, ExperimentSet
from inference.storage.instruction_sets import store_isa
from inference.storage.rows import scheme_texts

PORTS = 10
SEED = 1
SCHEMES = tuple(f"op{number:03} R, R" for number in range(100))
_LENGTH = 5


def generated_mapping(seed: int = SEED) -> PortMapping:
    """A port mapping of `SCHEMES`, one to three µops each."""
    rng = np.random.default_rng(seed)
    usage = {}
    for scheme in SCHEMES:
        kinds = int(rng.integers(1, 4))
        masks, counts = rng.integers(1, 1 << PORTS, kinds), rng.integers(1, 3, kinds)
        usage[scheme] = uops_of(zip(masks.tolist(), counts.tolist(), strict=True))
    return PortMapping(tuple(str(port) for port in range(PORTS)), usage)


@transaction.atomic
def generate_set(n: int) -> ExperimentSet:
    """A set of `n` five-scheme mixes that scatter around what the generated mapping predicts.

    Two tools come with it, of which one answers every time and one for every fourth mix. Their terms, which
    only searches by scheme look at, are left out.
    """
    schemes = [Scheme(text, text[:5], (), "BASE", "arithmetic", "", "", 64, "", False) for text in SCHEMES]
    isa: ISA = store_isa("generated", schemes, "generated")
    row = ExperimentSet.objects.create(name="generated", isa=isa, origin=ExperimentSet.Origin.UPLOAD)
    rng = np.random.default_rng(SEED)
    texts = scheme_texts(isa)
    keys = drawn_keys(n, sorted(texts), (_LENGTH,), rng)
    insert_experiments(isa.pk, keys, [_LENGTH] * n, terms=False)
    predicted = predicted_cycles(generated_mapping(), keys, texts)
    measured = np.maximum(np.round(predicted * rng.normal(1.02, 0.08, n), 2), 0.25)
    second = np.round(measured * rng.normal(1.0, 0.3, n).clip(0.1), 2)
    pairs = enumerate(zip(measured.tolist(), second.tolist(), strict=True))
    answers = (_answers(k, *pair) for k, pair in pairs)
    insert_measurements(row.pk, [_LENGTH] * n, measured.tolist(), answers)
    return row


def _answers(k: int, measured: float, said: float) -> str:
    rarely = f', "Seldom": {measured * 1.5:.2f}' if k % 4 == 0 else ""
    return f'{{"Always": {said}{rarely}}}'
