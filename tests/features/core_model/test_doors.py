"""Why a block takes as long as it does: on the page, for programs, in the shell, and as a predictor."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse

from inference.core.explain import NotCharacterised, SchemeFate
from inference.core.mapping import PortMapping as Mapping
from inference.features.asking.predictors.kinds import STORED_KINDS
from inference.features.asking.predictors.query import row_for
from inference.isa.chains import AFTER_POP, HALVES_IN_TURN, THREE_THEN_OTHER
from inference.isa.x86.scheme_set import scheme_and_form
from inference.models import PortMapping, StoredCoreModel
from inference.predictors.core_model import KIND
from inference.runs import lifecycle
from inference.storage.core_models import core_model_of
from inference.storage.instruction_sets import store_isa
from inference.storage.mappings import store_mapping
from tests.doors import printed
from tests.features.core_model.stored_model import ADD, CODE, chain_of


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
