"""How far two models of a processor are apart on random experiments: no measurement says which is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inference.core.arrays import Floats
from inference.core.experiment import Experiment
from inference.core.mapping import R_MAX_RANGE
from inference.core.metrics import Scores, Unit, convert, score
from inference.core.predicting import ThroughputModel
from inference.core.random_mixes import MIX_LENGTH, random_mixes
from inference.core.tables import ExperimentTable
from inference.core.tunables import check_number, check_whole

MOST_EXPERIMENTS = 100_000
MOST_LENGTH = 100
_PART = 4000  # experiments at once; so few, plain numpy answers before the compiled kernels would be loaded


@dataclass(frozen=True)
class Sampling:
    """Which random experiments to ask, and in which unit. `r_max`: instructions per cycle to hold both models
    to, instead of their own; a model without one is held to the other's.
    """

    experiments: int = 5000
    length: int = MIX_LENGTH
    seed: int = 1
    unit: Unit = Unit.IPC
    r_max: float | None = None

    def __post_init__(self) -> None:
        check_whole("experiments", self.experiments, 1, MOST_EXPERIMENTS)
        check_whole("length", self.length, 1, MOST_LENGTH)
        check_whole("seed", self.seed, 0, 2**63 - 1)
        if self.r_max is not None:
            check_number("R_max", self.r_max, *R_MAX_RANGE)


@dataclass(frozen=True)
class Furthest:
    """The experiment on which the models are furthest apart, and what they say in the unit asked for."""

    experiment: Experiment
    first: float
    second: float


@dataclass(frozen=True, eq=False)
class Deviation:
    """What two models say of the same experiments: float64[n] each, in one unit.

    `scores` has the second against the first, `backwards` the first against the second: they differ in MAPE
    alone. `common`: schemes that both know. `r_max`: what each was held to. `skipped`: experiments that a
    model takes to need no time.
    """

    first: Floats
    second: Floats
    scores: Scores
    backwards: Scores
    common: int
    r_max: tuple[float | None, float | None]
    skipped: int
    furthest: Furthest | None


def deviation(
    first: ThroughputModel,
    second: ThroughputModel,
    sampling: Sampling,
    own_r_max: tuple[float | None, float | None],
) -> Deviation:
    """Ask both models. They leave out their own R_max, which `own_r_max` has instead.

    The same for the same seed and the same schemes known to both, in whatever order. A fraction of a second
    for some thousand experiments.
    """
    common = sorted(set(first.described) & set(second.described))
    r_max = _effective(sampling.r_max, own_r_max)
    if not common:
        nothing = np.zeros(0)
        none = score(nothing, nothing)
        return Deviation(nothing, nothing, none, none, 0, r_max, 0, None)
    mixes = random_mixes(common, sampling.experiments, sampling.seed, sampling.length)
    said = np.array([_said(model, mixes, rate) for model, rate in zip((first, second), r_max, strict=True)])
    kept = np.flatnonzero((said > 0).all(axis=0))
    lengths = np.full(len(kept), sampling.length)
    here, there = (convert(row[kept], lengths, sampling.unit) for row in said)
    return Deviation(
        first=here,
        second=there,
        scores=score(here, there),
        backwards=score(there, here),
        common=len(common),
        r_max=r_max,
        skipped=len(mixes) - len(kept),
        furthest=_furthest([mixes[k] for k in kept.tolist()], here, there),
    )


def _effective(
    wanted: float | None, own: tuple[float | None, float | None]
) -> tuple[float | None, float | None]:
    if wanted is not None:
        return wanted, wanted
    first, second = own
    return (second if first is None else first), (first if second is None else second)


def _said(model: ThroughputModel, mixes: Sequence[Experiment], r_max: float | None) -> Floats:
    """Cycles of all mixes under a model, held to R_max: float64[len(mixes)]."""
    parts = []
    for start in range(0, len(mixes), _PART):
        table = ExperimentTable.from_experiments(mixes[start : start + _PART])
        cycles = model.cycles(table)
        parts.append(cycles if r_max is None else np.maximum(cycles, table.lengths / r_max))
    return np.concatenate(parts)


def _furthest(mixes: Sequence[Experiment], first: Floats, second: Floats) -> Furthest | None:
    """By the largest factor, where the models are apart at all."""
    if not mixes:
        return None
    factor = np.maximum(first, second) / np.minimum(first, second)
    index = int(factor.argmax())
    if factor[index] == 1:
        return None
    return Furthest(mixes[index], float(first[index]), float(second[index]))
