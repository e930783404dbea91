"""What drift checks show, in the journal and among the stored measurements."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.features.learning.inferring.subject import Subject
from inference.isa.targets import AARCH64, X86
from inference.measuring.drift import DriftCheck, DriftComparison, DriftVerdict, DriftWatch
from inference.measuring.recorded import RecordedMeasurer
from inference.models import Run
from inference.runs.errors import LeaseLostError
from inference.runs.machines import measurer
from inference.runs.machines.measurer import DriftJournal
from inference.runs.measurements import RunMeasurements
from inference.storage.rows import load_measurements
from tests.runs.machines.fixtures import claim

ADD, MUL = Experiment.of(["add R, R"]), Experiment.of(["mul R, R"])


@pytest.fixture
def measured(home, machine):
    """A run that has measured two schemes, with its lease."""
    _, lease = claim(home)
    store = RunMeasurements(lease, machine.isa, {}, "measured", machine)
    store.remember([Measured(ADD, 1.0), Measured(MUL, 2.0)])
    return lease, store.experiment_set


def check(*, agree: bool) -> DriftCheck:
    verdict = DriftVerdict.REPLACED if agree else DriftVerdict.UNSETTLED
    state = MeasurementState.SETTLED if agree else MeasurementState.UNSETTLED
    result = Measured(ADD, 0.5, state, note="drift check: 1 cycles before, measured again as 0.5 and 0.5")
    return DriftCheck((DriftComparison(ADD, 1.0, (0.5, 0.5), verdict),), 2, ((1.0, result),))


def test_a_contradicted_result_gives_way_and_its_number_stays_in_note_and_journal(measured, machine):
    lease, made = measured
    told = []
    before = made.measurements.order_by("-id").first().pk
    DriftJournal(lease, machine.isa, told.append)(check(agree=True))
    rows = {each.experiment: each for each in load_measurements(made)}
    assert (rows[ADD].cycles, rows[ADD].usable, rows[MUL].cycles) == (0.5, True, 2.0)
    assert "1 cycles before" in rows[ADD].note
    assert made.measurements.order_by("-id").first().pk > before  # summaries know that the set has changed
    (kind, payload), (log, line) = (event.entry for event in told)
    assert (kind, payload["unanswered"]) == ("drift", 2)
    assert payload["compared"] == [
        {"experiment": "add R, R", "before": 1.0, "after": [0.5, 0.5], "verdict": "replaced"}
    ]
    assert (log, line["level"]) == ("log", "warning")


def test_where_nothing_agrees_the_result_counts_as_unsettled(measured, machine):
    lease, made = measured
    DriftJournal(lease, machine.isa, lambda event: None)(check(agree=False))
    (row,) = [each for each in load_measurements(made) if each.experiment == ADD]
    assert row.state is MeasurementState.UNSETTLED


def test_a_run_is_judged_by_what_its_set_has_at_the_end(measured, machine):
    lease, made = measured
    before = tuple(load_measurements(made))
    subject = Subject(machine.isa, (), RecordedMeasurer(before), before, made, machine, settled_share=1.0)
    DriftJournal(lease, machine.isa, lambda event: None)(check(agree=False))
    judged = subject.as_stored(made.run)
    assert judged.held_out == tuple(sorted(load_measurements(made), key=lambda each: each.experiment))
    assert judged.held_out != before
    assert judged.settled_share == 0.5
    assert subject.as_stored(Run(pk=0)) is subject, "sets of others are whole already"


def test_nothing_changes_once_the_run_is_somebody_elses(measured, machine):
    lease, made = measured
    type(made.run).objects.filter(pk=lease.run_id).update(lease_token=lease.token + 1)
    with pytest.raises(LeaseLostError):
        DriftJournal(lease, machine.isa, lambda event: None)(check(agree=True))
    assert {each.cycles for each in load_measurements(made)} == {1.0, 2.0}


@pytest.mark.parametrize(
    ("isa", "facts"),
    [(X86, {"flags": ["avx2"]}), (AARCH64, {"flags": ["asimd"]}), (X86, {"simulated": True})],
    ids=["x86-64", "AArch64", "simulated"],
)
def test_runs_on_every_kind_of_machine_watch_for_drift(
    measured, machine, monkeypatch: pytest.MonkeyPatch, isa: str, facts: dict
):
    lease, _ = measured
    monkeypatch.setattr(machine.isa, "name", isa)
    monkeypatch.setattr(machine, "facts", facts)
    built = []
    monkeypatch.setattr(measurer, "RemoteMeasurer", lambda *_, **options: built.append(options))
    reporter = SimpleNamespace(emit=print, pulse=print)
    task = SimpleNamespace(lease=lease, reporter=reporter, run=Run.objects.get(pk=lease.run_id))
    with measurer.agent_measurer(task, machine, []):
        pass
    (options,) = built
    assert isinstance(options["watch"], DriftWatch)
