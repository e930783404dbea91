"""Whether the numbers of a machine can be trusted: what is known of it, judged."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.features.machines.machines.trust import (
    KnownAnswer,
    drift_rounds,
    findings,
    known_answers,
    shares_by_set,
)
from inference.figures.noise import NoiseReading, disturbed_by_hour, disturbed_spans, trust_picture
from inference.models import ExperimentSet, Machine, Run, RunEvent
from inference.storage.instruction_sets import new_isa
from inference.storage.rows import store_measurements

NOW = timezone.now().replace(minute=30, second=0, microsecond=0)


@pytest.fixture
def machine(db: None) -> Machine:
    isa = new_isa("toy", ["add R, R", "mul R, R"], "by hand")
    return Machine.objects.create(name="lab", kind="agent", isa=isa)


def every_ten_seconds(states: str, noise: float = 0.004) -> list[NoiseReading]:
    words = {"i": "idle", "c": "contended"}
    return [
        NoiseReading(NOW + timedelta(seconds=10 * k), words[letter], noise, 3.0, 90.0)
        for k, letter in enumerate(states)
    ]


def drifted(machine: Machine, *verdicts: str) -> Run:
    run = Run.objects.create(name="measured", kind="measure", config={"machine": machine.pk})
    compared = [
        {
            "experiment": "add R, R",
            "before": 1.0,
            "after": [1.0 if verdict == "agrees" else 2.0],
            "verdict": verdict,
        }
        for verdict in verdicts
    ]
    RunEvent.objects.create(run=run, seq=1, kind="drift", payload={"compared": compared, "unanswered": 1})
    return run


def long_ago() -> datetime:
    return timezone.now() - timedelta(days=1)


def test_strips_have_a_line_per_number_that_was_told_and_shades_behind() -> None:
    picture = trust_picture(every_ten_seconds("iiiccciii"))
    assert picture is not None
    assert [(strip.label, strip.typical) for strip in picture.strips] == [
        ("Noise", 0.4),
        ("Clock", 3.0),
        ("Settled", 90.0),
    ]
    assert picture.strips[0].path.startswith("M0.0,")
    assert picture.strips[0].path.count("L") == 8
    ((shade),) = picture.shades
    assert (shade.state, shade.x, shade.width) == ("contended", 375.0, 375.0)


def test_no_line_crosses_a_gap_and_nothing_told_gives_no_strip() -> None:
    readings = every_ten_seconds("iii")
    later = [NoiseReading(each.at + timedelta(hours=1), each.state, 0.01) for each in readings]
    picture = trust_picture([*readings, *later])
    assert picture.strips[0].path.count("M") == 2
    assert trust_picture([]) is None
    assert [strip.label for strip in trust_picture([NoiseReading(NOW, "idle", 0.01)]).strips] == ["Noise"]


def test_disturbed_periods_and_hours() -> None:
    readings = every_ten_seconds("iciicci")
    spans = disturbed_spans(readings, 5)
    assert [(span.end - span.start).seconds for span in spans] == [20, 10]
    (hour,) = [each for each in disturbed_by_hour(readings) if each[2] is not None]
    assert hour == (NOW.hour, 7, 3 / 7)


def test_rounds_come_from_the_journals_of_its_runs(machine: Machine) -> None:
    run = drifted(machine, "agrees", "agrees", "doubted")
    other = Machine.objects.create(name="other", kind="agent", isa=machine.isa)
    (found,) = drift_rounds(machine, long_ago())
    assert (found.run_id, found.checked, found.unanswered, found.worst) == (run.pk, 3, 1, 1.0)
    assert [pair.verdict for pair in found.notable] == ["doubted"]
    assert drift_rounds(other, long_ago()) == []


def test_a_quiet_machine_that_holds_is_good(machine: Machine) -> None:
    drifted(machine, *["agrees"] * 50)
    told = findings(every_ten_seconds("i" * 50), drift_rounds(machine, long_ago()), [])
    assert {each.topic: each.verdict for each in told} == {
        "Noise": "good",
        "Disturbed": "good",
        "Drift": "good",
    }


def test_what_speaks_against_it_comes_first(machine: Machine) -> None:
    drifted(machine, *["agrees"] * 4, "doubted", "replaced")
    made = ExperimentSet.objects.create(
        name="some", isa=machine.isa, machine=machine, run=Run.objects.get(), origin=ExperimentSet.Origin.RUN
    )
    store_measurements(
        made,
        [
            Measured(Experiment.of(["add R, R"]), 1.0),
            Measured(Experiment.of(["mul R, R"]), 1.0, MeasurementState.UNSETTLED),
        ],
    )
    shares = shares_by_set(machine)
    assert shares[0].parts == [("settled", 1, 50.0), ("unsettled", 1, 50.0)]
    told = findings(every_ten_seconds("ic" * 5, noise=0.02), drift_rounds(machine, long_ago()), shares)
    verdicts = {each.topic: each.verdict for each in told}
    assert verdicts == {"Disturbed": "change", "Drift": "change", "Not settled": "change", "Noise": "mind"}
    assert told[-1].topic == "Noise"
    assert next(each for each in told if each.topic == "Drift").finding == (
        "4 of 5 results held, 1 contradicted twice"
    )


def test_known_answers_are_read_with_their_documented_times(machine: Machine) -> None:
    checks = {"additions": [0.26, 0.2], "unknown": [0.5, 0.5], "odd": "text"}
    machine.isa.name = "x86-64"
    machine.facts = {"checks": checks, "vendor": "AuthenticAMD", "family": 25, "model": 0x11}
    first, second = known_answers(machine)
    assert first.off_percent == pytest.approx(4)
    assert second == KnownAnswer("unknown", 0.5, None)
    assert second.off_percent is None


def test_an_undocumented_core_has_no_expected_times(machine: Machine) -> None:
    machine.isa.name = "x86-64"
    machine.facts = {"checks": {"additions": [0.167, 0.2]}, "vendor": "GenuineIntel", "family": 6, "model": 1}
    assert known_answers(machine) == [KnownAnswer("additions", 0.167, None)]


def test_additions_take_a_sixth_of_a_cycle_on_six_alus(machine: Machine) -> None:
    zen_5 = {"vendor": "AuthenticAMD", "family": 26, "model": 2}
    machine.isa.name = "x86-64"
    machine.facts = {"checks": {"additions": [0.1667, 0.2]}, **zen_5}
    assert known_answers(machine)[0].expected == pytest.approx(1 / 6)
