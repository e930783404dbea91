"""Measuring on a machine in the browser: the form, and the buttons that start what is usual."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from inference.features.learning.inferring.algorithms import ALGORITHMS
from inference.models import Machine, Run
from tests.rows.lab import machine
from tests.rows.library import ADD

__all__ = ["machine"]

MEASURE = {"press": "start", "selection": "default", "plan": "pairs", "seed": "7", "name": "first"}


def test_measuring_is_started_with_what_was_asked(visitor: Client, machine: Machine):
    address = reverse("machine-measure", args=[machine.pk])
    answer = visitor.post(address, {**MEASURE, "plan": "mixes", "mixes": "30", "length": "4"})
    run = Run.objects.get()
    assert answer.headers["Location"] == reverse("run", args=[run.pk])
    assert (run.kind, run.name) == ("measure", "first")
    assert run.config["machine"] == machine.pk
    asked = {name: run.config[name] for name in ("schemes", "plan", "mixes", "length", "seed")}
    assert asked == {"schemes": "default", "plan": "mixes", "mixes": 30, "length": 4, "seed": 7}
    page = visitor.get(reverse("run", args=[run.pk])).text
    assert "30 of 4 instructions" in page
    assert reverse("machine", args=[machine.pk]) in page


def test_the_schemes_to_measure_can_be_searched_for(visitor: Client, machine: Machine):
    address = reverse("machine-measure", args=[machine.pk])
    visitor.post(address, {**MEASURE, "selection": "filter", "filter": "mnemonic:add"})
    config = Run.objects.get().config
    assert config["scheme_filter"] == "mnemonic:add"
    assert config["schemes"] == list(machine.isa.schemes.filter(text=ADD).values_list("pk", flat=True))


def test_the_estimate_follows_the_pace_of_the_machine(visitor: Client, machine: Machine):
    address = reverse("machine-measure", args=[machine.pk])
    wanted = visitor.post(
        address, {**MEASURE, "press": "estimate", "plan": "mixes", "mixes": "800", "length": "5"}
    )
    estimate = wanted.context["estimate"]
    assert (estimate.schemes, estimate.effort.experiments, estimate.effort.seconds) == (2, 800, 10.0)
    assert not estimate.note
    Machine.objects.update(rate=None)
    assert "guess" in visitor.post(address, {**MEASURE, "press": "estimate"}).context["estimate"].note
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"selection": "filter", "filter": ""}, "filter", "Write what to search"),
        ({"selection": "filter", "filter": "colour:red"}, "filter", "mnemonic"),
        (
            {"selection": "filter", "filter": "nosuchscheme"},
            "selection",
            "lab can measure none of these schemes",
        ),
        ({"plan": "mixes"}, "mixes", "Enter the number of mixes"),
        ({"plan": "mixes", "mixes": "5", "length": "99"}, "length", "less than or equal to 50"),
        ({"plan": "all"}, "plan", "not one of the available"),
        ({"seed": ""}, "seed", "required"),
    ],
)
def test_a_wrong_value_is_refused_at_its_field(
    visitor: Client, machine: Machine, change: dict[str, str], field: str, words: str
):
    answer = visitor.post(reverse("machine-measure", args=[machine.pk]), {**MEASURE, **change})
    assert answer.status_code == 400
    assert words in str(answer.context["form"].errors[field])
    assert not Run.objects.exists()


def test_a_machine_that_never_connected_cannot_be_measured(visitor: Client, machine: Machine):
    Machine.objects.update(facts={}, state="", last_seen=None, session=0)
    address = reverse("machine-measure", args=[machine.pk])
    assert "never connected" in visitor.get(address).text
    assert visitor.post(address, MEASURE).status_code == 400
    assert not Run.objects.exists()


def test_one_button_measures_this_computer(visitor: Client, machine: Machine):
    Machine.objects.update(local=True)
    address = reverse("measure-this-computer")
    answer = visitor.post(address)
    run = Run.objects.get()
    assert answer.headers["Location"] == reverse("run", args=[run.pk])
    assert (run.name, run.kind) == ("Zen 3 · starter set · PMEvo", "infer")
    assert run.config["source"] == {"machine": machine.pk}
    assert (run.config["schemes"], run.config["bottleneck"]) == ("starter", True)
    assert run.config["ports"] is None
    assert visitor.post(address).headers["Location"] == answer.headers["Location"]
    assert Run.objects.count() == 1


def test_one_button_finds_the_ports_of_a_machine(visitor: Client, machine: Machine):
    page = reverse("machine", args=[machine.pk])
    address = reverse("find-ports", args=[machine.pk])
    assert f'action="{address}"' in visitor.get(page).text
    answer = visitor.post(address)
    run = Run.objects.get()
    assert answer.headers["Location"] == reverse("run", args=[run.pk])
    assert (run.config["algorithm"], run.config["schemes"], run.config["ports"]) == ("cegar", "probes", None)
    usual = ALGORITHMS["cegar"].settings().as_json()
    del usual["ports"]  # beside the settings
    assert run.config["settings"] == usual, "as in the shell"
    assert visitor.post(address).headers["Location"] == answer.headers["Location"]
    assert Run.objects.count() == 1
    assert visitor.get(answer.headers["Location"]).status_code == 200


def test_the_instructions_of_a_machine_are_explained_from_the_form(visitor: Client, machine: Machine):
    text = visitor.get(reverse("machine", args=[machine.pk])).text
    assert f"{reverse('infer')}?algorithm=explain&amp;machine={machine.pk}" in text
    form = visitor.get(reverse("infer"), {"algorithm": "explain", "machine": machine.pk}).context["form"]
    assert form.offer.key == "explain"
    assert (form["selection"].value(), form["set_ports"].value()) == ("default", "")
    Machine.objects.update(state="unfit", state_note="no chain of known length")
    assert "algorithm=explain" not in visitor.get(reverse("machine", args=[machine.pk])).text


def test_the_ports_of_a_machine_that_cannot_measure_are_not_looked_for(visitor: Client, machine: Machine):
    Machine.objects.update(state="unfit", state_note="no chain of known length")
    answer = visitor.post(reverse("find-ports", args=[machine.pk]), follow=True)
    assert "The run was not started" in answer.text
    assert "no chain of known length" in answer.text
    assert not Run.objects.exists()


@pytest.mark.parametrize("changes", [{"local": False}, {"last_seen": None}, {"state": "unfit"}])
def test_a_computer_that_cannot_be_measured_now_starts_nothing(
    visitor: Client, machine: Machine, changes: dict[str, Any]
):
    Machine.objects.update(**{"local": True, **changes})
    answer = visitor.post(reverse("measure-this-computer"), follow=True)
    assert "The run was not started" in answer.text
    assert not Run.objects.exists()
