"""Which processor predictors answer for, and which one tools are asked for by default."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.http import QueryDict
from django.test import Client
from django.urls import reverse

from anica_app.features.campaigns.form import CampaignForm
from inference.features.asking.predictors import query
from inference.features.asking.predictors.query import (
    different_processors,
    options_for,
    predictor_listings,
    processor_here,
    row_on_processor,
)
from inference.models import ISA, Machine, PortMapping, Predictor, ResourceMapping, Run, StoredCoreModel
from inference.predictors.kinds import KINDS, InstalledKind
from inference.predictors.protocol import PredictorError
from inference.runs import lifecycle
from tests.rows.lab import machine
from tests.rows.library import isa, visitor

__all__ = ["isa", "machine", "visitor"]


def predictor(name: str, kind: str, **options: object) -> Predictor:
    return Predictor.objects.create(name=name, kind=kind, options=options, key=name.rjust(64, "0"))


def test_the_processor_at_hand_is_that_of_this_computer(isa: ISA, machine: Machine) -> None:
    assert processor_here() == "Zen 3"
    facts = {**machine.facts, "family": 0x17, "model": 0x31}
    Machine.objects.create(name="here", kind="agent", isa=isa, facts=facts, local=True)
    assert processor_here() == "Zen 2"


def test_options_name_the_processor_as_each_tool_does() -> None:
    assert options_for("llvm-mca", {"release": "14"}, "Zen 3") == [{"release": "14", "cpu": "znver3"}]
    newest, older = options_for("llvm-mca", {}, "Raptor Cove")
    assert (newest["cpu"], older["cpu"]) == ("emeraldrapids", "sapphirerapids")
    assert options_for("osaca", {}, "Zen 3") == [{"arch": "ZEN3"}]
    assert options_for("uica", {}, "Zen 3") == []
    assert options_for("llvm-mca", {"cpu": "haswell"}, "Zen 3") == [{"cpu": "haswell"}]
    assert options_for("cqa", {"a": 1}, "Zen 3") == [{"a": 1}]


def test_predictions_for_different_processors_are_told(machine: Machine) -> None:
    here = predictor("here", "machine", machine="lab")
    fits = predictor("fits", "llvm-mca", cpu="znver3")
    usual = predictor("usual", "llvm-mca")
    unknown = predictor("own", "command")
    assert different_processors([here, fits, unknown]) == {}
    found = different_processors([here, usual, unknown])
    assert found == {"Zen 3": ["here"], "Haswell": ["usual"]}
    skylake = [predictor("x", "osaca", arch="SKX"), predictor("y", "llvm-mca", cpu="skylake-avx512")]
    assert different_processors(skylake) == {}


@pytest.mark.parametrize("kind", ["core-model", "port mapping", "resource mapping"])
def test_what_was_made_of_a_machine_answers_for_its_processor(machine: Machine, kind: str) -> None:
    made = {"name": "made", "isa": machine.isa, "machine": machine}
    match kind:
        case "core-model":
            StoredCoreModel.objects.create(**made)
            row = predictor("of a core", "core-model", model="made")
        case "port mapping":
            PortMapping.objects.create(**made, ports=["0"], origin=PortMapping.Origin.RUN)
            row = predictor("of ports", "mapping", mapping="made")
        case _:
            ResourceMapping.objects.create(**made, resources=["0"], origin=ResourceMapping.Origin.IMPORT)
            row = predictor("of resources", "mapping", mapping="made")
    assert different_processors([row, predictor("fits", "llvm-mca", cpu="znver3")]) == {}
    other = predictor("other", "llvm-mca", cpu="haswell")
    assert different_processors([row, other]) == {"Zen 3": [row.name], "Haswell": ["other"]}


class _Made:
    """A tool that knows two processors."""

    def __init__(self, options: Any) -> None:
        self.name = f"tool {options.cpu}"
        self.identity = {"cpu": options.cpu}
        if options.cpu not in ("haswell", "znver3"):
            raise PredictorError("no such processor")

    def close(self) -> None:
        pass


def test_tools_are_listed_for_the_processor_at_hand(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = KINDS["llvm-mca"]
    kind = type(known)(
        **{**vars(known), "make": _Made, "find": lambda: [InstalledKind({"release": "14"}, "14")]}
    )

    def names() -> list[str]:
        return [one.name for one in predictor_listings({"llvm-mca": kind})]

    assert names() == ["tool znver3"]
    monkeypatch.setattr(query, "processor_here", lambda: "Zen 5")
    assert names() == ["tool haswell"]


@pytest.fixture
def tool(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one tool that is found here; the processor at hand is a Zen 3."""
    known = KINDS["llvm-mca"]
    changes = {"make": _Made, "find": lambda: [InstalledKind({"release": "14"}, "14")]}
    kind = type(known)(**{**vars(known), **changes})
    for name in list(KINDS):
        monkeypatch.delitem(KINDS, name)
    monkeypatch.setitem(KINDS, "llvm-mca", kind)


def asked() -> set[str]:
    """Names of those that the newest run asks."""
    ids = Run.objects.order_by("-pk")[0].config["predictors"]
    return set(Predictor.objects.filter(pk__in=ids).values_list("name", flat=True))


def test_one_choice_sets_the_processor_of_all_tools(visitor: Client, tool: None) -> None:
    form = visitor.get(reverse("blocks")).context["form"]
    assert form["processor"].field.choices[0] == ("", "this machine’s: Zen 3")
    data = {name: form[name].value() for name in ("mode", "copies", "registers", "memory", "pages")}
    data |= {"code": "90", "press": "ask", "predictors": ["tool znver3"]}
    for processor, name in (("", "tool znver3"), ("Haswell", "tool haswell")):
        answer = visitor.post(reverse("blocks"), {**data, "processor": processor})
        assert answer.status_code == 302
        assert asked() == {name}
    unknown = visitor.post(reverse("blocks"), {**data, "processor": "Zen 5"})
    assert unknown.status_code == 400
    assert "no model of Zen 5" in unknown.text
    own = visitor.post(
        reverse("blocks"), {**data, "processor": "Haswell", "predictors": ["machine:machine=lab"]}
    )
    assert own.status_code == 302
    assert asked() == {"machine lab · loop"}


def test_a_question_for_several_processors_says_so(visitor: Client, tool: None) -> None:
    rows = [query.row_for("llvm-mca", {"cpu": cpu}) for cpu in ("haswell", "znver3")]
    config = {"predictors": [row.pk for row in rows], "blocks": ["90"], "anew": False}
    run = lifecycle.submit("ask", config, "two")
    page = visitor.get(reverse("asked-blocks", args=[run.pk]))
    assert set(page.context["processors"]) == {"Haswell", "Zen 3"}
    assert "different processors" in page.text
    told = visitor.get(f"/api/v1/questions/{run.pk}").json()
    assert told["processors"] == {"Haswell": ["tool haswell"], "Zen 3": ["tool znver3"]}


def test_campaigns_take_the_same_choice(visitor: Client, tool: None) -> None:
    form = CampaignForm(
        [one for one in predictor_listings() if one.usable], QueryDict("first=tool znver3&processor=Haswell")
    )
    form.is_valid()
    assert [row.name for row in form.rows] == ["tool haswell"]
    form = CampaignForm(
        [one for one in predictor_listings() if one.usable], QueryDict("first=tool znver3&processor=Zen 5")
    )
    assert "no model of Zen 5" in str(form.errors["first"])


def test_programs_and_the_shell_name_it_too(visitor: Client, tool: None, tmp_path: Path) -> None:
    body = {"code": "90", "predictors": ["tool znver3"], "processor": "Haswell"}
    address = "/api/v1/questions"
    answer = visitor.post(address, json.dumps(body), content_type="application/json")
    assert [one["name"] for one in answer.json()["predictors"]] == ["tool haswell"]
    wrong = visitor.post(address, json.dumps({**body, "processor": "Zen3"}), content_type="application/json")
    assert wrong.status_code == 422
    assert "Zen 3" in wrong.text
    assert row_on_processor("llvm-mca:release=14,cpu=znver3", "Haswell").name == "tool znver3"
    assert row_on_processor("llvm-mca:release=14", "Haswell").name == "tool haswell"
    file = tmp_path / "code.s"
    file.write_text("90")
    with pytest.raises(CommandError, match="did you mean 'Haswell'"):
        call_command("predict", "--predictor", "llvm-mca", "--processor", "Hasvell", str(file))
    with pytest.raises(CommandError, match="no model of Zen 5"):
        call_command("predict", "--predictor", "llvm-mca", "--processor", "Zen 5", str(file))
