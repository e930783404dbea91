"""Which experiments a comparison looks at, and by which factors predictions are off."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.experiment import Experiment, Unit
from inference.core.judging.agreement import GRADES, biases, grade_of
from inference.core.judging.sheet import (
    ComparedPoints,
    ItemKind,
    Items,
    ItemSelection,
    answered_by_all,
    compared,
)
from inference.core.tables import ExperimentTable

SCHEMES = ("add", "div", "mul")
MIXES = [{"add": 1}, {"add": 1, "div": 2}, {"mul": 3}, {"add": 2, "div": 1, "mul": 1}]
TABLE = ExperimentTable.from_experiments(map(Experiment.of, MIXES), SCHEMES)

experiments = st.dictionaries(st.sampled_from(SCHEMES), st.integers(1, 4), min_size=1).map(Experiment.of)
cycles = st.floats(0.25, 100)


@pytest.mark.parametrize(
    ("selection", "chosen"),
    [
        (ItemSelection(), [True, True, True, True]),
        (ItemSelection(shortest=3), [False, True, True, True]),
        (ItemSelection(shortest=2, longest=3), [False, True, True, False]),
        (ItemSelection(schemes=frozenset({1})), [False, True, False, True]),
        (ItemSelection(schemes=frozenset({0, 1}), only=True), [True, True, False, False]),
        (ItemSelection(schemes=frozenset()), [False] * 4),
    ],
)
def test_experiments_are_chosen_by_length_and_schemes(selection: ItemSelection, chosen: list[bool]) -> None:
    items = Items(ItemKind.EXPERIMENTS, np.arange(4), TABLE.lengths, read_table=lambda: TABLE)
    assert selection.among(items).tolist() == chosen


def test_no_prediction_and_no_rate_are_left_out() -> None:
    said = np.array([1.0, np.nan, 0.0, 2.0])
    seen = np.array([1.0, 2.0, 3.0, 4.0])
    assert compared(seen, TABLE.lengths, said, Unit.CYCLES).at.tolist() == [0, 2, 3]
    in_ipc = compared(seen, TABLE.lengths, said, Unit.IPC)
    assert in_ipc.at.tolist() == [0, 3]
    assert in_ipc.predicted.tolist() == [1.0, 2.0]
    among = np.array([0, 1, 2])
    assert compared(seen, TABLE.lengths, said, Unit.CYCLES, among).at.tolist() == [0, 2]


def test_who_says_nothing_at_all_does_not_narrow_what_all_answered() -> None:
    nothing = np.full(3, np.nan)
    some = np.array([1.0, np.nan, 2.0])
    assert answered_by_all([nothing, some], 3).tolist() == [True, False, True]


@given(st.lists(st.tuples(experiments, cycles, st.floats(0, 100)), min_size=1, max_size=12))
def test_a_bias_is_the_geometric_mean_of_the_experiments_with_the_scheme(
    rows: list[tuple[Experiment, float, float]],
) -> None:
    table = ExperimentTable.from_experiments([row[0] for row in rows], SCHEMES)
    seen, said = (np.array([row[at] for row in rows]) for at in (1, 2))
    found = {each.scheme: each for each in biases(table, ComparedPoints(np.arange(len(rows)), seen, said))}
    for number, scheme in enumerate(SCHEMES):
        having = [row for row in rows if scheme in row[0].schemes]
        if not having:
            assert number not in found
            continue
        logs = [math.log(p) - math.log(m) for _, m, p in having if p]
        alone = [math.log(p) - math.log(m) for e, m, p in having if p and e.schemes == (scheme,)]
        bias = found[number]
        assert (bias.n, bias.free) == (len(having), len(having) - len(logs))
        for factor, expected in ((bias.factor, logs), (bias.alone, alone)):
            if expected:
                assert factor == pytest.approx(math.exp(sum(expected) / len(expected)))
            else:
                assert factor is None


@given(st.floats(1e-6, 1e6))
def test_grades_are_symmetric(factor: float) -> None:
    grade = grade_of(factor)
    assert grade in GRADES
    assert (grade == 0) == (1 / 1.1 < factor < 1.1) or factor == pytest.approx(1 / 1.1)
    assert grade_of(2.0) == 3 == -grade_of(0.5)
    assert grade_of(0.0) == GRADES[0]
