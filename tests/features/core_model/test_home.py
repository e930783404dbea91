"""A CPU's home: sections with content, what is missing with its button, what contradicts, recorded cores."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from inference.core.mapping import PortMapping as Mapping
from inference.features.learning.core_model.missing import MEASURABLE_PARTS
from inference.features.learning.core_model.storing import store_document, store_parts
from inference.features.library.gallery.query import recorded_cores
from inference.formats.core_model_json import read_core_model
from inference.isa.x86.scheme_set import schemes_of
from inference.models import InstructionScheme, Machine, PortMapping, Run, SchemeConflict, StoredCoreModel
from inference.storage.exporting import CORE_MODEL_EXPORTS
from inference.storage.instruction_sets import store_isa
from inference.storage.mappings import store_mapping
from inference.storage.names import machine_label
from tests.rows.library import visitor
from tests.simulated import simulated_machine
from tests.work import work_off

__all__ = ["visitor"]

ADD, SHIFT, IMUL = (
    "add GPR[64]:RW, GPR[64]:R",
    "shl GPR[64]:RW, IMM[8]:R",
    "imul GPR[64]:RW, GPR[64]:R",
)
TRUTH = Mapping(("0", "1", "2"), {ADD: ((0b111, 1),), SHIFT: ((0b110, 1),), IMUL: ((0b010, 1),)})


@pytest.fixture
def model(db: None) -> StoredCoreModel:
    """Ports alone, of a simulated machine."""
    isa = store_isa("x86-64", [*schemes_of("add"), *schemes_of("shl"), *schemes_of("imul")], "some")
    machine = simulated_machine(isa, TRUTH, "box", seed=1)
    mapping = store_mapping("its ports", isa, TRUTH, origin=PortMapping.Origin.RUN, machine=machine)
    return store_parts("lab", mapping, None, None)


def home(visitor: Client, model: StoredCoreModel):
    page = visitor.get(reverse("core-model", args=[model.pk]))
    assert page.status_code == 200
    return page


def test_it_shows_what_there_is_and_no_empty_sections(visitor: Client, model: StoredCoreModel) -> None:
    page = home(visitor, model)
    assert [section.key for section in page.context["sections"]] == []
    assert page.context["scheduler"] is None
    assert not page.context["contradictions"]
    assert {"Front end</h2>", "Memory</h2>", "What contradicts it", "Scheduler</h2>"}.isdisjoint(
        page.text.split(">", 1)
    )
    assert [text for text, _ in page.context["limits"]][:2] == [
        "latencies not measured",
        "front end not measured",
    ]


def test_kinds_that_share_ports_compete(visitor: Client, model: StoredCoreModel) -> None:
    page = home(visitor, model)
    rows = {line.names: [cell.text for cell in line.cells] for line in page.context["competition"]}
    assert rows == {"ALU": [], "shift": ["+67 %"], "multiply": ["+33 %", "+50 %"]}
    assert page.context["competing"][0] == (
        "Shift shares its 2 ports with ALU: a cycle’s work of each takes 1.7 cycles together."
    )
    summary = visitor.get(f"/api/v1/core-models/{model.pk}/summary").json()
    assert [pair["together"] for pair in summary["competition"]] == [1.6667, 1.5, 1.3333]
    assert summary["competition"][1]["shared"] == ["1"]
    assert [kind["typical"] for kind in summary["kinds"]] == [ADD, SHIFT, IMUL]
    assert "front end not measured" in summary["limits"]


def test_a_missing_part_is_measured_and_then_taken(visitor: Client, model: StoredCoreModel) -> None:
    address = reverse("core-model-measure", args=[model.pk])
    parts = [part.part for part in home(visitor, model).context["missing"].parts]
    assert parts[:3] == ["latencies", "front-end", "scheduler"]
    visitor.post(address, {"part": "front-end"})
    run = Run.objects.get(kind="front-end")
    assert work_off(run).state == Run.State.DONE, run.error
    page = home(visitor, model)
    (button,) = [part.button for part in page.context["missing"].parts if part.part == "front-end"]
    assert button.startswith("Take ")
    visitor.post(address, {"part": "front-end"})
    model.refresh_from_db()
    assert model.front_end is not None
    page = home(visitor, model)
    assert "front-end" not in [part.part for part in page.context["missing"].parts]
    (front_end,) = [section for section in page.context["sections"] if section.key == "front-end"]
    assert front_end.facts
    assert all(any(letter.isalpha() for letter in number) for _, number in front_end.facts), "with units"
    assert Run.objects.filter(kind="front-end").count() == 1


def test_missing_schemes_are_completed(visitor: Client, model: StoredCoreModel) -> None:
    (part,) = [part for part in home(visitor, model).context["missing"].parts if part.part == "schemes"]
    assert part.lacking == InstructionScheme.objects.filter(exclusion="").count() - 3
    visitor.post(reverse("core-model-measure", args=[model.pk]), {"part": "schemes"})
    run = Run.objects.get(kind="complete")
    assert 0 < len(run.config["schemes"]) <= part.lacking
    assert home(visitor, model).context["missing"].pending == run


@pytest.mark.parametrize("part", ["", "ports", "everything"])
def test_other_parts_are_refused(visitor: Client, model: StoredCoreModel, part: str) -> None:
    answer = visitor.post(reverse("core-model-measure", args=[model.pk]), {"part": part})
    assert answer.status_code == 400
    assert MEASURABLE_PARTS[0] in answer.text
    assert not Run.objects.exists()


def test_an_imported_model_says_what_it_lacks_without_buttons(
    visitor: Client, model: StoredCoreModel
) -> None:
    copy = store_document(read_core_model(CORE_MODEL_EXPORTS["json"].write(model)), "a copy")
    page = home(visitor, copy)
    assert page.context["label"] == "a copy"
    assert len(page.context["missing"].parts) == 2
    assert reverse("core-model-measure", args=[copy.pk]) not in page.text
    assert (
        visitor.post(reverse("core-model-measure", args=[copy.pk]), {"part": "latencies"}).status_code == 400
    )


def test_conflicts_with_other_results_are_listed(visitor: Client, model: StoredCoreModel) -> None:
    assert model.mapping is not None
    other = store_mapping("another run", model.isa, TRUTH, origin=PortMapping.Origin.RUN)
    scheme = InstructionScheme.objects.get(text=IMUL)
    SchemeConflict.objects.create(
        mapping=model.mapping, other=other, scheme=scheme, here="1×[1]", there="2 µops"
    )
    page = home(visitor, model)
    assert page.context["contradictions"].total == 1
    assert "1 scheme contradicted by another result" in page.text
    assert "another run" in page.text
    assert visitor.get(f"/api/v1/core-models/{model.pk}/summary").json()["contradicted"] == 1


def test_machines_go_by_what_they_are(model: StoredCoreModel) -> None:
    facts = {"vendor": "AuthenticAMD", "family": 26, "model": 2}
    machine = Machine(name="vm", kind=Machine.Kind.AGENT, isa=model.isa, facts=facts, local=True)
    machine.cpu = "AMD EPYC 9R45 96-Core Processor"
    assert machine_label(machine) == "Zen 5 (AMD EPYC 9R45), this computer"
    machine.local = False
    assert machine_label(machine) == "Zen 5 (AMD EPYC 9R45), vm"
    machine.facts = {}
    assert machine_label(machine) == "AMD EPYC 9R45, vm"
    machine.cpu = ""
    assert machine_label(machine) == "vm"
    assert model.machine is not None
    assert machine_label(model.machine) == "box, simulated"


@pytest.mark.parametrize("core", recorded_cores(), ids=lambda core: core.slug)
def test_a_recorded_core_opens_without_a_copy(visitor: Client, model: StoredCoreModel, core) -> None:
    page = visitor.get(reverse("recorded-core", args=[core.slug]))
    assert page.status_code == 200
    assert page.context["label"] == core.label
    assert core.accuracy[1:] in page.text
    assert not core.lacks or core.lacks[1:40] in page.text
    assert reverse("gallery-open", args=[core.slug]) in page.text
    assert "/export/" not in page.text
    assert StoredCoreModel.objects.count() == 1
    comparison = visitor.get(reverse("recorded-core-compare", args=[core.slug]), {"with": "lab"})
    assert comparison.status_code == (200 if core.isa == model.isa.name else 404)


def test_an_unknown_recorded_core_is_not_found(visitor: Client, db: None) -> None:
    for route in ("recorded-core", "recorded-core-compare"):
        assert visitor.get(reverse(route, args=["zen-99"])).status_code == 404
