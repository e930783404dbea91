"""Resource mappings in the browser: list, page, conversion, upload, and their place beside port mappings."""

from __future__ import annotations

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from inference.core.resources import ResourceMapping as Resources
from inference.models import ISA, ExperimentSet, PortMapping, ResourceMapping, Run, Upload
from inference.storage.evaluations import evaluate
from inference.storage.resource_mappings import convert, load_resource_mapping, store_resource_mapping
from tests.rows.library import ADD, IMUL, LOAD
from tests.work import read_uploads

PALMED = json.dumps(
    {
        "instr_to_class": {"ADD_GPR64i64_GPR64i64": "A", "IMUL_GPR64i64_GPR64i64": "B", "FROB_GPR64i64": "B"},
        "class_to_resources": {"A": {"resource_use": [[0.25, "R0"]]}, "B": {"resource_use": [[1.0, "R1"]]}},
    }
).encode()
NAMES = json.dumps({LOAD: ["FROB_GPR64i64"]}).encode()


@pytest.fixture
def resources(isa: ISA) -> ResourceMapping:
    value = Resources(("R0", "R1"), {ADD: ((0, 0.25),), IMUL: ((0, 0.25), (1, 1.0)), LOAD: ((0, 0.25),)})
    return store_resource_mapping(
        "zen",
        isa,
        value,
        origin=ResourceMapping.Origin.IMPORT,
        report={"instructions": 4, "classes": 2, "left_out": {"FROB_GPR64i64": "no such scheme"}},
    )


def page(row: ResourceMapping, query: str = "") -> str:
    return reverse("resource-mapping", args=[row.pk]) + query


def test_an_empty_list_says_what_to_do(visitor: Client, isa: ISA) -> None:
    answer = visitor.get(reverse("resource-mappings"))
    assert "No resource mapping yet" in answer.text
    assert reverse("upload") in answer.text


def test_the_lists_of_both_kinds_lead_to_each_other(visitor: Client, resources: ResourceMapping) -> None:
    assert f'href="{reverse("resource-mappings")}"' in visitor.get(reverse("mappings")).text
    answer = visitor.get(reverse("resource-mappings"))
    assert f'href="{reverse("mappings")}"' in answer.text
    assert page(resources) in answer.text
    assert "not evaluated yet" in answer.text
    assert "has “dream”" in visitor.get(reverse("resource-mappings"), {"q": "dream"}).text


def test_the_page_shows_classes_with_their_loads(visitor: Client, resources: ResourceMapping) -> None:
    answer = visitor.get(page(resources))
    assert [[text for _, text in row.schemes] for row in answer.context["page"].rows] == [[ADD, LOAD], [IMUL]]
    shown = [[(cell.load, cell.shade) for cell in row.cells] for row in answer.context["page"].rows]
    assert shown == [[(0.25, 4), (0.0, 0)], [(0.25, 1), (1.0, 4)]]
    assert (answer.context["facts"]["matched"], answer.context["facts"]["classes"]) == (3, 2)
    assert "FROB_GPR64i64" in answer.text


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("?q=imul", [[IMUL]]),
        ("?q=memory:R", [[LOAD]]),
        ("?resource=1", [[IMUL]]),
        ("?q=div", []),
        ("?page=1", []),
    ],
)
def test_the_loads_are_searched(
    visitor: Client, resources: ResourceMapping, query: str, found: list[list[str]]
) -> None:
    rows = visitor.get(page(resources, query)).context["page"].rows
    assert [[text for _, text in row.schemes] for row in rows] == found


def test_a_search_that_cannot_be_read_is_told(visitor: Client, resources: ResourceMapping) -> None:
    answer = visitor.get(page(resources, "?q=frob:1"))
    assert answer.status_code == 400
    assert "frob" in answer.context["error"]


def test_more_resources_than_columns_are_listed_the_largest_first(visitor: Client, isa: ISA) -> None:
    names = tuple(f"R{k}" for k in range(30))
    loads = {ADD: tuple((k, 1.0 + k) for k in range(30))}
    row = store_resource_mapping("wide", isa, Resources(names, loads), origin=ResourceMapping.Origin.IMPORT)
    answer = visitor.get(page(row))
    (shown,) = answer.context["page"].rows
    assert [cell.resource for cell in shown.cells][:2] == ["R29", "R28"]
    assert (len(shown.cells), shown.further) == (12, 18)


def test_a_port_mapping_is_converted_from_its_page(visitor: Client, mapping: PortMapping) -> None:
    address = reverse("mapping-convert", args=[mapping.pk])
    assert address in visitor.get(reverse("mapping", args=[mapping.pk])).text
    form = visitor.get(address).context["form"]
    assert (form["name"].value(), form["max_resources"].value()) == ("three ports as resources", 1024)
    answer = visitor.post(address, {"name": "converted", "max_resources": 9, "note": ""}, follow=True)
    made = ResourceMapping.objects.get()
    assert answer.redirect_chain == [(page(made), 302)]
    assert load_resource_mapping(made).loads[IMUL] == ((0, 1.0), (1, 1 / 3))
    assert reverse("mapping", args=[mapping.pk]) in answer.text


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"name": "a", "max_resources": 1}, "needs 2 resources"),
        ({"name": "a", "max_resources": 0}, "greater than or equal to 1"),
        ({"name": "", "max_resources": 9}, "This field is required"),
        ({"name": "zen", "max_resources": 9}, "another resource mapping is named"),
    ],
)
def test_a_conversion_that_cannot_be_done_says_why_and_stores_nothing(
    visitor: Client, mapping: PortMapping, resources: ResourceMapping, data: dict[str, object], told: str
) -> None:
    answer = visitor.post(reverse("mapping-convert", args=[mapping.pk]), {**data, "note": ""})
    assert answer.status_code == 400
    assert told in answer.text
    assert ResourceMapping.objects.count() == 1


def test_an_export_is_a_file_that_can_be_uploaded_again(visitor: Client, resources: ResourceMapping) -> None:
    answer = visitor.get(reverse("resource-mapping-export", args=[resources.pk]))
    assert answer["Content-Disposition"] == 'attachment; filename="zen.json"'
    assert json.loads(answer.text)["loads"][IMUL] == {"R0": 0.25, "R1": 1.0}


def test_an_evaluation_is_asked_for_and_shown_beside_those_of_others(
    visitor: Client, resources: ResourceMapping, mapping: PortMapping, experiment_set: ExperimentSet
) -> None:
    asked = visitor.get(page(resources, "?tab=accuracy"))
    address = reverse("resource-mapping-evaluate", args=[resources.pk])
    assert f'action="{address}"' in asked.text
    started = visitor.post(address, {"set": experiment_set.pk, "unit": "cycles"})
    assert started["Location"] == page(resources, f"?tab=accuracy&set={experiment_set.pk}&unit=cycles")
    assert Run.objects.get().config == {
        "resource_mapping": resources.pk,
        "experiment_set": experiment_set.pk,
        "unit": "cycles",
    }
    assert "is queued" in visitor.get(started["Location"]).text
    evaluate(resources, experiment_set)
    evaluate(mapping, experiment_set)
    shown = visitor.get(started["Location"])
    assert shown.context["evaluation"].n == 3
    on_set = visitor.get(reverse("set", args=[experiment_set.pk])).text
    assert f"{page(resources)}?tab=accuracy" in on_set
    assert "resource mapping" in on_set
    listed = visitor.get(reverse("resource-mappings"))
    assert listed.context["rows"][0].source == experiment_set.name


def test_a_resource_mapping_is_renamed_and_deleted_like_everything_else(
    visitor: Client, resources: ResourceMapping, experiment_set: ExperimentSet
) -> None:
    evaluate(resources, experiment_set)
    edited = visitor.post(
        reverse("resource-mapping-edit", args=[resources.pk]), {"name": "Zen+", "note": "n"}
    )
    assert edited["Location"] == page(resources)
    address = reverse("resource-mapping-delete", args=[resources.pk])
    assert "1 evaluation" in visitor.get(address).text
    assert visitor.post(address)["Location"] == reverse("resource-mappings")
    assert not ResourceMapping.objects.exists()


def test_deleting_a_port_mapping_says_that_conversions_stay(visitor: Client, mapping: PortMapping) -> None:
    convert(mapping, "as resources")
    told = visitor.get(reverse("mapping-delete", args=[mapping.pk])).text
    assert "1 resource mapping converted from it" in told


def test_an_uploaded_palmed_file_is_previewed_with_what_is_left_out(visitor: Client, isa: ISA) -> None:
    answer = visitor.post(reverse("upload"), {"files": [SimpleUploadedFile("zen.json", PALMED)]}, follow=True)
    read_uploads()
    answer = visitor.get(answer.redirect_chain[0][0])
    facts = {fact["label"]: fact["value"] for fact in answer.context["seen"]["facts"]}
    assert facts["Instructions with a scheme"] == "2 of 3"
    assert facts["Resources"] == "2"
    assert "FROB_GPR64i64" in answer.text
    assert "Import as a resource mapping" in answer.text


def test_a_waiting_list_of_names_is_used_unless_their_owner_says_otherwise(visitor: Client, isa: ISA) -> None:
    files = [SimpleUploadedFile("zen.json", PALMED), SimpleUploadedFile("names.json", NAMES)]
    visitor.post(reverse("upload"), {"files": files})
    palmed, names = Upload.objects.order_by("pk")
    address = reverse("upload-preview", args=[palmed.pk])
    read_uploads()
    assert visitor.get(address).context["seen"]["left_out"] == []
    visitor.post(reverse("upload-read", args=[palmed.pk]), {"names": "0"})
    read_uploads()
    ((name, _),) = visitor.get(address).context["seen"]["left_out"]
    assert name == "FROB_GPR64i64"
    visitor.post(reverse("upload-read", args=[palmed.pk]), {"names": names.pk})
    read_uploads()
    visitor.post(address, {"name": "zen", "note": ""})
    assert Run.objects.get(kind="import").config["names"] == names.pk


def test_an_experiment_is_predicted_by_resource_mappings_too(
    visitor: Client, resources: ResourceMapping, isa: ISA
) -> None:
    address = reverse("experiments")
    alone = visitor.get(address, {"e": f"2*{ADD}; {IMUL}", "isa": isa.pk})
    (said,) = alone.context["resource_predictions"]
    assert (said.mapping, said.cycles, said.limits) == (resources, 1.0, ("R1",))
    assert "so there is no picture of ports" in alone.text
    assert not visitor.get(address, {"e": "nop", "isa": isa.pk}).context.get("resource_predictions")


def test_the_page_of_a_measured_experiment_lists_both_kinds_of_predictors(
    visitor: Client, resources: ResourceMapping, mapping: PortMapping, experiment_set: ExperimentSet
) -> None:
    measured = experiment_set.measurements.get(cycles=1.02).experiment
    answer = visitor.get(reverse("experiment", args=[measured.pk]))
    assert [each.mapping for each in answer.context["predictions"]] == [mapping]
    (said,) = answer.context["resource_predictions"]
    assert said.error == pytest.approx(100 * (1.0 - 1.02) / 1.02)
    assert "resource mapping, limited by R1" in answer.text
