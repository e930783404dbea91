"""Classes whose members were hardly compared: said on the page, measured with one press."""

from __future__ import annotations

import json
import re

import pytest
from django.test import Client
from django.urls import reverse

from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping as Mapping
from inference.features.judging.findings.congruence import SUFFICIENT_COMPARISONS, congruence_of
from inference.features.learning.inferring.classes_section import FEW_COMPARED
from inference.models import ISA, ExperimentSet, PortMapping, Run, RunEvent
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import store_mapping
from inference.storage.rows import store_measurements
from tests.doors import agreed, printed
from tests.simulated import simulated_machine

TRUTH = Mapping(
    ("0", "1"), {"a x": ((1, 1),), "a y": ((1, 1),), "a z": ((1, 1),), "b x": ((2, 1),), "c x": ((3, 1),)}
)


@pytest.fixture
def isa(db: None) -> ISA:
    """Five schemes, three of them alike."""
    return new_isa("toy", TRUTH.usage, "a test")


@pytest.fixture
def row(isa: ISA) -> PortMapping:
    """A mapping of a run that compared one experiment of `a y`, and many of `a z`, with those of `a x`."""
    dataset = ExperimentSet.objects.create(name="recorded", isa=isa, origin="upload")
    pairs = [("a x", "b x"), ("a y", "b x"), ("a x", "c x")]
    store_measurements(dataset, [Measured(Experiment.of(pair), 1.0) for pair in pairs])
    config = {"algorithm": "pmevo", "source": {"datasets": [dataset.pk]}}
    run = Run.objects.create(kind="infer", name="inferred", state=Run.State.DONE, config=config)
    classes = [["a x", "a y", "a z"], ["b x"], ["c x"]]
    payload = {
        "schemes": 5,
        "classes": 3,
        "members": classes,
        "likeness": {"a y": [1, 0, 0.02], "a z": [FEW_COMPARED, 0, 0.01]},
    }
    RunEvent.objects.create(run=run, seq=1, kind="congruence", payload=payload)
    mapping = store_mapping("inferred", isa, TRUTH, origin=PortMapping.Origin.RUN, run=run)
    mapping.report = {"congruence_classes": classes}
    mapping.save()
    return mapping


def test_what_is_missing_are_pairs_with_the_same_others(row: PortMapping) -> None:
    found = congruence_of(row)
    (weak,) = found.weak
    assert (weak.scheme, weak.representative, weak.compared) == ("a y", "a x", 1)
    assert weak.pairs == (Experiment.of(["a y", "c x"]),)
    assert found.pairs == [Experiment.of(["a y", "c x"])]


def test_no_more_pairs_are_asked_for_than_are_enough(isa: ISA, row: PortMapping) -> None:
    row.report = {"congruence_classes": [["a x", "a y"], *([f"s{number}"] for number in range(30))]}
    (weak,) = congruence_of(row).weak
    partners = {scheme for pair in weak.pairs for scheme in pair.schemes} - {"a x", "a y"}
    assert len(partners) == SUFFICIENT_COMPARISONS - 1


def test_the_page_says_how_few_were_compared_and_measures_the_rest(
    visitor: Client, isa: ISA, row: PortMapping
) -> None:
    address = reverse("mapping", args=[row.pk])
    tab = visitor.get(address, {"tab": "classes"})
    members = {each.text: each for line in tab.context["class_lines"] for each in line.other_members}
    assert (members["a y"].few, members["a z"].few) == (True, False)
    assert [each.scheme for each in tab.context["weak"]] == ["a y"]
    button = reverse("mapping-classes-measure", args=[row.pk])
    assert button not in tab.text, "there is no machine"
    machine = simulated_machine(isa, TRUTH, seed=1)
    assert button in visitor.get(address, {"tab": "classes"}).text
    assert visitor.post(button, {"machine": 10**6}).status_code == 404
    answer = visitor.post(button, {"machine": machine.pk})
    run = Run.objects.get(kind="measure")
    assert answer.url == reverse("run", args=[run.pk])
    assert run.config["experiments"] == [str(Experiment.of(["a y", "c x"]))]


def test_programs_and_the_shell_are_told_the_same(visitor: Client, isa: ISA, row: PortMapping) -> None:
    found = agreed(visitor, f"/mappings/{row.pk}/congruence", "congruence", row.name)
    assert (found["known"], [each["scheme"] for each in found["weak"]]) == (True, ["a y"])
    assert re.search("a y +1  a x", printed("congruence", row.name))
    assert json.loads(printed("judge", f"mapping:{row.name}", "--view", "congruence", "--json")) == found
    machine = simulated_machine(isa, TRUTH, seed=1)
    address = f"/api/v1/mappings/{row.pk}/congruence/measurements"
    made = visitor.post(address, json.dumps({"machine": machine.pk}), content_type="application/json")
    assert made.status_code == 201, made.json()
    assert Run.objects.get(pk=made.json()["id"]).config["experiments"] == found["missing"]


def test_a_mapping_whose_run_is_gone_says_nothing_of_it(visitor: Client, row: PortMapping) -> None:
    row.run.delete()
    row.refresh_from_db()
    found = congruence_of(row)
    assert (found.likeness, found.weak) == ({}, ())
    assert visitor.get(reverse("mapping", args=[row.pk]), {"tab": "classes"}).status_code == 200
