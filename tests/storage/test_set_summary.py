"""The numbers of a set, and when those that were kept are out of date."""

from __future__ import annotations

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.features.library.sets import query as experiment_sets
from inference.models import ExperimentSet, Run
from inference.storage.importing import commit, preview
from inference.storage.rows import SetSummary, store_measurements, store_summary, stored_summary, summarise

ADD, MUL = Experiment.of(["add R, R"]), Experiment.of({"mul R, R": 2})


@pytest.fixture
def measured(empty_set: ExperimentSet) -> ExperimentSet:
    store_measurements(
        empty_set,
        [
            Measured(ADD, 0.5, passes=3),
            Measured(MUL, 2.0),
            Measured(MUL, None, MeasurementState.FAILED, note="crashed"),
        ],
    )
    return empty_set


def test_a_set_is_summed_up(measured: ExperimentSet) -> None:
    summary = SetSummary(3, 2, (1, 2), 0.5, 2.0, {"settled": 2, "failed": 1}, repeated=True)
    assert summarise(measured) == summary
    assert summary.doubtful


def test_an_empty_set_is_summed_up(empty_set: ExperimentSet) -> None:
    assert summarise(empty_set) == SetSummary(0, 0, (), None, None, {})
    assert store_summary(empty_set) == stored_summary(empty_set)


def test_what_is_kept_is_what_is_summed_up(measured: ExperimentSet) -> None:
    assert stored_summary(measured) is None
    store_summary(measured)
    assert stored_summary(ExperimentSet.objects.get(pk=measured.pk)) == summarise(measured)


@pytest.mark.parametrize("change", ["added", "removed", "replaced"])
def test_what_is_kept_is_out_of_date_once_the_rows_are_others(measured: ExperimentSet, change: str) -> None:
    store_summary(measured)
    if change != "added":
        measured.measurements.filter(experiment__length=1).delete()
    if change != "removed":
        store_measurements(measured, [Measured(Experiment.of(["nop"]), 0.25)])
    assert stored_summary(measured) is None


def test_an_imported_set_keeps_its_numbers(default_x86: object) -> None:
    seen = preview(b'experiment,cycles\n"add GPR[64]:RW, GPR[64]:R",0.25\n', "m.csv")
    row = ExperimentSet.objects.get(pk=commit(seen, "m").row.pk)
    assert row.summary == json.loads(json.dumps(row.summary))
    assert stored_summary(row) == summarise(row)


@pytest.mark.parametrize("busy", [False, True])
def test_a_page_keeps_the_numbers_of_a_large_set_unless_something_runs(
    measured: ExperimentSet, busy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiment_sets, "STORED_FROM", 3)
    if busy:
        Run.objects.create(name="r", kind="import", config={})
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert experiment_sets.summary_of(measured) == summarise(measured)
    assert any(query["sql"].startswith("UPDATE") for query in queries) is not busy
    assert (stored_summary(measured) is None) is busy


def test_a_small_set_is_summed_up_on_its_page(measured: ExperimentSet) -> None:
    experiment_sets.summary_of(measured)
    assert stored_summary(measured) is None
