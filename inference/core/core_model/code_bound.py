"""Cycles that the code of experiments takes by its bytes alone, seen in the measurements themselves.

Instructions of other lengths fit in other numbers into the lines that a core decodes or keeps decoded. How,
differs from core to core; that many experiments with code of one length crowd at one rate, which none of that
length exceeds while those of other lengths do, is the mark of it, as it is of the core's rate as a whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from inference.core.experiment import Experiment

_CLASS = 0.1
"""Bytes per instruction by which code of one length may differ."""
_QUANTILE = 0.01
"""Experiments of one length beyond it may have been measured wrong."""
_NEAR = 0.03
_LEAST_NUMBER = 10
_LEAST_SHARE = 0.02
_LEAST_SCHEMES = 0.2
"""Share of the schemes that occur at a rate, lest it be that of the ports of a few."""


def code_bounds(
    measured: Mapping[Experiment, float], code_bytes: Mapping[Experiment, float]
) -> dict[Experiment, float]:
    """{experiment: cycles that its code takes at least}, of those with code of a length that shows a bound.

    Args:
        measured: {experiment: cycles}.
        code_bytes: {experiment: bytes of an average instruction of its loop body}, of more than were
            measured, where bounds of others are asked for.
    """
    schemes = {scheme for experiment in measured for scheme in experiment.schemes}
    classes: defaultdict[int, list[tuple[float, Experiment]]] = defaultdict(list)
    for experiment, cycles in measured.items():
        if experiment in code_bytes:
            classes[_class(code_bytes[experiment])].append((cycles / experiment.length, experiment))
    bounds = {
        length: bound
        for length, rates in classes.items()
        if (bound := _bound(rates, len(schemes))) is not None
    }
    return {
        experiment: bounds[_class(size)] * experiment.length
        for experiment, size in code_bytes.items()
        if _class(size) in bounds
    }


def _class(size: float) -> int:
    return int(size / _CLASS)


def _bound(rates: list[tuple[float, Experiment]], schemes: int) -> float | None:
    """Cycles per instruction that many experiments of one length take and none falls below; else None."""
    cycles = np.array([rate for rate, _ in rates])
    least = float(np.quantile(cycles, _QUANTILE, method="lower"))
    near = [experiment for rate, experiment in rates if rate <= (1 + _NEAR) * least]
    if len(near) < max(_LEAST_NUMBER, _LEAST_SHARE * len(rates)):
        return None
    occurring = {scheme for experiment in near for scheme in experiment.schemes}
    return least if len(occurring) >= _LEAST_SCHEMES * schemes else None
