"""Fronts: kept in few characters, and a point becomes a mapping of its own once."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from inference.core.errors import InvalidInputError
from inference.core.evaluator import PortMappingModel
from inference.core.experiment import Experiment, Unit
from inference.core.mapping import PortMapping as Mapping
from inference.features.learning.inferring.front import front_named, front_of, point_with
from inference.measuring.simulated import SimulatedProcessor
from inference.models import Evaluation, ExperimentSet, FrontPoint, PortMapping, Run
from inference.storage.errors import NameInUseError, UnknownNameError
from inference.storage.evaluations import compare, evaluate, store_evaluation
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import load_mapping, store_mapping
from inference.storage.results import JudgedPoint, mapping_from, mapping_json, pick, store_front
from inference.storage.rows import scheme_ids, store_measurements
from tests.fronts import SIZE
from tests.fronts import front_of as made_by_hand

pytestmark = pytest.mark.django_db

VALUE = Mapping(("0", "1", "2"), {"a": ((1, 1),), "b": ((1, 1),), "c": ((3, 2), (4, 1)), "d": ()}, r_max=4.0)


@pytest.fixture
def isa():
    return new_isa("toy", VALUE.usage, "a test")


@pytest.fixture
def judge(isa):
    row = ExperimentSet.objects.create(name="judge", isa=isa, origin=ExperimentSet.Origin.UPLOAD)
    asked = [Experiment.of({"a": 1, "c": 2}), Experiment.of({"b": 3}), Experiment.of({"a": 2, "b": 1})]
    store_measurements(row, SimulatedProcessor(VALUE, noise=0.1, seed=3).measure(asked))
    return row


def stored(isa, judge, name="found"):
    run = Run.objects.create(name=f"run of {name}", kind="infer")
    report = {"final_error": 0.05, "congruence_classes": [["a", "b"], ["c"], ["d"]]}
    row = store_mapping(
        name, isa, VALUE, origin=PortMapping.Origin.RUN, source="PMEvo", run=run, report=report
    )
    points = []
    for point in made_by_hand(VALUE, 0.05):
        judged = None if judge is None else compare(PortMappingModel(point.mapping), judge, Unit.CYCLES)
        points.append(JudgedPoint(point, judged))
    store_front(row, points, VALUE, judge)
    return row


@pytest.fixture
def row(isa, judge):
    return stored(isa, judge)


def test_a_mapping_comes_back_as_it_was(isa):
    content = json.loads(json.dumps(mapping_json(VALUE, scheme_ids(isa))))
    assert mapping_from(content) == VALUE
    assert len(content["uops"]) == 3, "µops that schemes have in common are kept once"


def test_thousands_of_schemes_take_few_characters():
    usage = {f"scheme {k}": ((1 << k % 9, 1 + k % 3),) for k in range(2000)}
    ids = {scheme: 17_000 + k for k, scheme in enumerate(usage)}
    text = json.dumps(mapping_json(Mapping(tuple("012345678"), usage), ids), separators=(",", ":"))
    assert len(text) < 15_000


def test_the_point_that_the_run_chose_is_its_own_mapping(row):
    front = front_of(row)
    assert [point.place for point in front.points] == list(range(SIZE))
    assert front.points[0].picked == row
    assert front.here == front.points[0]
    assert all(point.picked is None for point in front.points[1:])
    assert pick(row.front.get(place=0)) == (row, False)


def test_a_picked_point_is_a_mapping_of_its_own_judged_as_the_run_judged_it(row, judge):
    point = row.front.get(place=2)
    made, fresh = pick(point)
    assert fresh
    assert made.name == f"found · {point.kinds} kinds of µops"
    assert load_mapping(made) == made_by_hand(VALUE, 0.05)[2].mapping
    assert made.report["front_point"]["mapping"] == row.pk
    assert made.report["final_error"] == point.error
    assert made.report["congruence_classes"] == row.report["congruence_classes"]
    assert "found" in made.source
    evaluation = made.evaluations.get()
    assert (evaluation.experiment_set, evaluation.mape) == (judge, point.mape)
    again = evaluate(made, judge)
    assert (again.pk, again.mape, again.n) == (evaluation.pk, evaluation.mape, evaluation.n)
    assert front_of(made).owner == row
    assert front_of(made).here.place == 2


def test_picking_twice_opens_the_same_mapping(row):
    first, _ = pick(row.front.get(place=1))
    assert pick(row.front.get(place=1)) == (first, False)
    with pytest.raises(InvalidInputError, match="picked before"):
        pick(row.front.get(place=1), "another name")
    first.delete()
    made, fresh = pick(row.front.get(place=1), "another name")
    assert fresh
    assert made.name == "another name"


def test_a_name_in_use_is_refused_and_nothing_is_made(row):
    with pytest.raises(NameInUseError):
        pick(row.front.get(place=1), "found")
    assert PortMapping.objects.count() == 1
    assert row.front.get(place=1).picked is None


def test_what_was_held_out_by_the_run_judges_too(isa, judge):
    row = stored(isa, None, "unjudged")
    assert pick(row.front.get(place=1))[0].evaluations.count() == 0
    other = stored(isa, judge, "held out")
    compared = compare(PortMappingModel(VALUE), judge, Unit.CYCLES)
    store_evaluation(other, None, Unit.CYCLES, compared)
    point = other.front.get(place=1)
    point.judged |= {"experiment_set": None}
    point.save()
    evaluation = pick(point)[0].evaluations.get()
    assert evaluation.held_out_by == other.run
    other.run.delete()
    assert not Evaluation.objects.filter(pk=evaluation.pk).exists()


def test_without_the_set_that_judged_there_is_no_evaluation(row, judge):
    judge.delete()
    assert pick(row.front.get(place=1))[0].evaluations.count() == 0


def test_a_front_goes_with_its_mapping_and_what_was_picked_stays(row):
    made, _ = pick(row.front.get(place=1))
    row.delete()
    assert not FrontPoint.objects.exists()
    assert PortMapping.objects.get() == made
    assert front_of(made) is None


def test_a_front_is_found_by_the_name_of_its_mapping_of_its_run_and_of_a_point(row, isa):
    made, _ = pick(row.front.get(place=1))
    for name in ("found", "run of found", made.name):
        assert front_named(name).owner == row
    with pytest.raises(UnknownNameError, match="found"):
        front_named("fund")
    store_mapping("plain", isa, replace(VALUE, r_max=None), origin=PortMapping.Origin.IMPORT)
    with pytest.raises(InvalidInputError, match="has no front"):
        front_named("plain")


def test_a_point_is_named_by_its_kinds_and_where_needed_its_volume(row):
    front = front_of(row)
    assert point_with(front, 9) == front.points[1]
    assert point_with(front, 9, front.points[1].volume) == front.points[1]
    with pytest.raises(InvalidInputError, match="there are 7, 8, 9, 10"):
        point_with(front, 40)
    with pytest.raises(InvalidInputError, match="with 9 kinds"):
        point_with(front, 9, 10**6)
