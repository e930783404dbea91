"""Measurements by the million, without measuring: what a mapping predicts, and some noise.

Rows are inserted in bulk, past the importers.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from django.db import transaction

from benchmarks._generated_rows import drawn_keys, insert_experiments, insert_measurements, predicted_cycles
from inference.core.mapping import PortMapping as Mapping
from inference.features.library.sets.comparing import keep_comparison
from inference.models import ISA, ExperimentSet
from inference.storage.set_summary import keep_summary

_TOOLS = ("llvm-mca", "OSACA")
_LENGTHS = (2, 3, 4, 5)


def generated_sets(
    measurements: int, isa: ISA, texts: dict[int, str], truth: Mapping, dice: np.random.Generator
) -> list[ExperimentSet]:
    """A large set, its first tenth measured again, and a small one of the schemes of `truth` alone.

    So many `measurements` all together; `texts`: {id of a scheme: what it is called}.
    """
    n = round(measurements / 1.1)
    chosen = sorted(pk for pk, text in texts.items() if text in truth.usage)
    keys = drawn_keys(n, chosen, _LENGTHS, dice, (f"{pk}:1" for pk in chosen))
    lengths = np.array([sum(int(term.split(":")[1]) for term in key.split(",")) for key in keys])
    with transaction.atomic():
        insert_experiments(isa.pk, keys, lengths.tolist())
        predicted = predicted_cycles(truth, keys, texts)
        cycles = np.round(np.maximum(predicted, 0.1) * dice.normal(1.0, 0.05, n).clip(0.5), 3)
        sets = [
            ExperimentSet.objects.create(name=name, isa=isa, origin="upload", source="generated")
            for name in ("large", "large, again", "singles")
        ]
        tenth = n // 10
        again = np.round(cycles[:tenth] * dice.normal(1.0, 0.02, tenth).clip(0.5), 3)
        _measurements(sets[0], lengths, cycles, annotated=True)
        _measurements(sets[1], lengths[:tenth], again)
        _measurements(sets[2], lengths[: len(chosen)], cycles[: len(chosen)])
    for each in sets:
        keep_summary(each)
    keep_comparison(sets[0], sets[1])
    return sets


def _measurements(row: ExperimentSet, lengths: Any, cycles: Any, *, annotated: bool = False) -> None:
    """Of the first experiments, as many as there are numbers."""
    said = (_said(value) if annotated else "{}" for value in cycles.tolist())
    insert_measurements(row.pk, lengths.tolist(), cycles.tolist(), said)


def _said(cycles: float) -> str:
    return json.dumps({tool: round(cycles * (1.1 + k), 2) for k, tool in enumerate(_TOOLS)})
