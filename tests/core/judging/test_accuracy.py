"""How good a predictor is, beside what repeating the measurement and the best published tool give."""

from __future__ import annotations

import numpy as np
import pytest

from inference.core.judging.accuracy import (
    AccuracyFigures,
    Grade,
    RepeatSpread,
    ToolErrors,
    accuracy_judgement,
    best_tool,
    repeat_spread,
)
from inference.core.judging.agreement import Agreement
from inference.core.metrics import Scores

MEASURED = np.linspace(1.0, 9.0, 80)
STEADY = RepeatSpread(80, 0, 0.8, 0.5)


def errors(mape: float, *, n: int = 80, kendall: float | None = 0.95) -> Agreement:
    return Agreement(Scores(n, mape, None, kendall), median=mape / 2)


def test_one_disturbed_reading_does_not_move_the_floor() -> None:
    again = MEASURED * np.where(np.arange(80) % 2, 1.004, 0.996)
    calm, items = repeat_spread(MEASURED, again)
    assert (calm.set_aside, items.all()) == (0, True)
    again[7] = 18.31
    disturbed, items = repeat_spread(MEASURED, again)
    assert (disturbed.n, disturbed.set_aside, bool(items[7])) == (80, 1, False)
    assert disturbed.mape == pytest.approx(calm.mape, abs=0.01)
    plain = 100 * float((np.abs(again - MEASURED) / MEASURED).mean())
    assert plain > 10 * (disturbed.mape or 0)


def test_a_first_reading_that_was_disturbed_is_set_aside_as_well() -> None:
    again = MEASURED.copy()
    again[7] = MEASURED[7] / 19
    assert repeat_spread(MEASURED, again)[0].set_aside == 1


def test_readings_that_all_vary_are_no_outliers_of_one_another() -> None:
    random = np.random.default_rng(1)
    spread, _ = repeat_spread(MEASURED, MEASURED * random.uniform(0.8, 1.2, 80))
    assert spread.set_aside == 0
    assert (spread.mape or 0) > 5


def test_without_readings_there_is_no_floor() -> None:
    nothing = np.full(3, np.nan)
    assert repeat_spread(nothing, nothing)[0] == RepeatSpread(0, 0, None, None)


@pytest.mark.parametrize(
    ("mape", "floor", "grade"),
    [
        (4.0, 0.5, Grade.GOOD),
        (8.0, 0.5, Grade.USABLE),
        (8.0, 6.0, Grade.GOOD),
        (30.0, 0.5, Grade.DOUBTFUL),
        (60.0, 0.5, Grade.WRONG),
    ],
)
def test_the_grade_follows_the_error_beside_what_repeating_gives(
    mape: float, floor: float, grade: Grade
) -> None:
    figures = AccuracyFigures(errors(mape), 1.0, RepeatSpread(80, 0, floor, floor))
    found = accuracy_judgement(figures)
    assert found.grade is grade
    assert f"{mape:.1f} %" in found.reasons[0]
    assert f"{floor:.1f} %" in found.reasons[1]


def test_what_a_published_tool_does_better_is_doubtful() -> None:
    beaten = ToolErrors("llvm-mca 19", 78, 2.0, 4.0)
    found = accuracy_judgement(AccuracyFigures(errors(4.0), 1.0, STEADY, tool=beaten))
    assert found.grade is Grade.DOUBTFUL
    assert "llvm-mca 19 predicts, it is off by 2.0 %, this by 4.0 %" in found.text
    as_good = ToolErrors("llvm-mca 19", 78, 3.5, 4.0)  # nearer by less than repeating gives
    assert accuracy_judgement(AccuracyFigures(errors(4.0), 1.0, STEADY, tool=as_good)).grade is Grade.GOOD


@pytest.mark.parametrize(
    ("figures", "grade", "words"),
    [
        (AccuracyFigures(errors(1.0), 0.6, STEADY), Grade.USABLE, "60 % of the blocks are predicted"),
        (AccuracyFigures(errors(1.0), 0.1, STEADY), Grade.DOUBTFUL, "10 % of the blocks"),
        (AccuracyFigures(errors(1.0, n=5), 1.0, STEADY), Grade.DOUBTFUL, "too few blocks"),
        (AccuracyFigures(errors(60.0, n=5, kendall=-0.4), 0.1, STEADY), Grade.DOUBTFUL, "too few blocks"),
        (AccuracyFigures(errors(1.0, kendall=0.1), 1.0, STEADY, 0.9), Grade.WRONG, "ranks them poorly"),
        (AccuracyFigures(Agreement(Scores(0, None, None, None)), 0.0, STEADY), Grade.WRONG, "predicts none"),
        (AccuracyFigures(errors(1.0), 1.0, None), Grade.GOOD, "is unknown"),
    ],
)
def test_coverage_ranking_and_number_count_as_well(
    figures: AccuracyFigures, grade: Grade, words: str
) -> None:
    found = accuracy_judgement(figures, "blocks")
    assert found.grade is grade
    assert words in found.text


def test_a_ranking_without_readings_names_no_repetition() -> None:
    found = accuracy_judgement(AccuracyFigures(errors(1.0, kendall=0.1), 1.0))
    assert "it ranks them poorly: τ 0.10" in found.reasons


def test_a_ranking_is_as_good_as_repeating_allows() -> None:
    figures = AccuracyFigures(errors(1.0, kendall=0.5), 1.0, STEADY, 0.55)
    assert accuracy_judgement(figures).grade is Grade.GOOD


def test_the_best_tool_is_found_on_the_items_that_both_predict() -> None:
    own = MEASURED * 1.05
    everywhere = MEASURED * 1.2
    half = np.where(np.arange(80) < 50, MEASURED * 1.1, np.nan)
    few = np.where(np.arange(80) < 10, MEASURED, np.nan)
    items = np.ones(80, dtype=bool)
    found = best_tool(MEASURED, own, items, {"a": everywhere, "b": half, "c": few})
    assert found is not None
    assert (found.name, found.n) == ("b", 50)
    assert (round(found.mape, 6), round(found.own, 6)) == (10, 5)
    assert best_tool(MEASURED, own, items, {}) is None
