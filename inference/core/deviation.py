"""How far two models of a processor are apart on random experiments, without measurements to decide
between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inference.core.evaluator import ThroughputModel
from inference.core.experiment import Experiment, Unit
from inference.core.judging.sheet import Answers, AnswerSheet, ComparedPoints, ItemKind, Items
from inference.core.mapping import R_MAX_RANGE
from inference.core.metrics import Scores, score
from inference.core.sampling import MIX_LENGTH, random_mixes
from inference.core.tables import ExperimentTable, Floats
from inference.core.tunables import check_integer, check_number

MAX_EXPERIMENTS = 100_000  # random experiments per comparison
MAX_LENGTH = 100  # instructions in one of them
_CHUNK_EXPERIMENTS = 4000
"""Experiments evaluated at once: for so few, plain numpy answers before the compiled kernels are loaded."""

Rates = tuple[float | None, float | None]
"""R_max of two models in instructions per cycle; None for no limit."""


@dataclass(frozen=True)
class Sampling:
    """Which random experiments are predicted, and in which unit they are compared.

    `r_max`: instructions per cycle for both models in place of their own; without it, a model that has none
    uses the other's.
    """

    experiments: int = 5000
    length: int = MIX_LENGTH
    seed: int = 1
    unit: Unit = Unit.IPC
    r_max: float | None = None

    def __post_init__(self) -> None:
        check_integer("experiments", self.experiments, 1, MAX_EXPERIMENTS)
        check_integer("length", self.length, 1, MAX_LENGTH)
        check_integer("seed", self.seed, 0, 2**63 - 1)
        if self.r_max is not None:
            check_number("R_max", self.r_max, *R_MAX_RANGE)


@dataclass(frozen=True)
class Furthest:
    """The experiment on which the models are furthest apart; both predictions in the sampling's unit."""

    experiment: Experiment
    first: float
    second: float


@dataclass(frozen=True, eq=False)
class Deviation:
    """Predictions of two models for the same experiments, in the unit of the sampling.

    `points` has the first model as the reference.

    Attributes:
        scores: The second against the first.
        backwards: The first against the second, which differs in MAPE alone.
        common: Schemes that both describe.
        r_max: The limit used for each.
        skipped: Experiments that a model predicts to take no time.
        furthest: The experiment on which they differ by the largest factor; None where the models agree
            everywhere.
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
    """Predict random experiments with both models and compare them.

    The same seed and the same common schemes, in any order, give the same result. Some thousand
    experiments take a fraction of a second.

    Args:
        first: Without its R_max.
        second: Without its R_max.
        sampling: Number, length and seed of the experiments.
        own_r_max: R_max of both models.
    """
    common = sorted(set(first.described) & set(second.described))
    mixes = random_mixes(common, sampling.experiments, sampling.seed, sampling.length) if common else []
    r_max = _effective_r_max(sampling.r_max, own_r_max)
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


def _effective_r_max(rate: float | None, own_rates: Rates) -> Rates:
    if rate is not None:
        return rate, rate
    first, second = own_rates
    return (second if first is None else first), (first if second is None else second)


def _cycles(model: ThroughputModel, mixes: Sequence[Experiment], r_max: float | None) -> Floats:
    """Cycles of all mixes under a model with R_max, NaN where it predicts 0: float64[len(mixes)]."""
    parts = [np.zeros(0)]
    for start in range(0, len(mixes), _CHUNK_EXPERIMENTS):
        table = ExperimentTable.from_experiments(mixes[start : start + _CHUNK_EXPERIMENTS])
        cycles = model.cycles(table)
        parts.append(cycles if r_max is None else np.maximum(cycles, table.lengths / r_max))
    all_cycles = np.concatenate(parts)
    return np.where(all_cycles > 0, all_cycles, np.nan)


def _furthest(mixes: Sequence[Experiment], points: ComparedPoints) -> Furthest | None:
    if not len(points) or (points.predicted == points.reference).all():
        return None
    larger, smaller = (choose(points.reference, points.predicted) for choose in (np.maximum, np.minimum))
    index = int((larger / smaller).argmax())
    return Furthest(
        mixes[int(points.at[index])], float(points.reference[index]), float(points.predicted[index])
    )
