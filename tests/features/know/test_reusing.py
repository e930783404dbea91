"""Which earlier results a profile takes, and which it measures again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from inference.core.events import StateChanged
from inference.features.learning.know.query import complete_config, part_outcomes
from inference.features.learning.know.request import STAGES, KnowConfig
from inference.features.learning.know.reusing import MAX_AGE_DAYS, reusable_runs
from inference.isa.x86.scheme_set import scheme_and_form
from inference.models import ExperimentSet, LatencySet, Machine, MeasuredFrontEnd, PortMapping, Run, RunEvent
from inference.runs import lifecycle
from inference.runs.leases import MICROCODE, STOPPED, versions
from inference.runs.machines.measurer import identity_of
from inference.storage.instruction_sets import store_isa
from tests.rows.library import visitor

__all__ = ["visitor"]

SCHEMES = ("add GPR[64]:RW, GPR[64]:R", "imul GPR[64]:RW, GPR[64]:R")
FACTS = {"version": "9", "blocks": True, MICROCODE: "0x7", "flags": ["sse2"]}
MEASURED = {"latencies", "front_end", "ports", "explained"}


@pytest.fixture
def machine(db: None) -> Machine:
    entries = [entry for entry in map(scheme_and_form, SCHEMES) if entry is not None]
    isa = store_isa("x86-64", [scheme for scheme, _ in entries], "a test")
    row = Machine.objects.create(name="lab", kind="agent", isa=isa, cpu="A CPU", facts=FACTS, noise=0.002)
    for seconds in range(0, 600, 10):
        row.readings.create(at=timezone.now() - timedelta(seconds=seconds), state="idle", noise=0.002)
    return row


def measured(machine: Machine) -> dict[str, Run]:
    """Finished parts of an earlier profile, with their results."""
    runs = {}
    for number, stage in enumerate(STAGES):
        config = complete_config(machine, KnowConfig(machine=machine.pk, schemes="default"), stage)
        began = timezone.now() - timedelta(seconds=300 - 20 * number)
        run = Run.objects.create(
            name=stage.label, kind=stage.kind, config=config, state="done", busy_seconds=50.0,
            started=began, finished=began + timedelta(seconds=10), result={"name": stage.label, "url": "/"},
        )  # fmt: skip
        running = StateChanged("running", versions={**versions(), MICROCODE: "0x7"})
        RunEvent.objects.create(run=run, seq=1, kind=running.kind, payload=running.payload())
        identity = identity_of(machine)
        row = {"name": stage.label, "isa": machine.isa, "machine": machine, "run": run}
        if stage.kind == "infer":
            ExperimentSet.objects.create(**row, origin="run", identity=identity)
            PortMapping.objects.create(**row, origin="run", ports=["0"])
        elif stage.kind == "latencies":
            LatencySet.objects.create(**row, identity=identity)
        elif stage.kind == "front-end":
            MeasuredFrontEnd.objects.create(**row, readings=[], identity=identity)
        for model in (LatencySet, MeasuredFrontEnd):
            model.objects.filter(run=run).update(created=run.finished)
        runs[stage.name] = run
    return runs


def reused(machine: Machine, schemes: str = "default", *, measure_again: bool = False) -> set[str]:
    config = KnowConfig(machine=machine.pk, schemes=schemes, measure_again=measure_again)
    return set(reusable_runs(machine, config))


def test_what_was_measured_in_the_same_way_is_not_measured_again(machine: Machine) -> None:
    measured(machine)
    assert reused(machine) == MEASURED, "the scheduler rests on the mapping that is chosen then"
    assert reused(machine, measure_again=True) == set()


def test_other_schemes_reuse_the_front_end_alone(machine: Machine) -> None:
    measured(machine)
    assert reused(machine, "starter") == {"front_end"}


def _other_agent(machine: Machine) -> None:
    machine.facts = {**FACTS, "version": "10"}


def _other_microcode(machine: Machine) -> None:
    machine.facts = {**FACTS, MICROCODE: "0x8"}


def _other_processor(machine: Machine) -> None:
    machine.cpu = "Another CPU"


def _noisy_now(machine: Machine) -> None:
    machine.readings.filter(at__gte=timezone.now() - timedelta(seconds=130)).update(noise=0.05)


def _noisy_then(machine: Machine) -> None:
    machine.readings.filter(at__lt=timezone.now() - timedelta(seconds=130)).update(noise=0.05)


def _without_readings(machine: Machine) -> None:
    machine.readings.all().delete()


def _old(_machine: Machine) -> None:
    Run.objects.update(started=timezone.now() - timedelta(days=MAX_AGE_DAYS, hours=1))


def _other_program(_machine: Machine) -> None:
    RunEvent.objects.update(payload={"state": "running", "versions": {**versions(), "pmweb": "0.1"}})


def _stopped(_machine: Machine) -> None:
    Run.objects.update(result={STOPPED: True})


@pytest.mark.parametrize(
    "change",
    [
        _other_agent, _other_microcode, _other_processor, _noisy_now, _noisy_then, _without_readings, _old,
        _other_program, _stopped,
    ],
)  # fmt: skip
def test_anything_else_is_measured_again(machine: Machine, change: Callable[[Machine], None]) -> None:
    measured(machine)
    change(machine)
    assert reused(machine) == set()


def test_ports_are_inferred_again_after_their_basis(machine: Machine) -> None:
    runs = measured(machine)
    MeasuredFrontEnd.objects.filter(run=runs["front_end"]).update(created=timezone.now())
    assert reused(machine) == {"latencies", "front_end"}
    LatencySet.objects.all().delete()
    assert reused(machine) == {"front_end"}


def test_the_form_and_the_run_say_what_is_reused_and_what_that_saves(
    visitor: Client, machine: Machine
) -> None:
    runs = measured(machine)
    address = reverse("know", args=[machine.pk])
    page = visitor.get(address)
    whole = page.context["estimate"].cost
    assert whole.saved == pytest.approx(4 * 50.0)
    assert whole.time.total.likely == pytest.approx(50.0), "that of the scheduler is left"
    assert "Reusing saves about 3 min" in page.text
    again = visitor.post(address, {"selection": "default", "measure_again": "on", "press": "estimate"})
    assert again.context["estimate"].cost.saved == 0
    run = lifecycle.submit("know", {"machine": machine.pk, "schemes": "default"}, "core")
    assert run.config["reused"] == {name: runs[name].pk for name in MEASURED}
    outcomes = {outcome.name: outcome for outcome in part_outcomes(run)}
    assert {name for name, outcome in outcomes.items() if outcome.is_reused} == MEASURED
    text = visitor.get(reverse("run", args=[run.pk])).text
    assert "reused, saves about 50 s" in text
    runs["latencies"].delete()
    assert not {outcome.name: outcome for outcome in part_outcomes(run)}["latencies"].is_reused
