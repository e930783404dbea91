"""The bottleneck outside the ports, R_max, seen in the measurements themselves (§3.2.2)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from inference.core.bottleneck import Bottleneck, whole_rate
from inference.core.experiment import Experiment

_QUANTILE = 0.99
"""Of the instructions per cycle: beyond it may be measurements that went wrong."""

_NEAR = 0.03  # within this share of it, an experiment is at the ceiling
_LEAST_SHARE = 0.02  # of the experiments must be there,
_LEAST_NUMBER = 20  # and so many in all,
_LEAST_SCHEMES = 0.2  # with this share of the schemes
_STRAY = 3  # readings, or one in a thousand, may be quicker than anything is


def ceiling_of(times: Mapping[Experiment, float], searched: Bottleneck | None = None) -> float | None:
    """Instructions per cycle that nothing exceeds, where many different experiments reach it; else None.

    A processor's ports alone let different mixes through at different rates; that many of them crowd at the
    same highest rate is the mark of a bottleneck that all instructions share. Pairs crowd there without one
    where any two of three units have as many ports: what was `searched` for a higher rate contradicts.
    """
    crowded = _crowded_rate(times)
    if searched is None or (crowded is not None and searched.highest < (1 - _NEAR) * crowded):
        return crowded
    if crowded is not None and searched.highest <= (1 + _NEAR) * crowded:
        return whole_rate(searched.highest)  # of the crowd, only what noise makes quickest was seen
    return searched.r_max


def _crowded_rate(times: Mapping[Experiment, float]) -> float | None:
    if not times:
        return None
    rates = np.array([experiment.length / cycles for experiment, cycles in times.items()])
    highest = float(np.quantile(rates, _QUANTILE))
    near = np.abs(rates / highest - 1) <= _NEAR
    quicker = np.count_nonzero(rates > (1 + _NEAR) * highest)
    if quicker > max(_STRAY, len(rates) / 1000):
        return None
    if near.sum() < max(_LEAST_NUMBER, _LEAST_SHARE * len(rates)):
        return None
    schemes = {scheme for experiment in times for scheme in experiment.schemes}
    there = {
        scheme
        for experiment, reaches in zip(times, near.tolist(), strict=True)
        if reaches
        for scheme in experiment.schemes
    }
    return highest if len(there) >= _LEAST_SCHEMES * len(schemes) else None
