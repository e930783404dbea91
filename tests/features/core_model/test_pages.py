"""Pages, files and port names of stored core models."""

from __future__ import annotations

import json
import shutil
from io import StringIO
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from inference.core.mapping import PortMapping as Mapping
from inference.features.asking.loop.answer import closest_bound
from inference.features.asking.predictors.query import row_for
from inference.features.learning.core_model.query import contents_of
from inference.features.learning.core_model.storing import store_document, store_parts
from inference.features.library.uploads.query import receive
from inference.formats.core_model_json import read_core_model
from inference.isa import llvm_mc
from inference.models import PortMapping, StoredCoreModel, Upload
from inference.predictors.core_model import KIND
from inference.runs import lifecycle
from inference.storage.core_models import core_model_of
from inference.storage.exporting import CORE_MODEL_EXPORTS, LLVM_SOURCES
from inference.storage.mappings import store_mapping
from inference.web.deleting import dependents_of
from inference.web.presentation import ticked
from tests.doors import printed
from tests.features.core_model.stored_model import ADD, CODE, IMUL, chain_of
from tests.work import work_off


def test_an_uploaded_file_waits_to_be_confirmed(visitor: Client, model: StoredCoreModel) -> None:
    (upload,) = receive([SimpleUploadedFile("lab.json", printed("export", "model", "lab").encode())], None)
    upload.refresh_from_db()
    work_off(upload.reading)
    address = reverse("upload-core-model", args=[upload.pk])
    assert visitor.get(address).context["name"] == "lab (2)"
    visitor.post(address, {"name": "elsewhere"})
    assert core_model_of(StoredCoreModel.objects.get(name="elsewhere")) == core_model_of(model)
    assert not Upload.objects.exists()


def test_one_is_made_of_parts_on_a_page(visitor: Client, model: StoredCoreModel) -> None:
    address = reverse("core-model-new")
    form = visitor.get(address).context["form"]
    assert form.initial["mapping"] == model.mapping_id
    answer = visitor.post(address, {"name": "half", "latencies": model.latencies_id})
    half = StoredCoreModel.objects.get(name="half")
    assert answer.url == reverse("core-model", args=[half.pk])
    (contents,) = contents_of([half])
    assert contents.lacking == ("ports and slots", "front end")
    assert visitor.post(address, {"name": "half", "latencies": model.latencies_id}).status_code == 400
    assert visitor.post(address, {"name": "none"}).status_code == 400


def test_a_part_that_is_deleted_is_lacking(visitor: Client, model: StoredCoreModel) -> None:
    (told,) = dependents_of(model.front_end)
    assert told.label == "1 core model"
    model.front_end.delete()
    page = visitor.get(reverse("blocks"), {"isa": "x86-64", "code": CODE})
    assert "front end" in " ".join(page.context["shown"][0].explanation.analysis.lacking)


def test_the_page_of_a_question_has_the_verdict_and_leads_to_the_explanation(
    visitor: Client, model: StoredCoreModel
) -> None:
    asked = {"predictors": [row_for(KIND, {"model": "lab"}).pk], "blocks": ["4801d8480fafc3"], "anew": False}
    run = lifecycle.submit("ask", asked, "why")
    page = visitor.get(reverse("asked-blocks", args=[run.pk]))
    why = page.context["why"]
    assert ticked(why.verdict) in page.text
    explanation = visitor.get(why.question.address())
    assert ticked(why.verdict) in explanation.text
    assert explanation.context["cpu"].name == "lab"
    bounds = why.analysis.bounds
    largest = bounds[0].usual
    assert largest == pytest.approx(chain_of(model), abs=0.01)
    assert closest_bound(bounds, largest) == f"dependencies, {largest:.2f}"
    assert closest_bound(bounds, 2 * largest) == f"≈ dependencies, {largest:.2f}"
    assert closest_bound(bounds, None) == ""


def test_a_longer_list_takes_as_many_queries(visitor: Client, model: StoredCoreModel) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as found:
            assert visitor.get(reverse("core-models")).status_code == 200
        return len(found)

    queries()
    few = queries()
    store_document(read_core_model(CORE_MODEL_EXPORTS["json"].write(model)), "a copy")
    for number in range(4):
        store_parts(f"more {number}", model.mapping, model.latencies, None)
    assert queries() == few


def test_the_page_draws_the_core_and_its_ports_can_be_named(
    visitor: Client, model: StoredCoreModel, tmp_path: Path
) -> None:
    page = visitor.get(reverse("core-model", args=[model.pk]))
    shown = {each.kind.name: [name for _, name, _ in each.chips] for each in page.context["kinds"]}
    assert shown == {"ALU": ["ALU0", "ALU1"], "multiply": ["ALU0"]}
    assert [name for name, _ in page.context["diagram"]] == ["wide", "narrow"]

    address = reverse("core-model-ports", args=[model.pk])
    assert visitor.post(address, {"port_0": "ALU0", "port_1": "ALU0"}).status_code == 400
    assert visitor.post(address, {"port_0": "x" * 25}).status_code == 400
    assert visitor.post(address, {"port_0": " ALU0 ", "port_1": ""}).status_code == 302
    model.refresh_from_db()
    assert model.port_names == {"0": "ALU0"}
    assert ">ALU0<" in visitor.get(reverse("core-model", args=[model.pk])).text

    svg = visitor.get(reverse("core-model-export", args=[model.pk]), {"format": "diagram-svg"})
    assert svg["Content-Type"].startswith("image/svg+xml")
    assert ">ALU0<" in svg.content.decode()
    file = tmp_path / "kinds.csv"
    call_command("export", "model", "lab", "--format", "kinds-csv", "--output", str(file), stdout=StringIO())
    rows = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    assert rows[1].startswith("ALU,ALU0 ALU1,2,1,0.5,4.0,4.0,")


def test_a_patch_of_llvm_needs_the_sources_that_the_operator_names(
    visitor: Client, model: StoredCoreModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, formats = reverse("core-model", args=[model.pk]), {"format": "llvm-patch"}
    export = reverse("core-model-export", args=[model.pk])
    programs = f"/api/v1/core-models/{model.pk}/exports"
    assert f"{export}?format=llvm-patch" in visitor.get(page).text
    monkeypatch.delenv(LLVM_SOURCES, raising=False)
    assert f"{LLVM_SOURCES} does not say where" in visitor.get(export, formats, follow=True).text
    assert visitor.get(f"{programs}/llvm-patch").status_code == 422
    if llvm_mc.program() is None or shutil.which("llvm-tblgen") is None:
        pytest.skip("LLVM's tools are not installed")
    monkeypatch.setenv(LLVM_SOURCES, str(Path(__file__).parents[2] / "formats" / "mini_llvm"))
    model.machine.facts |= {"vendor": "AuthenticAMD", "family": 25, "model": 1}  # a Zen 3
    model.machine.save()
    for answer in (visitor.get(export, formats), visitor.get(f"{programs}/llvm-patch")):
        assert "+++ b/lib/Target/X86/X86ScheduleToy.td" in answer.text
        assert answer["Content-Disposition"].endswith('lab.patch"')


def test_port_names_for_programs_and_in_the_shell(visitor: Client, model: StoredCoreModel) -> None:
    def named(names: dict) -> tuple[int, dict]:
        answer = visitor.put(
            f"/api/v1/core-models/{model.pk}/port-names",
            json.dumps({"names": names}),
            content_type="application/json",
        )
        return answer.status_code, answer.json()

    assert named({"1": "AGU"})[1]["port_names"] == {"1": "AGU"}
    status, problem = named({"7": "AGU"})
    assert (status, "the ports are 0, 1" in problem["detail"]) == (422, True), problem
    assert printed("name-ports", "lab", "0=ALU", "1=") == "0\tALU\n1\t\n"
    with pytest.raises(CommandError, match="not PORT=NAME"):
        call_command("name-ports", "lab", "0", stdout=StringIO())


def test_port_names_travel_with_the_file(visitor: Client, model: StoredCoreModel) -> None:
    model.port_names = {"0": "ALU0"}
    model.save()
    told = read_core_model(CORE_MODEL_EXPORTS["json"].write(model))
    copy = store_document(told, "a copy")
    assert copy.port_names == {"0": "ALU0"}
    assert CORE_MODEL_EXPORTS["json"].write(copy).replace("a copy", "lab") == CORE_MODEL_EXPORTS[
        "json"
    ].write(model)


def test_names_of_an_earlier_model_are_proposed_for_the_ports_that_do_the_same(
    visitor: Client, model: StoredCoreModel
) -> None:
    model.port_names = {"0": "MUL", "1": "ALU"}
    model.save()
    turned = Mapping(("0", "1"), {ADD: ((0b11, 1),), IMUL: ((0b10, 1),)})
    later = store_mapping("later", model.isa, turned, origin=PortMapping.Origin.RUN, machine=model.machine)
    row = store_parts("later", later, model.latencies, None)
    page = visitor.get(reverse("core-model-ports", args=[row.pk]))
    assert page.context["proposed"].names == {"1": "MUL", "0": "ALU"}
    assert page.context["form"]["port_1"].initial == "MUL"
    row.refresh_from_db()
    assert row.port_names == {}
