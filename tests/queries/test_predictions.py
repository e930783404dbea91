"""Measurements beside predictions, the bins of a heat map, and the scores of tools."""

import pytest

from inference.core.experiment import Experiment
from inference.core.metrics import Unit
from inference.exchange.errors import UnknownNameError
from inference.exchange.evaluating import evaluate
from inference.exchange.stored import load_measurements
from inference.models import ExperimentSet, PortMapping
from inference.queries.evaluations import evaluations_of, evaluations_on, scores_of_tools, tool_scores
from inference.queries.predictions import measurements_in_set, predictions
from tests.queries.conftest import ADD, VALUE


def test_predictions_stand_beside_the_measurements_that_have_one(measured: ExperimentSet) -> None:
    found = predictions(VALUE, measurements_in_set(measured))
    assert found.measured.tolist() == [0.5, 1.0, 1.1, 2.5]
    assert found.predicted.tolist() == [0.5, 1.0, 1.0, 2.0]
    assert found.ids.tolist() == list(measured.measurements.values_list("id", flat=True)[:4])


def test_the_worst_predictions_are_listed_first_without_rows_that_are_gone(measured: ExperimentSet) -> None:
    found = predictions(VALUE, measurements_in_set(measured))
    assert found.worst().tolist() == [3, 2, 0, 1]
    first, second = found.listed(found.worst()[:2])
    assert (first.difference, first.stored.value.experiment) == (pytest.approx(-20), Experiment.of({ADD: 4}))
    assert (second.measured, second.predicted) == (1.1, 1.0)
    measured.measurements.get(pk=first.stored.id).delete()
    assert found.listed(found.worst()[:2]) == [second]


def test_predictions_can_be_in_another_unit(measured: ExperimentSet) -> None:
    found = predictions(VALUE, measurements_in_set(measured), Unit.IPC)
    assert found.predicted.tolist() == [2.0, 1.0, 2.0, 2.0]


def test_the_bins_of_an_evaluation_hold_exactly_its_experiments(
    mapping: PortMapping, measured: ExperimentSet
) -> None:
    evaluation = evaluate(mapping, measured)
    found = predictions(VALUE, measurements_in_set(measured))
    counts = evaluation.heat_map["counts"]
    for row, line in enumerate(counts):
        for column, count in enumerate(line):
            assert len(found.in_bin(evaluation.heat_map, row, column)) == count
    assert sum(map(sum, counts)) == len(found.ids)


def test_tools_that_came_with_a_set_are_scored(measured: ExperimentSet) -> None:
    first, second = scores_of_tools(load_measurements(measured))
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
