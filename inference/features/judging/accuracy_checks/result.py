"""What an accuracy check finds: predictors beside the measurement, by component, with their worst blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Self

import numpy as np

from inference.core.arrays import Bools, Floats
from inference.core.judging.accuracy import (
    AccuracyFigures,
    AccuracyJudgement,
    ItemErrors,
    best_tool,
    judged_accuracy,
)
from inference.core.judging.repeating import RepeatSpread, repeat_spread
from inference.core.judging.residual_traits import Trait, TraitFindings, telling_traits
from inference.core.metrics import Scores, score
from inference.core.protocols import Json
from inference.figures.heatmap import HeatMap, heat_map
from inference.isa.targets import DEFAULT
from inference.predictors.protocol import Answer

WORST = 50
"""Blocks listed for each predictor."""
NEAR = 0.10
"""Share of the measurement within which a prediction is near."""
ABOVE = 0.03
"""Share of the measurement by which a lower bound may be above it: what measurements vary by."""

_ROUNDING = 1e-12


@dataclass(frozen=True)
class WorstBlock:
    """A block with a large error: what was `measured` and `said`; `bound`: the core model's largest one."""

    hex: str
    measured: float
    said: float
    bound: str
    isa: str = DEFAULT

    @property
    def error(self) -> float:
        """In per cent of the measurement, above 0 where too much is predicted."""
        return 100 * (self.said - self.measured) / self.measured


@dataclass(frozen=True)
class BoundError:
    """Errors on the `n` compared blocks whose largest bound by the core model is `bound`, in per cent."""

    bound: str
    n: int
    mape: float
    median: float


@dataclass(frozen=True)
class CheckedPredictor:
    """A predictor beside the measurement.

    `answered` and `failed` of all blocks; `scores` of those compared. `median`, of the absolute errors in per
    cent; shares of the compared blocks that are `near` the measurement, and more than `ABOVE` over it; None
    where none is compared. `judgement`: None for the measurement itself, and in checks of earlier versions.
    """

    name: str
    answered: int
    failed: int
    scores: Scores
    median: float | None
    near: float | None
    above: float | None
    heat_map: HeatMap
    bounds: tuple[BoundError, ...]
    traits: TraitFindings
    worst: tuple[WorstBlock, ...]
    judgement: AccuracyJudgement | None = None

    def as_json(self) -> Json:
        """Plain data."""
        own = {name: getattr(self, name) for name in _PLAIN}
        return {
            **own,
            "scores": self.scores.as_json(),
            "heat_map": self.heat_map.as_json(),
            "bounds": [asdict(one) for one in self.bounds],
            "traits": self.traits.as_json(),
            "worst": [asdict(one) for one in self.worst],
            "judgement": None if self.judgement is None else self.judgement.as_json(),
        }

    @classmethod
    def from_json(cls, data: Json) -> Self:
        """What `as_json` gave."""
        return cls(
            **{name: data[name] for name in _PLAIN},
            scores=Scores(**data["scores"]),
            heat_map=HeatMap.from_json(data["heat_map"]),
            bounds=tuple(BoundError(**one) for one in data["bounds"]),
            traits=TraitFindings.from_json(data["traits"]),
            worst=tuple(WorstBlock(**one) for one in data["worst"]),
            judgement=AccuracyJudgement.from_json(judgement)
            if (judgement := data.get("judgement"))
            else None,
        )


_PLAIN = ("name", "answered", "failed", "median", "near", "above")


@dataclass(frozen=True)
class AccuracyCheck:
    """All predictors beside the measurement of `measured` of `blocks` blocks, the median of `rounds`.

    `again`: the same blocks measured once more, which nobody can be expected to predict better than.
    `unasked`: {predictor: why it said nothing}. `floor`: how far that measurement is off, without disturbed
    readings; None in checks of earlier versions.
    """

    machine: str
    source: str
    mode: str
    rounds: int
    blocks: int
    measured: int
    again: CheckedPredictor
    predictors: tuple[CheckedPredictor, ...]
    unasked: Mapping[str, str]
    floor: RepeatSpread | None = None

    @property
    def all(self) -> tuple[CheckedPredictor, ...]:
        """The measurement once more first."""
        return (self.again, *self.predictors)

    @property
    def bound_names(self) -> list[str]:
        """The components that were the largest bound of a block, the most frequent one first."""
        counted = {one.bound: one.n for each in self.all for one in each.bounds}
        return sorted(counted, key=lambda name: (-counted[name], name))

    def as_json(self) -> Json:
        """Plain data."""
        return {
            **{name: getattr(self, name) for name in FACTS},
            "again": self.again.as_json(),
            "predictors": [one.as_json() for one in self.predictors],
            "unasked": dict(self.unasked),
            "floor": None if self.floor is None else self.floor.as_json(),
        }

    @classmethod
    def from_json(cls, data: Json) -> Self:
        """What `as_json` gave."""
        return cls(
            **{
                "rounds": 1,
                **{name: data[name] for name in FACTS if name in data},
            },  # earlier ones measured in one
            unasked=data["unasked"],
            again=CheckedPredictor.from_json(data["again"]),
            predictors=tuple(CheckedPredictor.from_json(one) for one in data["predictors"]),
            floor=RepeatSpread(**floor) if (floor := data.get("floor")) else None,
        )


FACTS = ("machine", "source", "mode", "rounds", "blocks", "measured")
"""What a check says of the measurement, plain."""


@dataclass(frozen=True)
class AskedColumn:
    """What was answered for each block. `is_published`: by a tool that others have published."""

    name: str
    answers: Sequence[Answer]
    is_published: bool = False


@dataclass(frozen=True)
class MeasuredBlockList:
    """Blocks of an instruction set by their machine code, with what was measured.

    `bounds`: the core model's largest ones, "" for none.
    """

    isa: str
    codes: Sequence[bytes]
    cycles: Floats
    bounds: Sequence[str]
    traits: Mapping[Trait, Bools]

    def beside(self, name: str, answers: Sequence[Answer]) -> CheckedPredictor:
        """What a predictor said of them."""
        said = cycles_in(answers)
        at = np.flatnonzero((self.cycles > 0) & ~np.isnan(said))
        errors = np.full(len(said), np.nan)
        errors[at] = (said[at] - self.cycles[at]) / self.cycles[at]
        sizes = np.abs(errors[at])
        return CheckedPredictor(
            name,
            answered=int((~np.isnan(said)).sum()),
            failed=sum(one.failure is not None for one in answers),
            scores=score(self.cycles[at], said[at]),
            median=100 * float(np.median(sizes)) if len(at) else None,
            near=float((sizes <= NEAR + _ROUNDING).mean()) if len(at) else None,
            above=float((errors[at] > ABOVE).mean()) if len(at) else None,
            heat_map=heat_map(self.cycles[at], said[at]),
            bounds=self._by_bound(errors),
            traits=telling_traits(errors, self.traits),
            worst=self._worst(said, errors),
        )

    def judged(
        self, again: AskedColumn, columns: Sequence[AskedColumn]
    ) -> tuple[RepeatSpread, tuple[CheckedPredictor, ...]]:
        """The floor, by the measurement `again`, and what the predictor of each column is worth."""
        repeated = cycles_in(again.answers)
        floor, steady = repeat_spread(self.cycles, repeated)
        kendall = ItemErrors.of(self.cycles[steady], repeated[steady]).kendall
        cycles = [cycles_in(column.answers) for column in columns]
        judged = []
        for column, own in zip(columns, cycles, strict=True):
            items = steady & ~np.isnan(own)
            tools = {
                other.name: said
                for other, said in zip(columns, cycles, strict=True)
                if other.is_published and other is not column
            }
            figures = AccuracyFigures(
                ItemErrors.of(self.cycles[items], own[items]),
                float(items.sum() / steady.sum()) if steady.any() else 0.0,
                floor,
                kendall,
                best_tool(self.cycles, own, steady, tools),
            )
            beside = self.beside(column.name, column.answers)
            judged.append(replace(beside, judgement=judged_accuracy(figures, "blocks")))
        return floor, tuple(judged)

    def _by_bound(self, errors: Floats) -> tuple[BoundError, ...]:
        found = []
        for bound in sorted({name for name in self.bounds if name}):
            own = np.array([name == bound for name in self.bounds]) & ~np.isnan(errors)
            if own.any():
                sizes = 100 * np.abs(errors[own])
                means = float(sizes.mean()), float(np.median(sizes))
                found.append(BoundError(bound, int(own.sum()), *means))
        return tuple(found)

    def _worst(self, said: Floats, errors: Floats) -> tuple[WorstBlock, ...]:
        known = np.flatnonzero(~np.isnan(errors))
        ordered = known[np.argsort(-np.abs(errors[known]), kind="stable")[:WORST]]
        return tuple(
            WorstBlock(
                self.codes[at].hex(), float(self.cycles[at]), float(said[at]), self.bounds[at], self.isa
            )
            for at in ordered.tolist()
            if errors[at]
        )


def medians(rounds: Sequence[Sequence[Answer]]) -> list[Answer]:
    """Of each block the median of what the rounds measured, or its first failure where nothing was."""
    found = []
    for answers in zip(*rounds, strict=True):
        cycles = [one.cycles for one in answers if one.cycles is not None]
        found.append(Answer(cycles=median(cycles)) if cycles else answers[0])
    return found


def cycles_in(answers: Sequence[Answer]) -> Floats:
    """float64[n]: not a number where there is none."""
    return np.array([np.nan if one.cycles is None else one.cycles for one in answers], dtype=np.float64)
