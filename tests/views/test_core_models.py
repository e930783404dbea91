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

from anica_app.features.predictors.stored_kinds import STORED_KINDS
from anica_app.predictors.core_model import KIND
from inference.core.mapping import PortMapping as Mapping
from inference.isa.x86.scheme_set import described
from inference.models import Machine, PortMapping, Run
from inference.runs import lifecycle
from inference.storage.instruction_sets import store_isa
from inference.storage.rows import store_mapping
from tests.simulated import simulated_machine
from tests.views.conftest import visitor
from tests.work import work_off

__all__ = ["visitor"]

ADD, IMUL = "add GPR[64]:RW, GPR[64]:R", "imul GPR[64]:RW, GPR[64]:R"
CODE = "add rax, rbx\nimul rax, rbx"


@pytest.fixture
def machine(db: None) -> Machine:
    """A simulated machine of which all is known."""
    found = [described(text) for text in (ADD, IMUL)]
    isa = store_isa("x86-64", [one[0] for one in found if one is not None], "a test")
    truth = Mapping(("0", "1"), {ADD: ((0b11, 1),), IMUL: ((0b01, 1),)})
    row = simulated_machine(isa, truth, seed=1)
    store_mapping("its ports", isa, truth, origin=PortMapping.Origin.RUN, machine=row)
    for kind, config in (("latencies", {"schemes": "all"}), ("front-end", {})):
        run = lifecycle.submit(kind, {"machine": row.pk, **config}, f"its {kind}")
        assert work_off(run).state == Run.State.DONE, run.error
    return row


def chain_of(machine: Machine) -> float:
    """Cycles of the chain through both instructions."""
    rows = machine.latency_sets.get().schemes.in_bulk(field_name="pk").values()
    by_name = {
        (row.scheme.text, pair["source"], pair["destination"]): pair["least"]
        for row in rows
        for pair in row.pairs
    }
    return by_name[ADD, "1", "1"] + by_name[IMUL, "1", "1"]


def test_the_page_of_blocks_says_why(visitor: Client, machine: Machine) -> None:
    page = visitor.get(reverse("blocks"), {"code": CODE})
    (each,) = page.context["shown"]
    assert each.reason.machine == machine
    assert each.reason.prediction.cycles == pytest.approx(chain_of(machine), abs=0.01)
    assert each.reason.sentence.startswith(f"{chain_of(machine):.1f} cycles: the chain rax → ")
    assert set(each.reason.chain) == {0, 1}
    assert each.reason.sentence.capitalize()[:8] in page.text


def test_without_latencies_the_page_is_as_it_was(visitor: Client, db: None) -> None:
    page = visitor.get(reverse("blocks"), {"code": CODE})
    (each,) = page.context["shown"]
    assert each.reason is None


def test_programs_are_told_the_bounds(visitor: Client, machine: Machine) -> None:
    def asked(**data: object) -> dict:
        answer = visitor.post(
            f"/api/v1/machines/{machine.pk}/why", json.dumps(data), content_type="application/json"
        )
        assert answer.status_code == 200, answer.json()
        (found,) = answer.json()
        return found

    whole = asked(code=CODE)
    assert whole["bounds"][0]["kind"] == "dependencies"
    assert whole["sources"] == {
        "ports and slots": "its ports",
        "latencies": "its latencies",
        "front end": "its front-end",
    }
    assert whole["cycles"] == pytest.approx(chain_of(machine), abs=0.01)
    assert sum(step["cycles"] for step in whole["chain"]) == pytest.approx(whole["cycles"], abs=0.01)
    without = asked(code=CODE, without=["dependencies"])
    assert {bound["kind"] for bound in without["bounds"]} == {"ports", "front end"}
    assert asked(code="bsf rax, rbx")["cycles"] is None


def test_a_machine_of_which_nothing_is_known_is_refused(
    visitor: Client, machine: Machine, tmp_path: Path
) -> None:
    machine.latency_sets.all().delete()
    answer = visitor.post(
        f"/api/v1/machines/{machine.pk}/why", json.dumps({"code": CODE}), content_type="application/json"
    )
    assert answer.status_code == 409
    file = tmp_path / "code.s"
    file.write_text(CODE)
    with pytest.raises(CommandError, match="not known yet"):
        call_command("predict", str(file), "--why", machine.name, stdout=StringIO())


def test_the_shell_prints_the_reason(machine: Machine, tmp_path: Path) -> None:
    file = tmp_path / "code.s"
    file.write_text(CODE)
    out = StringIO()
    call_command("predict", str(file), "--why", machine.name, stdout=out)
    first, *lines = out.getvalue().splitlines()
    assert first.startswith(f"block 1: {chain_of(machine):.1f} cycles: the chain rax → ")
    assert any(line.split()[0] == "ports" for line in lines)
    told = StringIO()
    call_command("predict", str(file), "--why", machine.name, "--json", stdout=told)
    (block,) = json.loads(told.getvalue())["blocks"]
    assert block["cycles"] == pytest.approx(chain_of(machine), abs=0.01)


def test_it_is_a_predictor_that_says_what_it_does_not_know(machine: Machine) -> None:
    kind = STORED_KINDS[KIND]
    assert [found.options for found in kind.found()] == [{"machine": machine.name}]
    predictor = kind.predictor({"machine": machine.name})
    known, unknown, none = predictor.predict(
        [bytes.fromhex("4801d8480fafc3"), bytes.fromhex("480fbcc3"), b"\x06"]
    )
    assert known.cycles == pytest.approx(chain_of(machine), abs=0.01)
    assert "dependencies" in known.detail
    assert "bsf" in unknown.detail
    assert none.failure is not None
    ports = kind.predictor({"machine": machine.name, "without": "dependencies+front end"})
    assert ports.predict([bytes.fromhex("4801d8480fafc3")])[0].cycles == 1.0
    assert ports.identity != predictor.identity
