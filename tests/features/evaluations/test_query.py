"""Measurements beside predictions, the lists of a heat map, and the scores of tools."""

import numpy as np
import pytest

from inference.core.experiment import Experiment
from inference.core.metrics import Unit
from inference.core.predicting import PortMappingModel
from inference.features.judging.evaluations.query import listed, tool_scores
from inference.models import ExperimentSet, PortMapping
from inference.storage.errors import UnknownNameError
from inference.storage.evaluating import evaluate
from inference.storage.evaluations import evaluations_of, evaluations_on, listing_in
from tests.rows import instructions
from tests.rows.instructions import ADD, VALUE

isa, mapping, measured = instructions.isa, instructions.mapping, instructions.measured

PREDICTOR = PortMappingModel(VALUE)


def ids_of(measured: ExperimentSet) -> list[int]:
    return list(measured.measurements.order_by("id").values_list("id", flat=True))


def test_measurements_are_listed_with_their_predictions_in_the_order_asked_for(
    measured: ExperimentSet,
) -> None:
    ids = ids_of(measured)
    first, second = listed(PREDICTOR, [ids[3], ids[2]])
    assert (first.difference, first.stored.value.experiment) == (pytest.approx(-20), Experiment.of({ADD: 4}))
    assert (second.measured, second.predicted) == (1.1, 1.0)
    assert [row.predicted for row in listed(PREDICTOR, ids, Unit.IPC)] == [2.0, 1.0, 2.0, 2.0]


def test_what_is_gone_or_has_no_prediction_is_not_listed(measured: ExperimentSet) -> None:
    ids = ids_of(measured)
    measured.measurements.get(pk=ids[3]).delete()
    assert [row.stored.id for row in listed(PREDICTOR, reversed(ids))] == [ids[2], ids[1], ids[0]]


def test_an_evaluation_lists_the_worst_predictions_first(
    mapping: PortMapping, measured: ExperimentSet
) -> None:
    ids = ids_of(measured)
    assert listing_in(evaluate(mapping, measured)).worst == (ids[3], ids[2], ids[0], ids[1])


def test_the_bins_of_an_evaluation_hold_exactly_its_experiments(
    mapping: PortMapping, measured: ExperimentSet
) -> None:
    evaluation = evaluate(mapping, measured)
    bins = listing_in(evaluation).bins
    counts = np.zeros((35, 35), dtype=int)
    for place, ids in bins.items():
        counts[place] = len(ids)
    assert counts.tolist() == evaluation.heat_map["counts"]
    assert sorted(pk for ids in bins.values() for pk in ids) == ids_of(measured)[:4]


def test_looking_at_a_stored_evaluation_reads_no_measurements(
    mapping: PortMapping, measured: ExperimentSet, django_assert_num_queries: object
) -> None:
    evaluation = evaluate(mapping, measured)
    with django_assert_num_queries(0):
        listing_in(evaluation)


def test_an_evaluation_from_before_there_were_lists_gets_the_same_ones(
    mapping: PortMapping, measured: ExperimentSet
) -> None:
    evaluation = evaluate(mapping, measured)
    expected = listing_in(evaluation)
    del evaluation.heat_map["listing"]
    evaluation.save()
    assert listing_in(evaluation) == expected


def test_tools_that_came_with_a_set_are_scored(mapping: PortMapping, measured: ExperimentSet) -> None:
    first, second = listing_in(evaluate(mapping, measured)).tools
    assert (first.tool, first.scores.n, first.scores.mape, first.skipped) == ("IACA", 2, 25.0, 4)
    assert (second.tool, second.scores.n, second.scores.mape) == ("OSACA", 1, 100.0)
    assert tool_scores(measured, "OSACA", Unit.CPI)[0].mape == 100.0
    with pytest.raises(UnknownNameError, match="no tool with answers in 'measured' named 'iaca'"):
        tool_scores(measured, "iaca", Unit.CYCLES)


def test_evaluations_are_listed_without_their_heat_maps(
    mapping: PortMapping, measured: ExperimentSet, django_assert_num_queries: object
) -> None:
    evaluation = evaluate(mapping, measured)
    with django_assert_num_queries(2):
        assert [(row.pk, row.experiment_set.name) for row in evaluations_of(mapping)] == [
            (evaluation.pk, "measured")
        ]
        assert [(row.pk, row.mapping.name) for row in evaluations_on(measured)] == [(evaluation.pk, "m")]
