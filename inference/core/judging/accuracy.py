"""How good a predictor is: one word, and its reasons.

A predictor is compared with two references on the same items: repeated measurements, and the best published
tool.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from inference.core.judging.agreement import Agreement, agreement
from inference.core.judging.sheet import ALL_ITEMS, AnswerSheet, ItemSelection
from inference.core.metrics import Scores
from inference.core.tables import Bools, Floats

MAX_QUARTILE_DISTANCE = 3.0
"""Interquartile ranges above the third quartile beyond which Tukey calls a value far out."""

USUAL_SPREAD = 0.03
"""Share of the smaller reading by which two readings of an item may differ without being set aside."""


@dataclass(frozen=True)
class RepeatSpread:
    """Two readings of the same items; `n` of them have both.

    `set_aside`: items whose readings differ by far more than those of the others, such as 0.98 and 18.31
    cycles, because one of the two was disturbed. `mape`, in per cent of the first reading, and `median` are
    of the others; None where there are none.
    """

    n: int
    set_aside: int
    mape: float | None
    median: float | None

    def as_json(self) -> dict[str, Any]:
        return {"n": self.n, "set_aside": self.set_aside, "mape": self.mape, "median": self.median}


def repeat_spread(first: Floats, second: Floats) -> tuple[RepeatSpread, Bools]:
    """The spread of two readings of each item, and which items it rests on.

    Args:
        first: float64[n], in cycles; nan or 0 where an item has no reading.
        second: float64[n], the same items measured once more.

    Returns:
        The spread, and bool[n]: items with both readings that are not set aside.
    """
    both = (first > 0) & (second > 0)
    differences = np.full(len(first), np.nan)
    differences[both] = np.abs(second[both] - first[both]) / np.minimum(first[both], second[both])
    steady = np.zeros(len(first), dtype=bool)
    steady[both] = differences[both] <= fence(differences[both])
    if not steady.any():
        return RepeatSpread(int(both.sum()), 0, None, None), steady
    errors = 100 * np.abs(second[steady] - first[steady]) / first[steady]
    spread = RepeatSpread(
        int(both.sum()),
        int(both.sum() - steady.sum()),
        float(errors.mean()),
        float(np.median(errors)),
    )
    return spread, steady


def fence(differences: Floats) -> float:
    """The difference beyond which an item is set aside, as a share.

    It depends on the quartiles alone, which outliers cannot move, and is at least `USUAL_SPREAD`.
    """
    if not len(differences):
        return USUAL_SPREAD
    first, third = np.quantile(differences, (0.25, 0.75))
    return max(USUAL_SPREAD, float(third + MAX_QUARTILE_DISTANCE * (third - first)))


class Grade(StrEnum):
    """Grade of a predictor, the best first."""

    GOOD = "good"
    USABLE = "usable"
    DOUBTFUL = "doubtful"
    WRONG = "wrong"


_ORDER = tuple(Grade)

MIN_ITEMS = 20
"""Number of items below which a mean error is not meaningful."""

_MAPE = {Grade.GOOD: (5.0, 1.5), Grade.USABLE: (15.0, 3.0), Grade.DOUBTFUL: (50.0, 5.0)}
"""Largest MAPE of a grade: per cent, or times the error of repeated measurements where that is more."""

_KENDALL = {Grade.GOOD: 0.8, Grade.USABLE: 0.6, Grade.DOUBTFUL: 0.2}
"""Smallest τ of a grade, as a share of the τ of repeated measurements."""

_COVERAGE = {Grade.GOOD: 0.75, Grade.USABLE: 0.5, Grade.DOUBTFUL: 0.0}
"""Smallest share of the items with a prediction for a grade."""

_MIN_COMMON_SHARE = 0.5
"""Share of a predictor's items that a tool has to predict to be compared with it."""


@dataclass(frozen=True)
class ToolErrors:
    """Errors of a published tool and of the judged predictor on the `n` items that both predict, in per
    cent.
    """

    name: str
    n: int
    mape: float
    own: float


@dataclass(frozen=True)
class AccuracyFigures:
    """The figures that decide the grade of a predictor.

    Attributes:
        errors: Errors of the compared items.
        coverage: Share of all items with a prediction.
        repeats: Errors of measuring once more, with `repeated_kendall`; None where nothing was measured
            twice.
        tool: The best published one on the same items; None where none was asked.
        suits_tools: Whether tools could be asked about such items at all.
    """

    errors: Agreement
    coverage: float
    repeats: RepeatSpread | None = None
    repeated_kendall: float | None = None
    tool: ToolErrors | None = None
    suits_tools: bool = True


@dataclass(frozen=True)
class AccuracyJudgement:
    """A grade with its reasons: the first is the size of the errors, later ones are further conditions."""

    grade: Grade
    reasons: tuple[str, ...]

    @property
    def word(self) -> str:
        return self.grade.value

    @property
    def text(self) -> str:
        """`good: off by 1.2 % …`."""
        return f"{self.word}: {'; '.join(self.reasons)}"

    def as_json(self) -> dict[str, Any]:
        return {"grade": self.grade.value, "reasons": list(self.reasons)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(Grade(data["grade"]), tuple(data["reasons"]))


@dataclass(frozen=True)
class OtherCore:
    """In place of a judgement: the measurements are of another core than the predictor, so that their errors
    say nothing of it.
    """

    measured: str
    predicted: str

    grade = None
    word = "not judged"

    @property
    def reasons(self) -> tuple[str, ...]:
        return (f"measurements of another core ({self.measured}); the predictor is of {self.predicted}",)

    def as_json(self) -> dict[str, Any]:
        return {"grade": None, "reasons": list(self.reasons)}


def accuracy_judgement(figures: AccuracyFigures, noun: str = "items") -> AccuracyJudgement:
    """The grade of these figures: the worst that any of them allows, and doubtful for fewer than `MIN_ITEMS`
    items: so few prove neither. `noun`: the items, in the plural.
    """
    scores = figures.errors.scores
    if scores.mape is None:
        return AccuracyJudgement(Grade.WRONG, (f"it predicts none of the {noun} that were measured",))
    limits = list(_limits(figures, scores.mape, noun))
    grade = max((grade for grade, _ in limits), key=_ORDER.index)
    return AccuracyJudgement(
        Grade.DOUBTFUL if scores.n < MIN_ITEMS else grade,
        tuple(reason for _, reason in limits if reason),
    )


def scores_judgement(
    scores: Scores, noun: str = "items", coverage: float = 1.0, doubt: str = ""
) -> AccuracyJudgement:
    """The grade of scores alone, without repeated measurements or tools to compare them with.

    Args:
        scores: Scores of the predictions.
        noun: What was predicted, in the plural, for the reasons.
        coverage: Share of the items that have a prediction, from 0 to 1.
        doubt: Another possible cause of large errors, added to the reasons of the grades *doubtful* and
            *wrong*;
            "" for none.
    """
    judgement = accuracy_judgement(AccuracyFigures(Agreement(scores), coverage), noun)
    if doubt and judgement.grade in (Grade.DOUBTFUL, Grade.WRONG):
        return AccuracyJudgement(judgement.grade, (*judgement.reasons, doubt))
    return judgement


def grade_order(verdict: AccuracyJudgement | OtherCore | None, mape: float | None) -> tuple[int, float]:
    """A sort key: good predictors first, of equal ones the nearest first; those not judged are last."""
    grade = None if verdict is None else verdict.grade
    return len(_ORDER) if grade is None else _ORDER.index(grade), math.inf if mape is None else mape


def verdict_summary(verdicts: Sequence[AccuracyJudgement | OtherCore], noun: str = "predictor") -> str:
    """How many predictors have which grade, as a sentence; "" for none.

    >>> good, wrong = AccuracyJudgement(Grade.GOOD, ()), AccuracyJudgement(Grade.WRONG, ())
    >>> verdict_summary([good, wrong, wrong, OtherCore("Zen 5", "Zen 4")])
    'Of 4 predictors, 1 is good, 2 are wrong, 1 is not judged.'
    """
    counts = Counter(verdict.word for verdict in verdicts)
    words = [word for word in (*(grade.value for grade in Grade), OtherCore.word) if counts[word]]
    if len(verdicts) == 1:
        return f"The only {noun} is {words[0]}."
    parts = [f"{counts[word]} {'is' if counts[word] == 1 else 'are'} {word}" for word in words]
    return f"Of {len(verdicts)} {noun}s, {', '.join(parts)}." if parts else ""


def _limits(figures: AccuracyFigures, mape: float, noun: str) -> Iterator[tuple[Grade, str]]:
    """(the best grade possible, its reason) for each figure."""
    errors, scores, repeats = figures.errors, figures.errors.scores, figures.repeats
    floor = 0.0 if repeats is None or repeats.mape is None else repeats.mape
    grade = next(
        (grade for grade, (cap, times) in _MAPE.items() if mape <= max(cap, times * floor)), Grade.WRONG
    )
    median = "" if errors.median is None else f", median {errors.median:.1f} %"
    few = f", too few {noun} to judge by: fewer than {MIN_ITEMS}" if scores.n < MIN_ITEMS else ""
    yield grade, f"off by {mape:.1f} % on average{median}, on {scores.n:,} {noun}{few}"
    yield Grade.GOOD, _repeat_text(repeats)
    if figures.coverage < _COVERAGE[Grade.GOOD]:
        grade = next(grade for grade, minimum in _COVERAGE.items() if figures.coverage >= minimum)
        yield grade, f"{100 * figures.coverage:.0f} % of the {noun} are predicted"
    if scores.kendall is not None and scores.n >= MIN_ITEMS:
        repeated = figures.repeated_kendall
        best = 1.0 if repeated is None else max(repeated, 0.0)
        grade = next(
            (grade for grade, share in _KENDALL.items() if scores.kendall >= share * best), Grade.WRONG
        )
        if grade is not Grade.GOOD:
            repeating = "" if repeated is None else f", repeating gives {best:.2f}"
            yield grade, f"it ranks them poorly: τ {scores.kendall:.2f}{repeating}"
    if figures.tool is not None or figures.suits_tools:
        yield from _tool_comparison(figures.tool, floor, noun)


def _repeat_text(repeats: RepeatSpread | None) -> str:
    if repeats is None or repeats.mape is None:
        return "the error of a repeated measurement is unknown"
    aside = (
        f" without {repeats.set_aside:,} of {repeats.n:,} that were disturbed" if repeats.set_aside else ""
    )
    return f"measuring once more is off by {repeats.mape:.1f} %{aside}"


def _tool_comparison(tool: ToolErrors | None, floor: float, noun: str) -> Iterator[tuple[Grade, str]]:
    if tool is None:
        yield Grade.GOOD, "no published tool is compared"
        return
    is_better = tool.mape + floor < tool.own
    text = f"on the {tool.n:,} {noun} that {tool.name} predicts, it is off by {tool.mape:.1f} %, this by"
    yield Grade.DOUBTFUL if is_better else Grade.GOOD, f"{text} {tool.own:.1f} %"


@dataclass(frozen=True, eq=False)
class SheetFloor:
    """The accuracy that repeated measurements reach: no source can be expected to do better.

    `items` bool[n]: those to judge by, without disturbed ones.

    Attributes:
        spread: Their errors.
        kendall: Their τ; None where nothing was repeated.
    """

    items: Bools
    spread: RepeatSpread | None = None
    kendall: float | None = None


def floor_of(sheet: AnswerSheet, repeat: int | None) -> SheetFloor:
    """The floor of a sheet; `repeat` is the column that repeats the reference's measurements, None without
    one.
    """
    if repeat is None:
        return SheetFloor(sheet.reference > 0)
    spread, steady = repeat_spread(sheet.reference, sheet.columns[repeat].cycles)
    return SheetFloor(
        steady, spread, agreement(sheet.compare(repeat, among=np.flatnonzero(steady))).scores.kendall
    )


def verdict(
    sheet: AnswerSheet, column: int, floor: SheetFloor, tools: Mapping[str, int] = MappingProxyType({})
) -> AccuracyJudgement:
    """The judgement of a column of predictions.

    Args:
        sheet: Items with the reference and all columns.
        column: Position of the column in the sheet.
        floor: The items to judge on, and how well repeated measurements agree there.
        tools: {name: column} of published tools, whose best one is the bar.
    """
    points = sheet.compare(column, among=np.flatnonzero(floor.items))
    items = int(floor.items.sum())
    published = {name: sheet.columns[at].cycles for name, at in tools.items() if at != column}
    predicted = sheet.columns[column].cycles
    figures = AccuracyFigures(
        agreement(points),
        len(points) / items if items else 0.0,
        floor.spread,
        floor.kendall,
        best_tool(sheet.reference, predicted, floor.items, published),
    )
    return accuracy_judgement(figures, sheet.items.kind)


def best_tool(
    measured: Floats, predicted: Floats, items: Bools, tools: Mapping[str, Floats]
) -> ToolErrors | None:
    """The published tool with the smallest error, relative to the predictor on the items of both.

    Args:
        measured: float64[n], in cycles.
        predicted: float64[n] of the predictor that is judged, nan without an answer.
        items: bool[n], the items to judge by.
        tools: {name: float64[n]}, as `predicted`, without the predictor itself.

    Returns:
        None where no tool predicts at least half of the predictor's items.
    """
    predicted_items = items & ~np.isnan(predicted)
    errors = []
    for name, answers in tools.items():
        common = predicted_items & ~np.isnan(answers)
        if common.any() and common.sum() >= _MIN_COMMON_SHARE * predicted_items.sum():
            base = measured[common]
            mape, own_mape = (
                100 * float((np.abs(row[common] - base) / base).mean()) for row in (answers, predicted)
            )
            errors.append(ToolErrors(name, int(common.sum()), mape, own_mape))
    return min(errors, key=lambda tool: tool.mape - tool.own, default=None)


@dataclass(frozen=True)
class ColumnRoles:
    """Columns that serve the verdict on others.

    Attributes:
        repeats: Indices of those that measure the reference again; none where the reference is no
            measurement.
        tools: (name, index) of published tools.
    """

    repeats: tuple[int, ...] = ()
    tools: tuple[tuple[str, int], ...] = ()


def column_verdict(
    sheet: AnswerSheet, position: int, roles: ColumnRoles, selection: ItemSelection = ALL_ITEMS
) -> AccuracyJudgement:
    """The verdict on a column; the first repeated measurement gives the floor.

    Args:
        sheet: Items with the reference and all columns.
        position: Position of the column.
        roles: Columns with repeated measurements, and columns of published tools.
        selection: Restricts the items.
    """
    floor = floor_of(sheet, next((at for at in roles.repeats if at != position), None))
    if not selection.is_all:
        floor = SheetFloor(floor.items & sheet.among(selection), floor.spread, floor.kendall)
    return verdict(sheet, position, floor, dict(roles.tools))
