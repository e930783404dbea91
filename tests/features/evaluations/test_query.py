"""Measurements beside predictions, the lists of a heat map, and the scores of tools."""

from html import unescape

import numpy as np
import pytest
from django.test import Client

from inference.core.experiment import Experiment, Unit
from inference.features.judging.engine import evaluation_sheets
from inference.features.judging.engine.query import heat_map_of, scores_of
from inference.features.judging.engine.views import VIEWS
from inference.features.judging.evaluations.query import question_of, worst_of
from inference.models import Comparison, ExperimentSet, PortMapping
from inference.runs.lifecycle import submit
from inference.storage.errors import UnknownNameError
from inference.storage.evaluations import compare_tool, evaluate, evaluations_of, evaluations_on, residuals_in
from tests.rows import instructions
from tests.rows.instructions import ADD
from tests.work import work_off

isa, mapping, measured = instructions.isa, instructions.mapping, instructions.measured


def ids_of(measured: ExperimentSet) -> list[int]:
    return list(measured.measurements.order_by("id").values_list("id", flat=True))


def test_an_evaluation_lists_the_worst_predictions_first(
    mapping: PortMapping, measured: ExperimentSet
) -> None:
    ids = ids_of(measured)
    worst = worst_of(evaluate(mapping, measured))
    assert [item.stored.id for item in worst] == [ids[3], ids[2], ids[0], ids[1]]
    assert (worst[0].difference, worst[0].stored.value.experiment) == (
        pytest.approx(-20),
        Experiment.of({ADD: 4}),
    )
    in_ipc = worst_of(evaluate(mapping, measured, Unit.IPC))
    assert sorted(item.predicted for item in in_ipc) == [1.0, 2.0, 2.0, 2.0]


def test_what_is_gone_is_not_listed(mapping: PortMapping, measured: ExperimentSet) -> None:
    ids, evaluation = ids_of(measured), evaluate(mapping, measured)
    assert len(worst_of(evaluation)) == 4
    measured.measurements.get(pk=ids[3]).delete()
    assert [item.stored.id for item in worst_of(evaluation)] == [ids[2], ids[0], ids[1]]


def test_the_bins_of_an_evaluation_hold_exactly_its_experiments(
    mapping: PortMapping, measured: ExperimentSet
) -> None:
    evaluation = evaluate(mapping, measured)
    counts = np.array(evaluation.heat_map["counts"])
    bins = {place: worst_of(evaluation, place=place) for place in zip(*np.nonzero(counts), strict=True)}
    assert {place: len(items) for place, items in bins.items()} == {place: counts[place] for place in bins}
    assert sorted(item.stored.id for items in bins.values() for item in items) == ids_of(measured)[:4]


def test_errors_by_scheme_are_stored_and_worked_out_where_they_are_not(
    mapping: PortMapping, measured: ExperimentSet, django_assert_num_queries: object
) -> None:
    evaluation = evaluate(mapping, measured)
    with django_assert_num_queries(1):
        expected = residuals_in(evaluation)
    del evaluation.heat_map["listing"]
    evaluation.save()
    assert expected
    assert residuals_in(evaluation) == expected


def test_the_errors_by_scheme_of_an_earlier_version_are_read(
    mapping: PortMapping, measured: ExperimentSet
) -> None:
    """It stored the worst experiments of all and of each bin, and the scores of tools, beside them."""
    evaluation = evaluate(mapping, measured)
    expected = residuals_in(evaluation)
    evaluation.heat_map["listing"] |= {"worst": [1], "bins": {"0,0": [1]}, "lengths": [], "tools": []}
    evaluation.save()
    assert residuals_in(evaluation) == expected


def test_tools_that_came_with_a_set_are_columns(mapping: PortMapping, measured: ExperimentSet) -> None:
    question = question_of(evaluate(mapping, measured))
    own, first, second = ((one.name, scores_of(one, question.part)) for one in question.columns)
    assert own[0] == mapping.name
    assert (first[0], first[1].n, first[1].mape) == ("IACA", 2, 25.0)
    assert (second[0], second[1].n, second[1].mape) == ("OSACA", 1, 100.0)
    in_cpi = compare_tool(measured, "OSACA", Unit.CPI)
    assert (in_cpi.scores.mape, in_cpi.skipped) == (100.0, 5)
    with pytest.raises(UnknownNameError, match="no tool with answers in 'measured' named 'iaca'"):
        compare_tool(measured, "iaca", Unit.CYCLES)


def test_evaluations_are_listed_without_their_heat_maps(
    mapping: PortMapping, measured: ExperimentSet, django_assert_num_queries: object
) -> None:
    evaluation = evaluate(mapping, measured)
    with django_assert_num_queries(2):
        assert [(row.pk, row.experiment_set.name) for row in evaluations_of(mapping)] == [
            (evaluation.pk, "measured")
        ]
        assert [(row.pk, row.mapping.name) for row in evaluations_on(measured)] == [(evaluation.pk, "m")]


def test_a_run_stores_what_pages_look_at(mapping: PortMapping, measured: ExperimentSet) -> None:
    evaluation = evaluate(mapping, measured)
    read_anew = question_of(evaluation)
    config = {"mapping": mapping.pk, "experiment_set": measured.pk}
    for name in ("judged", "judged again"):
        work_off(submit("evaluate", config, name))
    evaluation.refresh_from_db()
    stored = question_of(evaluation)
    assert (read_anew.row.pk < 0, stored.row.run.name) == (True, "judged again")
    assert Comparison.objects.count() == 2, "each run has its own, as other comparisons have"
    assert [column.name for column in stored.columns] == [mapping.name, "IACA", "OSACA"]
    for name in ("scores", "worst", "lengths", "schemes", "matrix", "telling"):
        assert VIEWS[name].tables(stored) == VIEWS[name].tables(read_anew), name
    assert heat_map_of(stored.column, stored.part) == heat_map_of(read_anew.column, read_anew.part)
    assert question_of(evaluate(mapping, measured)).row.pk < 0, "the run knows nothing of what came later"


def test_the_first_look_at_what_a_run_evaluated_reads_no_set(
    mapping: PortMapping, measured: ExperimentSet, visitor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    work_off(submit("evaluate", {"mapping": mapping.pk, "experiment_set": measured.pk}, "judged"))
    monkeypatch.setattr(evaluation_sheets, "evaluated_chunks", None)
    address = f"/mappings/{mapping.pk}/?tab=accuracy&set={measured.pk}"
    for view in ("map", "scores", "matrix"):
        response = visitor.get(f"{address}&view={view}")
        assert (response.status_code, response.context["selected"]) == (200, 5)
    assert f"{address}&unit=cycles&view=telling" in unescape(response.content.decode())
