"""What is computed of a sheet, held against the formulas written out for one item after the other."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.experiment import Experiment, Unit
from inference.core.judging.accuracy import Grade, floor_of, verdict
from inference.core.judging.agreement import ABOVE_TOLERANCE, NEAR_TOLERANCE, agreement, errors_by_group
from inference.core.judging.disagreement import differences, disagreements, distinguishing_items
from inference.core.judging.sheet import (
    Answers,
    AnswerSheet,
    Grouping,
    ItemKind,
    Items,
    ItemSelection,
)
from inference.core.metrics import score
from inference.core.tables import ExperimentTable

SCHEMES = ("add", "div", "mul")
NAN = math.nan
MIXES = st.dictionaries(st.sampled_from(SCHEMES), st.integers(1, 3), min_size=1).map(Experiment.of)
CYCLES = st.one_of(st.just(NAN), st.just(0.0), st.integers(1, 40).map(lambda quarters: quarters / 4))
WEIGHTS = st.integers(0, 3).map(float)
BOUNDS = st.sampled_from(["", "ports", "front end"])
ROWS = st.lists(st.tuples(MIXES, WEIGHTS, BOUNDS, CYCLES, CYCLES, CYCLES), max_size=12)
SELECTIONS = st.builds(
    ItemSelection,
    shortest=st.none() | st.integers(1, 4),
    longest=st.none() | st.integers(2, 9),
    schemes=st.none() | st.frozensets(st.integers(0, 2)),
    only=st.booleans(),
    common=st.booleans(),
    bound=BOUNDS,
    apart=st.sampled_from([0.0, 0.25]),
)

Row = tuple[Experiment, float, str, float, float, float]


def sheet_of(rows: list[Row]) -> AnswerSheet:
    """The first number of a row is the reference, the others are answers."""
    table = ExperimentTable.from_experiments([row[0] for row in rows], SCHEMES)
    numbers = [np.array([row[at] for row in rows], dtype=np.float64) for at in (1, 3, 4, 5)]
    items = Items(
        ItemKind.EXPERIMENTS,
        np.arange(len(rows)),
        table.lengths,
        weights=numbers[0],
        bounds=Grouping.of([row[2] for row in rows]),
        read_table=lambda: table,
    )
    return AnswerSheet(items, numbers[1], [Answers.of(column, "nothing") for column in numbers[2:]])


def in_unit(cycles: float, length: int, unit: Unit) -> float:
    if unit is Unit.CYCLES:
        return cycles
    if unit is Unit.CPI:
        return cycles / length
    return length / cycles if cycles else math.inf


def is_chosen(row: Row, rows: list[Row], selection: ItemSelection) -> bool:
    mix, _, bound, _, *said = row
    numbers = [SCHEMES.index(scheme) in (selection.schemes or ()) for scheme in mix.schemes]
    saying = [any(not math.isnan(other[4 + at]) for other in rows) for at in range(2)]
    return all(
        (
            selection.shortest is None or mix.length >= selection.shortest,
            selection.longest is None or mix.length <= selection.longest,
            selection.schemes is None or (all(numbers) if selection.only else any(numbers)),
            not selection.bound or bound == selection.bound,
            not selection.common
            or all(not math.isnan(one) for one, says in zip(said, saying, strict=True) if says),
        )
    )


def expected_points(
    rows: list[Row], unit: Unit, selection: ItemSelection
) -> list[tuple[int, float, float, float]]:
    """(item, reference, first answer, relative error) of what is to be compared."""
    points = []
    for at, row in enumerate(rows):
        mix, _, _, reference, said, _ = row
        if not reference > 0 or math.isnan(said) or not is_chosen(row, rows, selection):
            continue
        seen, predicted = (in_unit(cycles, mix.length, unit) for cycles in (reference, said))
        error = (predicted - seen) / seen
        if math.isfinite(predicted) and abs(error) >= selection.apart:
            points.append((at, seen, predicted, error))
    return points


@given(ROWS, st.sampled_from(list(Unit)), SELECTIONS)
def test_what_is_compared_has_a_reference_and_an_answer_and_is_selected(
    rows: list[Row], unit: Unit, selection: ItemSelection
) -> None:
    found = sheet_of(rows).compare(0, unit, selection)
    expected = expected_points(rows, unit, selection)
    assert found.at.tolist() == [point[0] for point in expected]
    assert found.reference.tolist() == pytest.approx([point[1] for point in expected])
    assert found.predicted.tolist() == pytest.approx([point[2] for point in expected])
    assert found.errors.tolist() == pytest.approx([point[3] for point in expected])


@given(ROWS)
def test_agreement_is_that_of_the_formulas(rows: list[Row]) -> None:
    sheet = sheet_of(rows)
    expected = expected_points(rows, Unit.CYCLES, ItemSelection())
    found = agreement(sheet.compare(0), sheet.items.weights)
    assert found.scores == score([p[1] for p in expected], [p[2] for p in expected])
    errors = [point[3] for point in expected]
    if not errors:
        assert (found.median, found.signed, found.near, found.above, found.weighted) == (None,) * 5
        return
    assert found.median == pytest.approx(100 * statistics.median(map(abs, errors)))
    assert found.signed == pytest.approx(100 * statistics.median(errors))
    assert found.near == sum(abs(error) <= NEAR_TOLERANCE + 1e-12 for error in errors) / len(errors)
    assert found.above == sum(error > ABOVE_TOLERANCE for error in errors) / len(errors)
    weights = [rows[point[0]][1] for point in expected]
    total = sum(weights)
    summed = sum(abs(error) * weight for error, weight in zip(errors, weights, strict=True))
    assert found.weighted == (None if not total else pytest.approx(100 * summed / total))


@given(ROWS, st.integers(1, 5))
def test_the_worst_come_first_and_equal_ones_in_their_order(rows: list[Row], most: int) -> None:
    expected = expected_points(rows, Unit.CYCLES, ItemSelection())
    sizes = {point[0]: abs(point[3]) for point in expected}
    found = sheet_of(rows).compare(0).worst(most)
    assert found.at.tolist() == sorted(sizes, key=lambda at: (-sizes[at], at))[:most]


@given(ROWS)
def test_errors_of_a_group_are_those_of_its_items(rows: list[Row]) -> None:
    sheet = sheet_of(rows)
    assert sheet.items.bounds is not None
    found = {group.name: group for group in errors_by_group(sheet.compare(0), sheet.items.bounds)}
    expected: dict[str, list[float]] = {}
    for point in expected_points(rows, Unit.CYCLES, ItemSelection()):
        if rows[point[0]][2]:
            expected.setdefault(rows[point[0]][2], []).append(point[3])
    assert list(found) == sorted(expected)
    for name, errors in expected.items():
        group, sizes = found[name], list(map(abs, errors))
        assert group.n == len(errors)
        assert group.mape == pytest.approx(100 * statistics.fmean(sizes))
        assert group.median == pytest.approx(100 * statistics.median(sizes))
        assert group.signed == pytest.approx(100 * statistics.fmean(errors))


@given(ROWS)
def test_any_column_may_be_what_the_others_are_held_against(rows: list[Row]) -> None:
    swapped = [(mix, weight, bound, second, first, first) for mix, weight, bound, _, first, second in rows]
    found, expected = sheet_of(rows).against(1).compare(0), sheet_of(swapped).compare(0)
    assert found.at.tolist() == expected.at.tolist()
    assert found.errors.tolist() == expected.errors.tolist()


@given(ROWS, st.sampled_from(["relative", "absolute"]), st.sampled_from([0.0, 0.5, 1.0]))
def test_the_shortest_items_tell_two_sources_apart(rows: list[Row], metric: str, threshold: float) -> None:
    def apart(row: Row) -> float:
        first, second = row[4:]
        if metric == "absolute" or first + second == 0:
            return abs(first - second)
        return 2 * abs(first - second) / (first + second)

    sheet = sheet_of(rows)
    first, second = (column.cycles for column in sheet.columns)
    assert differences(first, second, metric).tolist() == pytest.approx(list(map(apart, rows)), nan_ok=True)
    expected = [at for at, row in enumerate(rows) if apart(row) > threshold]
    matrix = disagreements([first, second], metric, threshold)
    assert matrix.differing.tolist() == [[0, len(expected)], [len(expected), 0]]
    both = [row for row in rows if not math.isnan(row[4] + row[5])]
    assert matrix.both[0, 1] == len(both)
    expected.sort(key=lambda at: (rows[at][0].length, -apart(rows[at]), at))
    assert (
        distinguishing_items(first, second, sheet.items.lengths, metric, threshold, 3).tolist()
        == expected[:3]
    )


def test_a_verdict_leaves_disturbed_readings_out_and_looks_at_the_best_tool() -> None:
    measured = np.linspace(1.0, 9.0, 40)
    again = measured * 1.01
    again[3] = 18.0
    own = np.where(np.arange(40) == 3, 1e6, measured * 1.2)  # off by far where the reading was disturbed
    tool = measured * 1.02
    items = Items(ItemKind.BLOCKS, np.arange(40), np.zeros(40, dtype=np.int64))
    sheet = AnswerSheet(items, measured, [Answers.of(column, "") for column in (again, own, tool)])
    floor = floor_of(sheet, 0)
    assert floor.spread is not None
    assert (floor.spread.set_aside, floor.items.sum(), floor.kendall) == (1, 39, pytest.approx(1))
    found = verdict(sheet, 1, floor, {"a tool": 2})
    assert found.grade is Grade.DOUBTFUL
    assert found.reasons[0] == "off by 20.0 % on average, median 20.0 %, on 39 blocks"
    assert "on the 39 blocks that a tool predicts, it is off by 2.0 %, this by 20.0 %" in found.reasons
    alone = verdict(sheet, 2, floor_of(sheet, None), {"a tool": 2})
    assert alone.grade is Grade.GOOD
    assert "no published tool is compared" in alone.reasons
