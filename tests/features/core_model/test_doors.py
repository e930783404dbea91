"""Why a block takes as long as it does: on the page, for programs, in the shell, and as a predictor."""

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

from anica_app.web.presentation import ticked
from inference.core.explain import NotCharacterised, SchemeFate
from inference.core.mapping import PortMapping as Mapping
from inference.features.asking.loop.answer import closest_bound
from inference.features.asking.predictors.kinds import STORED_KINDS
from inference.features.asking.predictors.query import row_for
from inference.features.learning.core_model.query import contents_of
from inference.features.learning.core_model.storing import store_document, store_parts
from inference.features.library.uploads.query import receive
from inference.formats.core_model_json import read_core_model
from inference.isa import llvm_mc
from inference.isa.chains import AFTER_POP, HALVES_IN_TURN, THREE_THEN_OTHER
from inference.isa.x86.scheme_set import scheme_and_form
from inference.models import PortMapping, Run, StoredCoreModel, Upload
from inference.predictors.core_model import KIND
from inference.runs import lifecycle
from inference.storage.core_models import core_model_of
from inference.storage.exporting import CORE_MODEL_EXPORTS, LLVM_SOURCES
from inference.storage.instruction_sets import store_isa
from inference.storage.mappings import store_mapping
from inference.web.deleting import dependents_of
from tests.doors import printed
from tests.rows.library import visitor
from tests.simulated import simulated_machine
from tests.work import work_off

__all__ = ["visitor"]

ADD, IMUL = "add GPR[64]:RW, GPR[64]:R", "imul GPR[64]:RW, GPR[64]:R"
CODE = "add rax, rbx\nimul rax, rbx"


@pytest.fixture
def model(db: None) -> StoredCoreModel:
    """The core model of a simulated machine."""
    found = [scheme_and_form(text) for text in (ADD, IMUL)]
    isa = store_isa("x86-64", [one[0] for one in found if one is not None], "a test")
    truth = Mapping(("0", "1"), {ADD: ((0b11, 1),), IMUL: ((0b01, 1),)})
    row = simulated_machine(isa, truth, seed=1)
    ports = store_mapping("its ports", isa, truth, origin=PortMapping.Origin.RUN, machine=row)
    for kind, config in (("latencies", {"schemes": "all"}), ("front-end", {})):
        run = lifecycle.submit(kind, {"machine": row.pk, **config}, f"its {kind}")
        assert work_off(run).state == Run.State.DONE, run.error
    return store_parts("lab", ports, row.latency_sets.get(), row.front_ends.get())


def chain_of(model: StoredCoreModel) -> float:
    """Cycles of the chain through both instructions."""
    rows = model.latencies.schemes.in_bulk(field_name="pk").values()
    by_name = {
        (row.scheme.text, pair["source"], pair["destination"]): pair["least"]
        for row in rows
        for pair in row.pairs
    }
    return by_name[ADD, "1", "1"] + by_name[IMUL, "1", "1"]


def test_the_page_of_blocks_says_why(visitor: Client, model: StoredCoreModel) -> None:
    page = visitor.get(reverse("blocks"), {"isa": "x86-64", "code": CODE})
    (each,) = page.context["shown"]
    assert each.explanation.cpu.row == model
    assert each.explanation.analysis.usual == pytest.approx(chain_of(model), abs=0.01)
    assert set(each.explanation.chain) == {0, 1}
    assert f"{chain_of(model):.1f} cycles: " in page.text
    assert reverse("loop") in page.text


def test_what_does_the_work_of_others_counts_as_these(model: StoredCoreModel) -> None:
    load, store, push = "mov GPR[64]:W, MEM[64]:R", "mov MEM[64]:W, GPR[64]:R", "push GPR[64]:R"
    legacy, vex = "pxor XMM:RW, MEM[128]:R", "vpxor XMM:W, XMM:R, MEM[128]:R"
    short, general = "and eax:RW, IMM[32]:R", "and GPR[32]:RW, IMM[32]:R"
    texts = (load, store, push, legacy, vex, short, general)
    isa = store_isa("x86-64", [found[0] for text in texts if (found := scheme_and_form(text))], "a test")
    truth = Mapping(
        ("0", "1"),
        {load: ((0b11, 1),), store: ((0b10, 1),), vex: ((0b01, 1), (0b11, 1)), general: ((0b01, 1),)},
    )
    model.mapping = store_mapping("moves", isa, truth, origin=PortMapping.Origin.IMPORT)
    model.save()
    for asked in (None, {push, legacy, short}):
        found = core_model_of(model, asked)
        assert found.mapping is not None
        assert found.mapping.usage[push] == truth.usage[store]
        assert found.mapping.usage[legacy] == truth.usage[vex]
        assert found.mapping.usage[short] == truth.usage[general]
        assert "push, pop, accumulator forms, legacy SSE" in found.sources


def test_throughputs_of_memory_become_times_of_the_model(model: StoredCoreModel) -> None:
    measured = {HALVES_IN_TURN: 1.0, THREE_THEN_OTHER: 0.75, AFTER_POP: 2.0}
    assert model.latencies is not None
    model.latencies.memory = [
        {"stored": 64, "loaded": 0, "address": address, "cycles": cycles, "chained": False, "how": None}
        | {"offset": 0, "register_class": "general", "at_most": False}
        for address, cycles in measured.items()
    ]
    model.latencies.save()
    memory = core_model_of(model).memory
    found = memory.to_another_half, memory.three_and_one, memory.behind_pop
    assert found == tuple(measured.values())


def test_a_stored_value_takes_what_it_takes_at_a_good_moment(model: StoredCoreModel) -> None:
    assert model.latencies is not None
    chained = {"register_class": "general", "chained": True, "at_most": False}
    read = [
        (16, 16, 0, "same base", 7.74, "forwarded"),
        (64, 8, 0, "same base", 6.32, "forwarded"),
        (64, 16, 0, "same base", 6.3, "forwarded"),
        (32, 16, 2, "same base", 6.52, "forwarded"),
        (64, 8, 7, "same base", 9.0, "forwarded"),
        (64, 64, 0, "same base", 1.5, "renamed"),
        (64, 64, 0, "stack pointer", 0.4, "renamed"),
        (64, 64, 0, "base and index", 0.9, "renamed"),
    ]
    model.latencies.memory = [
        {**chained, "stored": stored, "loaded": loaded, "offset": offset, "address": address}
        | {"cycles": cycles, "how": how}
        for stored, loaded, offset, address, cycles, how in read
    ]
    model.latencies.save()
    memory = core_model_of(model).memory
    quick = {memory.cycles(*case, vector=False) for case in ((16, 16, 0), (64, 8, 0), (32, 16, 2))}
    assert quick == {6.0}  # the quickest quarter, in whole cycles
    assert memory.cycles(64, 8, 7, vector=False) == 9.0  # not by chance
    assert memory.cycles(64, 64, 0, vector=False) == 0.4
    assert memory.indexed == 0.9  # by its own addresses alone


def test_what_does_the_work_of_one_without_ports_takes_its_time(model: StoredCoreModel) -> None:
    load, pop = "mov GPR[64]:W, MEM[64]:R", "pop GPR[64]:W"
    isa = store_isa(
        "x86-64", [found[0] for text in (load, pop) if (found := scheme_and_form(text))], "a test"
    )
    model.mapping = store_mapping("none", isa, Mapping(("0",), {}), origin=PortMapping.Origin.IMPORT)
    model.save()
    scheme = isa.schemes.get(text=load)
    model.mapping.characterisations.create(
        scheme=scheme, outcome=SchemeFate.EXCLUDED, reason=NotCharacterised.CLASH, cycles=0.5
    )
    for asked in (None, {pop}):
        alone = core_model_of(model, asked).alone
        assert alone[pop] == alone[load] == 0.5


def test_without_a_core_model_the_recorded_one_explains(visitor: Client, db: None) -> None:
    page = visitor.get(reverse("blocks"), {"isa": "x86-64", "code": CODE})
    (each,) = page.context["shown"]
    assert each.explanation.cpu.is_recorded


def test_programs_are_told_the_bounds(visitor: Client, model: StoredCoreModel) -> None:
    def asked(**data: object) -> dict:
        answer = visitor.post(
            f"/api/v1/core-models/{model.pk}/why", json.dumps(data), content_type="application/json"
        )
        assert answer.status_code == 200, answer.json()
        (found,) = answer.json()
        return found

    whole = asked(code=CODE)
    assert whole["bound"] == "dependencies"
    assert whole["chain"] == [1, 2]
    assert whole["sources"] == {
        "ports and slots": "its ports",
        "latencies": "its latencies",
        "front end": "its front-end",
    }
    assert whole["cycles"] == pytest.approx(chain_of(model), abs=0.01)
    assert sum(step["cycles"] for step in whole["steps"]) == pytest.approx(whole["cycles"], abs=0.01)
    without = asked(code=CODE, without=["dependencies"])
    assert set(without["bounds"]) == {"ports", "front end"}
    assert asked(code="bsf rax, rbx")["cycles"] is None


def test_the_shell_explains_by_the_named_core_model(model: StoredCoreModel, tmp_path: Path) -> None:
    file = tmp_path / "code.s"
    file.write_text(CODE)
    first, *lines = printed("predict", "--predictor", "core model lab", "--why", str(file)).splitlines()
    assert first.startswith(f"block 1: {chain_of(model):.1f} cycles: ")
    assert any(line.split()[0] == "ports" for line in lines)
    (block,) = json.loads(printed("predict", "--why", "--cpu", "lab", str(file), "--json"))["blocks"]
    assert block["cycles"] == pytest.approx(chain_of(model), abs=0.01)
    assert (block["model"], block["chain"], block["unknown"]) == ("lab", [1, 2], [])
    named = "core-model:model=lab,without=dependencies"
    (block,) = json.loads(printed("predict", "--why", "--predictor", named, str(file), "--json"))["blocks"]
    assert set(block["bounds"]) == {"ports", "front end"}


def test_it_is_a_predictor_that_says_what_it_does_not_know(model: StoredCoreModel) -> None:
    kind = STORED_KINDS[KIND]
    assert [found.options for found in kind.find()] == [{"model": "lab"}]
    predictor = kind.predictor({"model": "lab"})
    known, unknown, none = predictor.predict(
        [bytes.fromhex("4801d8480fafc3"), bytes.fromhex("480fbcc3"), b"\x06"]
    )
    assert known.cycles == pytest.approx(chain_of(model), abs=0.01)
    assert "dependencies" in known.detail
    assert "bsf" in unknown.detail
    assert none.failure is not None
    ports = kind.predictor({"model": "lab", "without": "dependencies+front end"})
    assert ports.predict([bytes.fromhex("4801d8480fafc3")])[0].cycles == 1.0
    assert ports.identity != predictor.identity


def test_what_it_does_not_know_is_taken_from_the_nearest_scheme_on_request(
    visitor: Client, model: StoredCoreModel, tmp_path: Path
) -> None:
    code = "add eax, ebx"
    kind = STORED_KINDS[KIND]
    predictor = kind.predictor({"model": "lab", "unknown": "nearest"})
    (answer,) = predictor.predict([bytes.fromhex("01d8")])
    assert answer.cycles is not None
    assert f"as {ADD} (other width)" in answer.detail
    assert predictor.name == "core model lab · nearest schemes"
    assert predictor.identity != kind.predictor({"model": "lab"}).identity

    data = {"code": code, "nearest": True}
    address = f"/api/v1/core-models/{model.pk}/why"
    (told,) = visitor.post(address, json.dumps(data), content_type="application/json").json()
    taken = {"scheme": "add GPR[32]:RW, GPR[32]:R", "nearest": ADD, "differs": "other width"}
    taken["parts"] = ["ports", "latencies"]
    assert (told["unknown"], told["taken"]) == ([], [taken])

    file = tmp_path / "code.s"
    file.write_text(code)
    out = StringIO()
    call_command(
        "predict", "--predictor", "core-model:model=lab,unknown=nearest", "--why", str(file), stdout=out
    )
    assert f"as {ADD}" in out.getvalue()

    asked = {"predictors": [row_for(KIND, {"model": "lab"}).pk], "blocks": ["01d8"], "anew": False}
    page = reverse("asked-blocks", args=[lifecycle.submit("ask", asked, "nearest").pk])
    (instruction,) = visitor.get(page).context["why"].analysis.instructions
    assert instruction.substitution.nearest == ADD


def test_its_file_imports_again_and_predicts_the_same(
    visitor: Client, model: StoredCoreModel, tmp_path: Path
) -> None:
    file = tmp_path / "lab.json"
    call_command("export", "model", "lab", "--output", str(file), stdout=StringIO())
    file.write_text(json.dumps(json.loads(file.read_text()), separators=(",", ":")))  # however it is spaced
    call_command("import", str(file), stdout=StringIO())
    copy = StoredCoreModel.objects.exclude(pk=model.pk).get()
    assert core_model_of(copy) == core_model_of(model)
    kind = STORED_KINDS[KIND]
    blocks = [bytes.fromhex("4801d8480fafc3")]
    asked = [kind.predictor({"model": row.name}).predict(blocks)[0].cycles for row in (model, copy)]
    assert asked[0] == asked[1]
    page = visitor.get(reverse("core-model", args=[copy.pk]))
    assert "2 schemes with µops" in page.text


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"version": 2}, "version"),
        (
            {"mapping": {"ports": ["0"], "usage": {ADD: [{"ports": ["7"], "count": 1}]}}},
            "runs on 7: the ports are 0",
        ),
        ({"latencies": {ADD: [{"source": "1", "destination": "1", "cycles": -1.0}]}}, "cycles"),
    ],
)
def test_a_broken_file_is_refused_with_the_place(
    model: StoredCoreModel, tmp_path: Path, broken: dict, said: str
) -> None:
    out = printed("export", "model", "lab")
    file = tmp_path / "lab.json"
    file.write_text(json.dumps({**json.loads(out), **broken}))
    with pytest.raises(CommandError, match=said):
        call_command("import", str(file), stdout=StringIO())
    assert StoredCoreModel.objects.count() == 1


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
    assert rows[1].startswith("ALU,ALU0 ALU1,2,1,0.5,")


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
