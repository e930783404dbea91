"""Runs that infer a core's scheduler, and what pages, API and shell say of it."""

from __future__ import annotations

import json
from functools import partial
from itertools import count

import pytest
from django.test import Client
from django.urls import reverse

from inference.core.core_model.scheduler_experiments import scheduler_experiments
from inference.core.pacing import PacedReporter
from inference.features.learning.core_model.storing import store_document
from inference.features.learning.scheduler import job
from inference.formats.core_model_json import core_model_json, read_core_model
from inference.isa.x86.scheme_set import scheme_and_form
from inference.measuring.simulated import SimulatedProcessor
from inference.models import ExperimentSet, Machine, Run, StoredCoreModel
from inference.runs import lifecycle
from inference.runs.errors import ConfigError
from inference.storage.core_models import core_model_of
from inference.storage.instruction_sets import new_isa, store_isa
from inference.storage.rows import store_measurements
from tests.core.core_model.test_scheduler_inference import CORE, KINDS, MODEL, PORTS
from tests.doors import agreed
from tests.rows.library import visitor
from tests.simulated import simulated_machine
from tests.work import work_off

__all__ = ["visitor"]


@pytest.fixture
def machine(db: None) -> Machine:
    """It wastes nothing."""
    found = [scheme_and_form(text) for text in PORTS.usage]
    isa = store_isa("x86-64", [one[0] for one in found if one is not None], "a test")
    return simulated_machine(isa, PORTS)


@pytest.fixture
def row(machine: Machine) -> StoredCoreModel:
    document = core_model_json(MODEL, name="lab", isa="x86-64")
    return store_document(read_core_model(json.dumps(document)), "lab")


@pytest.fixture
def recorded(row: StoredCoreModel) -> ExperimentSet:
    """What a core that wastes took for the mixes."""
    made = ExperimentSet.objects.create(name="recorded", isa=row.isa)
    chosen = [one.experiment for one in scheduler_experiments(KINDS)]
    store_measurements(made, SimulatedProcessor(PORTS, core=CORE, noise=0.005).measure(chosen))
    return made


def test_a_set_that_shows_a_scheduler_gives_the_core_model_one(
    visitor: Client, row: StoredCoreModel, recorded: ExperimentSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each look at the clock is a twentieth of a second: the search tries some forty policies.
    monkeypatch.setattr(job, "PacedReporter", partial(PacedReporter, clock=count(step=0.05).__next__))
    config = {"core_model": row.pk, "experiment_set": recorded.pk, "seconds": 5}
    run = lifecycle.submit("scheduler", config, "its scheduler")
    assert work_off(run).state == Run.State.DONE, run.error
    row.refresh_from_db()
    model = core_model_of(row)
    assert model.scheduler is not None
    assert (model.scheduler.width, model.scheduler.ports) == (8, 0b111111)
    assert model.sources["scheduler"] == "recorded"
    assert (run.result["core_model"], run.result["found"], run.result["reason"]) == (row.pk, True, "")
    assert run.result["error"] < 0.03 < run.result["error_without"]

    page = visitor.get(reverse("core-model", args=[row.pk]))
    assert "8 slots are dispatched per cycle." in page.text
    assert "A good fit is no evidence for the mechanism" in page.text
    assert "It was not judged on code with dependences: a set has no such code." in page.text
    assert page.text.count("chooses</td>") + page.text.count("judges</td>") == 12
    assert "lab" in visitor.get(reverse("run", args=[run.pk])).text
    answer = agreed(visitor, f"/core-models/{row.pk}/scheduler", "scheduler", "lab", "--show")
    assert answer["scheduler"]["width"] == 8
    assert len(answer["experiments"]) == run.result["experiments"] > 50
    assert all(one["simulated"] for one in answer["experiments"])

    # A record from before blocks is read, and says that it was not judged.
    row.scheduler = {
        key: value for key, value in row.scheduler.items() if key not in {"blocks", "code", "unjudged"}
    }
    row.save()
    assert core_model_of(row).scheduler is not None
    answer = visitor.get(f"/api/v1/core-models/{row.pk}/scheduler").json()
    assert (answer["blocks"], answer["code"], answer["unjudged"]) == ([], None, "")
    assert "It was not judged on code with dependences." in answer["words"]


def test_a_machine_that_wastes_nothing_gives_none_and_the_reason(
    visitor: Client, row: StoredCoreModel, machine: Machine
) -> None:
    run = lifecycle.submit("scheduler", {"core_model": row.pk, "machine": machine.pk}, "its scheduler")
    assert work_off(run).state == Run.State.DONE, run.error
    assert (run.result["found"], run.result["finished"]) == (False, True)
    row.refresh_from_db()
    assert core_model_of(row).scheduler is None
    measured = ExperimentSet.objects.get(run=run)
    # Beside those that count slots.
    assert measured.measurements.count() >= run.result["experiments"] > 50
    assert "no scheduler explains" in visitor.get(reverse("core-model", args=[row.pk])).text
    answer = visitor.get(f"/api/v1/core-models/{row.pk}/scheduler").json()
    assert answer["scheduler"] is None
    assert answer["reason"].startswith("no scheduler explains")


def test_where_nobody_looked_it_is_said(visitor: Client, row: StoredCoreModel) -> None:
    assert visitor.get(f"/api/v1/core-models/{row.pk}/scheduler").json()["reason"] == "it was not inferred"
    assert "Scheduler</h2>" not in visitor.get(reverse("core-model", args=[row.pk])).text


def test_a_description_names_a_core_model_and_one_source(
    row: StoredCoreModel, machine: Machine, recorded: ExperimentSet
) -> None:
    toy = ExperimentSet.objects.create(name="other", isa=new_isa("toy", ["a"], "a test"))
    for config, said in (
        ({"core_model": row.pk}, "give either a machine"),
        (
            {"core_model": row.pk, "machine": machine.pk, "experiment_set": recorded.pk},
            "give either a machine",
        ),
        ({"core_model": 0, "machine": machine.pk}, "core_model"),
        ({"core_model": row.pk, "experiment_set": toy.pk}, "'other' is for toy"),
        ({"core_model": row.pk, "machine": machine.pk, "seconds": 1}, "seconds"),
    ):
        with pytest.raises(ConfigError, match=said):
            lifecycle.submit("scheduler", config, "its scheduler")
