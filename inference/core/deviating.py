"""How far two models of a processor are apart on random experiments: no measurement says which is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inference.core.evaluator import ThroughputModel
from inference.core.experiment import Experiment
from inference.core.judging.sheet import Answers, AnswerSheet, ComparedPoints, ItemKind, Items
from inference.core.mapping import R_MAX_RANGE
from inference.core.metrics import Scores, Unit, score
from inference.core.sampling import MIX_LENGTH, random_mixes
from inference.core.tables import ExperimentTable, Floats
from inference.core.tunables import check_number, check_whole

MOST_EXPERIMENTS = 100_000
MOST_LENGTH = 100
_PART = 4000  # experiments at once; so few, plain numpy answers before the compiled kernels would be loaded

Rates = tuple[float | None, float | None]
"""Instructions per cycle that two models are held to; None for no limit."""


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
    """What two models say of the same experiments, in the unit of the sampling: `points` has the first as the
    reference.

    `scores` has the second against the first, `backwards` the first against the second: they differ in MAPE
    alone. `common`: schemes that both know. `r_max`: what each was held to. `skipped`: experiments that a
    model takes to need no time. `furthest`: by the largest factor, None where the models are nowhere apart.
    """

    points: ComparedPoints
    scores: Scores
    backwards: Scores
    common: int
    r_max: Rates
    skipped: int
    furthest: Furthest | None


def deviation(
    first: ThroughputModel, second: ThroughputModel, sampling: Sampling, own_r_max: Rates
) -> Deviation:
    """Ask both models. They leave out their own R_max, which `own_r_max` has instead.

    The same for the same seed and the same schemes known to both, in whatever order. A fraction of a second
    for some thousand experiments.
    """
    common = sorted(set(first.described) & set(second.described))
    mixes = random_mixes(common, sampling.experiments, sampling.seed, sampling.length) if common else []
    r_max = _effective(sampling.r_max, own_r_max)
    here, there = (_cycles(model, mixes, rate) for model, rate in zip((first, second), r_max, strict=True))
    items = Items(ItemKind.EXPERIMENTS, np.arange(len(mixes)), np.full(len(mixes), sampling.length))
    points = AnswerSheet(items, here, [Answers.of(there, "needs no time")]).compare(0, sampling.unit)
    return Deviation(
        points=points,
        scores=score(points.reference, points.predicted),
        backwards=score(points.predicted, points.reference),
        common=len(common),
        r_max=r_max,
        skipped=len(mixes) - len(points),
        furthest=_furthest(mixes, points),
    )


def _effective(rate: float | None, own: Rates) -> Rates:
    if rate is not None:
        return rate, rate
    first, second = own
    return (second if first is None else first), (first if second is None else second)


def _cycles(model: ThroughputModel, mixes: Sequence[Experiment], r_max: float | None) -> Floats:
    """Cycles of all mixes under a model, held to R_max, NaN where it says 0: float64[len(mixes)]."""
    parts = [np.zeros(0)]
    for start in range(0, len(mixes), _PART):
        table = ExperimentTable.from_experiments(mixes[start : start + _PART])
        cycles = model.cycles(table)
        parts.append(cycles if r_max is None else np.maximum(cycles, table.lengths / r_max))
    said = np.concatenate(parts)
    return np.where(said > 0, said, np.nan)


def _furthest(mixes: Sequence[Experiment], points: ComparedPoints) -> Furthest | None:
    if not len(points) or (points.predicted == points.reference).all():
        return None
    larger, smaller = (of(points.reference, points.predicted) for of in (np.maximum, np.minimum))
    place = int((larger / smaller).argmax())
    return Furthest(
        mixes[int(points.at[place])], float(points.reference[place]), float(points.predicted[place])
    )
