"""What an accuracy check finds: predictors beside the measurement, by component, with their worst blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Self

import numpy as np

from inference.core.arrays import Bools, Floats
from inference.core.judging.accuracy import AccuracyJudgement, floor_of, verdict
from inference.core.judging.agreement import agreement, errors_by_group
from inference.core.judging.repeating import RepeatSpread
from inference.core.judging.residual_traits import Trait, TraitFindings, telling_traits
from inference.core.judging.sheet import AnswerSheet, ComparedPoints, Grouping, ItemKind, Items
from inference.core.metrics import Scores
from inference.core.protocols import Json
from inference.figures.heatmap import HeatMap, heat_map
from inference.isa.targets import DEFAULT
from inference.predictors.answer_arrays import column_of
from inference.predictors.protocol import Answer

WORST = 50
"""Blocks listed for each predictor."""


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
        return {
            **{name: getattr(self, name) for name in FACTS},
            "again": self.again.as_json(),
            "predictors": [one.as_json() for one in self.predictors],
            "unasked": dict(self.unasked),
            "floor": None if self.floor is None else self.floor.as_json(),
        }

    @classmethod
    def from_json(cls, data: Json) -> Self:
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
        """One predictor beside the measurement, without a judgement."""
        return self._checked(name, self._sheet([answers]), 0)

    def judged(
        self, again: AskedColumn, columns: Sequence[AskedColumn]
    ) -> tuple[RepeatSpread, tuple[CheckedPredictor, ...]]:
        """The spread of the measurement `again`, and each predictor with its judgement."""
        sheet = self._sheet([again.answers, *(column.answers for column in columns)])
        floor = floor_of(sheet, 0)
        assert floor.spread is not None, "the blocks were measured again"
        tools = {column.name: at for at, column in enumerate(columns, start=1) if column.is_published}
        predictors = (
            replace(self._checked(column.name, sheet, at), judgement=verdict(sheet, at, floor, tools))
            for at, column in enumerate(columns, start=1)
        )
        return floor.spread, tuple(predictors)

    def _sheet(self, columns: Sequence[Sequence[Answer]]) -> AnswerSheet:
        unknown = np.zeros(len(self.codes), dtype=np.int64)
        bounds = Grouping.of(self.bounds)
        items = Items(ItemKind.BLOCKS, np.arange(len(self.codes)), unknown, bounds=bounds)
        return AnswerSheet(items, self.cycles, [column_of(answers) for answers in columns])

    def _checked(self, name: str, sheet: AnswerSheet, column: int) -> CheckedPredictor:
        points, cycles = sheet.compare(column), sheet.columns[column].cycles
        agreed = agreement(points)
        answered = int((~np.isnan(cycles)).sum())
        bounds = errors_by_group(points, sheet.items.bounds) if sheet.items.bounds else ()
        return CheckedPredictor(
            name,
            answered,
            len(cycles) - answered,
            agreed.scores,
            agreed.median,
            agreed.near,
            agreed.above,
            heat_map(points.reference, points.predicted),
            tuple(BoundError(group.name, group.n, group.mape, group.median) for group in bounds),
            telling_traits(points.errors, {trait: has[points.at] for trait, has in self.traits.items()}),
            self._worst(points.worst(WORST)),
        )

    def _worst(self, points: ComparedPoints) -> tuple[WorstBlock, ...]:
        numbers = zip(points.at.tolist(), points.reference.tolist(), points.predicted.tolist(), strict=True)
        return tuple(
            WorstBlock(self.codes[at].hex(), measured, said, self.bounds[at], self.isa)
            for at, measured, said in numbers
            if measured != said
        )


def medians(rounds: Sequence[Sequence[Answer]]) -> list[Answer]:
    """Of each block the median of what the rounds measured, or its first failure where nothing was."""
    found = []
    for answers in zip(*rounds, strict=True):
        cycles = [one.cycles for one in answers if one.cycles is not None]
        found.append(Answer(cycles=median(cycles)) if cycles else answers[0])
    return found
