"""Front ends from the button on a machine's page to the numbers, for programs and in the shell too."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from inference.core.mapping import PortMapping as Mapping
from inference.features.learning.front_end.query import front_end_of
from inference.isa.x86.scheme_set import scheme_and_form
from inference.measuring.simulated_front_end import SimulatedFrontEnd
from inference.models import Machine, MeasuredFrontEnd, Run
from inference.runs import lifecycle
from inference.runs.errors import ConfigError
from inference.storage.instruction_sets import new_isa, store_isa
from tests.doors import printed
from tests.rows.library import visitor
from tests.simulated import simulated_machine
from tests.work import work_off

__all__ = ["visitor"]

ADD = "add GPR[64]:RW, GPR[64]:R"
SEED = 5


@pytest.fixture
def machine(db: None) -> Machine:
    found = scheme_and_form(ADD)
    assert found is not None
    isa = store_isa("x86-64", [found[0]], "a test")
    return simulated_machine(isa, Mapping(("0",), {ADD: ((1, 1),)}), seed=SEED)


@pytest.fixture
def measured(machine: Machine) -> MeasuredFrontEnd:
    run = lifecycle.submit("front-end", {"machine": machine.pk}, "its front end")
    assert work_off(run).state == Run.State.DONE, run.error
    return MeasuredFrontEnd.objects.get()


def test_the_button_starts_one_run_and_the_machine_shows_what_it_found(
    visitor: Client, machine: Machine
) -> None:
    address = reverse("front-end-measure", args=[machine.pk])
    assert address in visitor.get(reverse("machine", args=[machine.pk])).text
    first = visitor.post(address)
    run = Run.objects.get(kind="front-end")
    assert first["Location"] == visitor.post(address)["Location"] == reverse("run", args=[run.pk])
    assert work_off(run).state == Run.State.DONE
    made = MeasuredFrontEnd.objects.get()
    page = visitor.get(reverse("machine", args=[machine.pk])).text
    assert reverse("front-end", args=[made.pk]) in page
    assert "Slots per cycle" in page
    assert reverse("front-end", args=[made.pk]) in visitor.get(reverse("run", args=[run.pk])).text


def test_a_run_finds_the_front_end_of_the_machine(measured: MeasuredFrontEnd) -> None:
    core = SimulatedFrontEnd.sampled(SEED)
    found = front_end_of(measured)
    assert found.number("slots").value == pytest.approx(core.slots, rel=0.01)
    assert found.number("straight_bytes").value == pytest.approx(core.fetched_bytes, rel=0.01)
    assert found.number("loop_capacity").value == core.capacity


def test_what_an_agent_simulates_has_a_front_end_too(machine: Machine) -> None:
    machine.kind, machine.facts = Machine.Kind.AGENT, {"simulated": True}
    machine.save()
    run = lifecycle.submit("front-end", {"machine": machine.pk}, "of a simulation")
    assert work_off(run).state == Run.State.DONE, run.error
    assert MeasuredFrontEnd.objects.get().machine == machine


def test_pages_show_numbers_with_their_codes_and_pairs(visitor: Client, measured: MeasuredFrontEnd) -> None:
    page = visitor.get(reverse("front-end", args=[measured.pk]))
    assert next(number.name for number, _ in page.context["numbers"]) == "slots"
    assert all(codes for number, codes in page.context["numbers"] if number.name != "fused")
    fused = [pair for _, row in page.context["comparisons"] for pair in row if pair and pair.is_fused]
    assert {pair.name.split()[0] for pair in fused} == SimulatedFrontEnd.sampled(SEED).fused
    assert measured.name in visitor.get(reverse("front-ends")).text
    assert "No front end has" in visitor.get(reverse("front-ends"), {"q": "no such name"}).text


def test_an_instruction_set_without_machine_code_is_refused(db: None) -> None:
    toy = new_isa("toy", ["a"], "a test")
    other = simulated_machine(toy, Mapping(("0",), {"a": ((1, 1),)}))
    with pytest.raises(ConfigError):
        lifecycle.submit("front-end", {"machine": other.pk}, "of nothing")


def test_it_is_renamed_and_deleted_and_keeps_its_machine(visitor: Client, measured: MeasuredFrontEnd) -> None:
    assert visitor.post(reverse("machine-delete", args=[measured.machine_id])).status_code == 409
    visitor.post(reverse("front-end-edit", args=[measured.pk]), {"name": "renamed", "note": ""})
    measured.refresh_from_db()
    assert measured.name == "renamed"
    visitor.post(reverse("front-end-delete", args=[measured.pk]))
    assert not MeasuredFrontEnd.objects.exists()


def test_programs_read_numbers_and_pairs(visitor: Client, measured: MeasuredFrontEnd) -> None:
    found = visitor.get(f"/api/v1/front-ends/{measured.pk}").json()
    numbers = {number["name"]: number for number in found["numbers"]}
    assert numbers["slots"]["value"] == pytest.approx(SimulatedFrontEnd.sampled(SEED).slots, rel=0.01)
    assert numbers["slots"]["codes"][0]["loop"]
    branches = [pair for pair in found["fusion"] if " + j" in pair["pair"]]
    assert {pair["pair"].split()[0] for pair in branches if pair["fused"]} == (
        SimulatedFrontEnd.sampled(SEED).fused
    )
    moves = [pair["pair"] for pair in found["fusion"] if pair not in branches and pair["fused"]]
    assert {name.partition(" + ")[2].split()[0] for name in moves} == SimulatedFrontEnd.sampled(SEED).moved


def test_the_shell_shows_what_was_measured(measured: MeasuredFrontEnd) -> None:
    shown = printed("front_end", "--show", measured.name)
    assert f"Slots per cycle: {SimulatedFrontEnd.sampled(SEED).slots:.2f}" in shown
