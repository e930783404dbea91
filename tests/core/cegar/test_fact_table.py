"""The table of port sets, held against listing every matrix."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.cegar.closed_form import ClosedForm
from inference.core.cegar.fact_question import FactQuestion
from inference.core.cegar.fact_table import FactTable
from inference.core.cegar.faster_question import FasterQuestion
from inference.core.cegar.formula import Formula
from inference.core.cegar.profiles import Profile, facts_of
from inference.core.cegar.shape import Candidate, Observation, Shape
from inference.core.cegar.table_question import TableQuestion
from inference.core.experiment import Experiment
from inference.core.identity import canonical
from inference.core.mapping import PortMapping
from inference.core.throughput import inverse_throughput
from tests.drawn import examples

SHAPE = Shape(("a", "b"), (1, 2), 3, 0.02)
MATRICES = list(itertools.product(range(1, 8), repeat=3))
EXPERIMENTS = [
    Experiment.of(schemes)
    for length in range(1, 5)
    for schemes in itertools.combinations_with_replacement(SHAPE.schemes, length)
]

matrices = st.sampled_from(MATRICES)
experiments = st.lists(st.sampled_from(EXPERIMENTS), min_size=1, max_size=4, unique=True)


def observed(truth: Candidate, asked: list[Experiment]) -> list[Observation]:
    mapping = SHAPE.mapping(truth)
    return [Observation.of(SHAPE, each, inverse_throughput(mapping, each)) for each in asked]


def table(observations: list[Observation]) -> FactTable:
    encoding = FactTable(Formula(SHAPE, 1, 0, lambda: None))
    for observation in observations:
        encoding.add(observation)
    return encoding


def keys(candidates: list[Candidate]) -> set[tuple[object, ...]]:
    def key(mapping: PortMapping) -> tuple[object, ...]:
        return tuple(sorted(canonical(mapping).usage.items()))

    return {key(SHAPE.mapping(candidate)) for candidate in candidates}


@examples(10)
@given(matrices, experiments)
def test_the_table_finds_exactly_the_mappings_that_explain_the_measurements(
    truth: Candidate, asked: list[Experiment]
) -> None:
    observations = observed(truth, asked)
    encoding = table(observations)
    found = []
    while (candidate := encoding.find()) is not None:
        found.append(candidate)
        encoding.exclude(candidate)
    explaining = [one for one in MATRICES if all(each.holds(one) for each in observations)]
    assert keys(found) == keys(explaining)


@examples(15)
@given(matrices, experiments)
def test_a_second_mapping_is_found_exactly_where_there_is_one(
    truth: Candidate, asked: list[Experiment]
) -> None:
    observations = observed(truth, asked)
    encoding = table(observations)
    lazy = ClosedForm(Formula(SHAPE, 1, 0, lambda: None))
    for observation in observations:
        lazy.add(observation)
    answers = [
        TableQuestion(encoding, lambda: None).find_second(truth),
        FactQuestion(lazy, lambda: None).find_second(truth),
    ]
    first = Profile(SHAPE, facts_of(SHAPE, truth))
    others = [one for one in MATRICES if all(each.holds(one) for each in observations)]
    exists = any(_apart(first, Profile(SHAPE, facts_of(SHAPE, other))) for other in others)
    for answer in answers:
        assert (answer is not None) == exists
        if answer is not None:
            second, experiment = answer
            assert experiment is not None
            assert all(each.holds(second) for each in observations)
            times = [inverse_throughput(SHAPE.mapping(one), experiment) for one in (truth, second)]
            assert abs(times[0] - times[1]) > 2 * 0.02 * experiment.length


def _apart(one: Profile, other: Profile) -> bool:
    """By linear programs over all experiments, in both directions."""
    return any(a.slower(fact) is not None for a, b in ((one, other), (other, one)) for fact in b.facts)


def test_what_the_solver_found_impossible_is_not_asked_again() -> None:
    truth = (0b111, 0b011, 0b100)
    encoding = table(observed(truth, EXPERIMENTS))
    question = TableQuestion(encoding, lambda: None)
    assert question.find_second(truth) is None
    stated = len(encoding.excluded)
    assert question.find_second(truth) is None
    assert len(encoding.excluded) == stated


@pytest.mark.parametrize(("counts", "ports", "fits"), [((4,) * 4, 6, True), ((1,) * 10 + (2, 2), 10, False)])
def test_only_small_shapes_are_tabulated(counts: tuple[int, ...], ports: int, fits: bool) -> None:
    shape = Shape(tuple(f"s{k}" for k in range(len(counts))), counts, ports, 0.02)
    assert FactTable.suits(shape) is fits


def test_nothing_is_faster_than_a_mapping_that_is_all_there_is() -> None:
    truth = (0b001, 0b010, 0b100)
    encoding = table(observed(truth, EXPERIMENTS))

    class Nothing:
        def literal(self, fact: object) -> int:
            return encoding.lacks(fact)  # type: ignore[arg-type]

        def refine(self, candidate: Candidate) -> bool:
            return False

    question = FasterQuestion(encoding, Nothing(), lambda: None)
    assert question.find_second(Profile(SHAPE, facts_of(SHAPE, truth))) is None
