"""The plan that counts issue slots, and what mappings of the same machine then have against them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.test import Client
from django.urls import reverse

from inference.core.mapping import PortMapping as Value
from inference.core.measured_slots import padding_of
from inference.core.misfits import Doubt, DoubtKind
from inference.features.judging.findings.doubts import doubts_of
from inference.features.judging.findings.evidence import experiments_of_doubt
from inference.features.library.mappings.query import measured_slots_of
from inference.features.machines.measure.request import estimate_effort
from inference.models import ExperimentSet, Machine, PortMapping
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import store_mapping
from inference.storage.rows import load_measurements
from tests.runs.agents import do
from tests.simulated import simulated_machine

pytestmark = pytest.mark.django_db

PADDING = padding_of("x86-64")
assert PADDING is not None
assert PADDING.exchange is not None
MOVE, EXCHANGE = PADDING.move, PADDING.exchange
ADD, XADD = "add GPR[64]:RW, GPR[64]:R", "xadd GPR[64]:RW, GPR[64]:RW"
TRUTH = Value(
    ("0", "1"),
    {MOVE: (), EXCHANGE: (), ADD: ((0b11, 1),), XADD: ((0b11, 1),)},
    r_max=5.0,
    issue_width=6.0,
    slots={EXCHANGE: 2, XADD: 3},
)


def machine_of(truth: Value, name: str = "x86-64") -> Machine:
    return simulated_machine(new_isa(name, truth.usage, "a test"), truth)


def count_slots(machine: Machine):
    return do("measure", {"machine": machine.pk, "schemes": "all", "plan": "slots"})


def doubts_about(machine: Machine, value: Value) -> list[Doubt]:
    name = f"mapping {PortMapping.objects.count()}"
    row = store_mapping(name, machine.isa, value, origin=PortMapping.Origin.RUN, machine=machine)
    return [each for each in doubts_of(row).rows if each.kind is DoubtKind.SLOTS]


def test_each_scheme_is_measured_among_moves_and_exchanges() -> None:
    machine = machine_of(TRUTH)
    run = count_slots(machine)
    assert run.state == "done", run.error
    asked = {m.experiment for m in load_measurements(ExperimentSet.objects.get())}
    assert asked >= {*PADDING.calibration(), *PADDING.around(ADD), *PADDING.around(XADD)}
    assert run.result["experiments"] == len(asked)
    assert estimate_effort(machine, 2, "slots").experiments >= len(asked) - len(PADDING.calibration())


def test_a_mapping_with_other_slots_is_doubted() -> None:
    machine = machine_of(TRUTH)
    count_slots(machine)
    assert doubts_about(machine, TRUTH) == []
    (doubt,) = doubts_about(machine, replace(TRUTH, slots={**TRUTH.slots, XADD: 1}))
    assert (doubt.scheme, doubt.size) == (XADD, 2.0)
    assert set(experiments_of_doubt(PortMapping.objects.latest("pk"), doubt)) >= set(PADDING.around(XADD))
    assert doubt.words.startswith("3 slots measured, 1 here: ")
    (more,) = doubts_about(machine, replace(TRUTH, slots={**TRUTH.slots, ADD: 2}))
    assert more.words.startswith("1 slot measured, 2 here: ")
    assert doubts_about(machine, replace(TRUTH, issue_width=None)) == [], "slots count nothing there"


def test_the_page_shows_the_doubt_and_what_was_measured(visitor: Client) -> None:
    machine = machine_of(TRUTH)
    count_slots(machine)
    doubts_about(machine, replace(TRUTH, slots={XADD: 1}))
    row = PortMapping.objects.get()
    page = visitor.get(reverse("mapping", args=[row.pk]), {"tab": "doubts", "kind": "slots"})
    assert "3 slots measured" in page.content.decode()
    measured = measured_slots_of(row)
    assert measured is not None
    assert measured.width == pytest.approx(6.0)
    found = visitor.get(f"/api/v1/mappings/{row.pk}/doubts", {"kind": "slots"})
    assert [each["scheme"] for each in found.json()["items"]] == [XADD]


def test_without_padding_the_run_says_why() -> None:
    run = count_slots(machine_of(replace(TRUTH, usage={ADD: TRUTH.usage[ADD]}, slots={})))
    assert run.state == "failed"
    assert MOVE in run.error


def test_instruction_sets_without_known_padding_are_refused() -> None:
    run = count_slots(machine_of(TRUTH, "toy"))
    assert run.state == "failed"
    assert "toy" in run.error
