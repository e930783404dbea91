"""Choices of the form for runs on a machine, and its estimates."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from inference.core.pmevo.estimate import planned_experiments
from inference.core.pmevo.settings import PMEvoSettings
from inference.models import ISA, Machine, Run
from inference.runs.estimates import completed


def test_a_machine_is_offered_with_its_state_and_with_what_suits_it(visitor: Client, machine: Machine):
    Machine.objects.create(name="new", kind="agent", isa=machine.isa)
    answer = visitor.get(f"/infer/?machine={machine.pk}")
    lab, new = answer.context["machines"]
    assert (lab.picked, lab.selection, lab.obstacle) == (True, "starter", "")
    assert "never connected" in new.obstacle
    form = answer.context["form"]
    assert (form["source"].value(), form["selection"].value()) == ("machine", "starter")
    assert form.ports.value() == ""  # what is documented names the core, the data say how many ports
    for words in ("Zen 3", "offline", "Measure the bottleneck rate first"):
        assert words in answer.text


def test_an_inference_on_a_machine_measures_its_bottleneck_unless_told_otherwise(
    visitor: Client, answers: dict[str, Any], machine: Machine
):
    asked = {**answers, "source": "machine", "machine": machine.pk, "selection": "default"}
    for name, box in (("with", {"bottleneck": "on"}), ("without", {})):
        visitor.post("/infer/", {**asked, "name": name, **box})
    configs = dict(Run.objects.values_list("name", "config"))
    assert configs["with"]["source"] == {"machine": machine.pk}
    assert configs["with"]["bottleneck"] is True
    assert configs["without"]["bottleneck"] is False
    again = visitor.get(f"/infer/?from={Run.objects.get(name='without').pk}").context["form"]
    assert again["bottleneck"].value() is False
    assert again["machine"].value() == machine.pk


def test_a_sample_of_a_machine_s_schemes_can_be_asked_for(
    visitor: Client, answers: dict[str, Any], machine: Machine
):
    asked = {**answers, "source": "machine", "machine": machine.pk, "name": "one", "sample": "1"}
    assert visitor.post("/infer/", {**asked, "press": "estimate"}).context["estimate"].schemes == 1
    visitor.post("/infer/", asked)
    run = Run.objects.get(name="one")
    assert run.config["sample"] == 1
    assert visitor.get(f"/infer/?from={run.pk}").context["form"]["sample"].value() == 1


def test_the_estimate_reckons_with_the_pace_of_the_machine(
    visitor: Client, answers: dict[str, Any], machine: Machine
):
    asked = {**answers, "press": "estimate", "source": "machine", "machine": machine.pk}
    wanted = visitor.post("/infer/", asked).context["estimate"]
    assert (wanted.schemes, wanted.held_out) == (2, 1000)
    assert wanted.experiments == planned_experiments(2, PMEvoSettings())
    assert wanted.measuring == pytest.approx((wanted.experiments + 1000) / 20)
    assert wanted.seconds > wanted.measuring
    assert "recently measured 20 experiments per second" in wanted.note


def test_the_estimate_rests_on_earlier_runs_like_it(
    visitor: Client, answers: dict[str, Any], machine: Machine
):
    asked = {**answers, "press": "estimate", "source": "machine", "machine": machine.pk}
    config = completed("infer", visitor.post("/infer/", asked).context["estimate"].config)
    Run.objects.create(name="earlier", kind="infer", state=Run.State.DONE, config=config, busy_seconds=40)
    wanted = visitor.post("/infer/", asked).context["estimate"]
    assert (wanted.seconds, wanted.note) == (40, "As the last such run on this computer took.")
    assert wanted.measuring <= 40


def test_a_machine_that_cannot_be_asked_is_refused_with_the_reason(
    visitor: Client, answers: dict[str, Any], machine: Machine
):
    Machine.objects.update(state="unfit", state_note="code pages are forbidden")
    response = visitor.post("/infer/", {**answers, "source": "machine", "machine": machine.pk})
    assert response.status_code == 400
    assert "code pages are forbidden" in str(response.context["form"].errors["machine"])
    assert not Run.objects.exists()


def test_of_a_real_machine_exact_inference_begins_with_the_probes(visitor: Client, isa: ISA):
    facts = {"vendor": "AuthenticAMD", "family": 25, "model": 1}
    machine = Machine.objects.create(name="lab", kind="agent", isa=isa, facts=facts)
    form = visitor.get("/infer/", {"algorithm": "cegar", "machine": machine.pk}).context["form"]
    assert (form["selection"].value(), form.ports.value()) == ("probes", "")
    form = visitor.get("/infer/", {"machine": machine.pk}).context["form"]
    assert (form["selection"].value(), form.ports.value()) == ("starter", "")
