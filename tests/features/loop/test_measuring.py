"""What the page measures: the loop itself, what its core model lacks; and what tools and checks say of it."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from inference.core.judging.sheet import Answers, AnswerSheet, Grouping, ItemKind, Items
from inference.core.tables import ExperimentTable
from inference.features.asking.loop import measuring_pages, tools
from inference.features.asking.loop.confidence import MIN_BLOCKS, confidence_in
from inference.features.asking.loop.measured import (
    KIND,
    LoopMeasurement,
    alignment_verdict,
    newest_measurement,
)
from inference.features.asking.loop.tools import ToolOffer
from inference.models import (
    AnswerCache,
    ComparedColumn,
    Comparison,
    Machine,
    PortMapping,
    Predictor,
    Run,
    StoredCoreModel,
)
from inference.models.block_set import block_key
from inference.predictors import core_model
from inference.runs import lifecycle
from inference.storage.answer_sheets import answers_field, sheet_fields
from inference.web import contributions
from inference.web.contributions import BlockNote
from tests.doors import printed
from tests.features.completing.test_completion import ADD, IMUL, ROL, isa, machine, model
from tests.rows.library import visitor
from tests.work import work_off

__all__ = ["isa", "machine", "model", "visitor"]

ROTATE = "rol rax, 3\nadd rax, rbx"
ROTATE_CODE = "48c1c0034801d8"


def answer(visitor: Client, code: str = ROTATE, **fields: str) -> str:
    response = visitor.get(reverse("loop"), {"code": code, "cpu": "core", **fields})
    assert response.status_code == 200
    return response.text


def work_off_all() -> list[Run]:
    return [work_off(run) for run in Run.objects.filter(state=Run.State.QUEUED).order_by("pk")]


def hidden_fields(html: str, region: str) -> dict[str, list[str]]:
    """The hidden fields of the form in a region, without the token."""
    (form,) = re.findall(rf'<form[^>]*data-loop-region="{region}".*?</form>', html, re.DOTALL)
    pairs = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form)
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        if name != "csrfmiddlewaretoken":
            fields.setdefault(name, []).append(value)
    return fields


def test_a_button_measures_the_loop_and_the_number_fills_in(visitor: Client, model: StoredCoreModel) -> None:
    fields = hidden_fields(answer(visitor), "loop-measured")
    assert fields["code"] == [ROTATE_CODE]
    waiting = visitor.post(reverse("loop-measure"), {**fields, "fragment": "1"}).text
    (address,) = re.findall(r'data-poll-url="([^"]+)"', waiting)
    assert "Measuring on sim" in waiting
    (run,) = work_off_all()
    assert (run.kind, run.state, run.config["options"]["mode"]) == (KIND, "done", "loop")
    fragment = visitor.get(address.replace("&amp;", "&")).text
    assert "data-poll" not in fragment
    assert re.search(r"Measured <strong>0\.67</strong> in a loop, .*s ago</a>: predicted", fragment)
    assert "Measured <strong>0.67</strong>" in answer(visitor)


def test_a_loop_is_measured_at_two_places_of_a_cache_line(
    visitor: Client, model: StoredCoreModel, machine: Machine
) -> None:
    fields = hidden_fields(answer(visitor), "loop-alignment")
    waiting = visitor.post(reverse("loop-alignment-measure"), {**fields, "fragment": "1"}).text
    (address,) = re.findall(r'data-poll-url="([^"]+)"', waiting)
    runs = work_off_all()
    assert [(run.config["offset"], run.config["options"]["copies"]) for run in runs] == [(0, 1), (32, 1)]
    fragment = visitor.get(address.replace("&amp;", "&")).text
    assert "data-poll" not in fragment
    assert "does not matter" in fragment, "the simulated machine takes as long anywhere"
    assert newest_measurement(ROTATE_CODE, "x86-64", "loop", machine) is None, "one copy is not the loop"
    assert "loop-alignment" not in answer(visitor, mode="unrolled")


@pytest.mark.parametrize(
    ("cycles", "words"),
    [
        ((1.0, 1.01), "within 1.0 %"),
        ((1.0, 1.25), "25 % quicker at the beginning of a line"),
        ((1.5, 1.0), "50 % quicker 32 bytes behind the beginning of a line"),
        ((1.0, None), ""),
        ((None, None), ""),
    ],
)
def test_the_difference_between_two_places_is_said(cycles: tuple[float | None, ...], words: str) -> None:
    verdict = alignment_verdict([None if each is None else LoopMeasurement(each) for each in cycles])
    assert words in verdict
    assert bool(words) == bool(verdict)


def test_a_measurement_counts_for_its_code_mode_and_machine_alone(visitor: Client, model, machine) -> None:
    config = {"machine": machine.pk, "blocks": [ROTATE_CODE], "options": {"mode": "loop"}}
    work_off(lifecycle.submit(KIND, config, "mine"))
    assert newest_measurement(ROTATE_CODE, "x86-64", "loop", machine) is not None
    assert newest_measurement(ROTATE_CODE, "x86-64", "unrolled", machine) is None
    assert newest_measurement("4801d8", "x86-64", "loop", machine) is None
    other = Machine.objects.create(name="other", kind="simulated", isa=machine.isa, facts=machine.facts)
    assert newest_measurement(ROTATE_CODE, "x86-64", "loop", other) is None
    config["options"] = {"mode": "unrolled", "registers": 1}
    work_off(lifecycle.submit("block", config, "with another start value"))
    assert newest_measurement(ROTATE_CODE, "x86-64", "unrolled", machine) is None


@pytest.mark.parametrize(
    ("predicted", "words"),
    [
        (4.0, "predicted the same"),
        (3.92, "predicted 2 % below"),
        (4.03, "predicted 0.8 % above"),
        (2.0, "predicted 50 % below"),
        (None, ""),
    ],
)
def test_a_difference_is_said_in_words(predicted: float | None, words: str) -> None:
    assert LoopMeasurement(4.0).comparison(predicted) == words


def test_the_age_of_a_measurement(db: None) -> None:
    assert LoopMeasurement(1.0, at=timezone.now() - timedelta(seconds=3)).age == "3 s ago"
    assert LoopMeasurement(1.0, at=timezone.now() - timedelta(hours=3)).age == ""
    assert LoopMeasurement(1.0).age == ""


def test_a_quick_measurement_is_of_few_blocks(model: StoredCoreModel, machine: Machine) -> None:
    with pytest.raises(lifecycle.ConfigError, match="at most 8 blocks"):
        lifecycle.submit(KIND, {"machine": machine.pk, "blocks": [ROTATE_CODE] * 9}, "many")


def test_a_button_measures_what_is_missing_and_the_answer_follows(visitor: Client, model) -> None:
    page = answer(visitor)
    assert "Measure this instruction," in page
    fields = hidden_fields(page, "loop-missing")
    assert fields["scheme"] == [str(model.isa.schemes.get(text=ROL).pk)]
    waiting = visitor.post(reverse("loop-complete"), {**fields, "fragment": "1"}).text
    (address,) = re.findall(r'data-poll-url="([^"]+)"', waiting)
    assert "data-poll" in answer(visitor)  # whoever types on goes on waiting
    work_off_all()
    ended = visitor.get(address.replace("&amp;", "&")).text
    assert "data-loop-changed" in ended
    assert "data-poll" not in ended
    assert 'id="loop-missing"' not in answer(visitor)
    run = visitor.get(reverse("run", args=[Run.objects.get(kind="complete").pk])).text
    assert ROL in run
    assert f'href="{reverse("core-model", args=[model.pk])}"' in run


def test_a_completion_that_failed_says_why_and_can_be_tried_again(visitor: Client, model) -> None:
    visitor.post(reverse("loop-complete"), hidden_fields(answer(visitor), "loop-missing"))
    Run.objects.update(state=Run.State.FAILED, error="the agent is gone\n\nTraceback")
    page = answer(visitor)
    assert "The last measurement failed: the agent is gone</p>" in page
    assert "loop-missing-button" in page


def test_what_could_not_be_measured_says_why_and_is_not_offered_again(visitor: Client, model) -> None:
    code = "imul rax, rbx"
    visitor.post(reverse("loop-complete"), hidden_fields(answer(visitor, code), "loop-missing"))
    work_off_all()
    page = answer(visitor, code, unknown="unsupported")
    assert "Cannot be measured: takes 1 cycles alone; its µops explain 0.5." in page
    assert "loop-missing-button" not in page
    assert IMUL.split()[0] in page


def test_readers_see_what_is_missing_without_buttons(client: Client, model: StoredCoreModel) -> None:
    reader = User.objects.create_user("reader")
    client.force_login(reader)
    page = answer(client)
    assert 'id="loop-missing"' in page
    assert "loop-missing-button" not in page
    assert "loop-measure-button" not in page
    for name in ("loop-measure", "loop-alignment-measure", "loop-complete", "loop-tools-ask"):
        assert client.post(reverse(name)).status_code == 403


@pytest.mark.parametrize("name", ["loop-measured", "loop-missing", "loop-tools", "loop-alignment"])
@pytest.mark.parametrize("query", ["", "?code=zz&cpu=core", "?code=4801d8&cpu=nothing", "?run=7", "?run=x"])
def test_bad_questions_are_refused(visitor: Client, model: StoredCoreModel, name: str, query: str) -> None:
    assert visitor.get(reverse(name) + query).status_code == 400


@pytest.fixture
def offers(monkeypatch: pytest.MonkeyPatch, model: StoredCoreModel) -> list[ToolOffer]:
    """A tool that answers, one that knows no instruction of the loop, and one that does not know the CPU."""
    assert model.mapping is not None
    partial = PortMapping.objects.get(pk=model.mapping.pk)
    offers = [
        ToolOffer("a tool", "mapping", {"mapping": partial.name}),
        ToolOffer("old tool 1.0", "mapping", None, "no model of Zen 9"),
    ]
    for module in (tools, measuring_pages):
        monkeypatch.setattr(module, "processor_of", lambda cpu: "Zen 9")
    monkeypatch.setattr(tools, "tool_offers", lambda processor, mode: offers)
    return offers


def tools_address_in(page: str) -> str:
    (address,) = re.findall(r'id="loop-tools"[^>]*data-poll-url="([^"]+)"', page)
    return str(address).replace("&amp;", "&")


def answer_query(code: str, **columns: object) -> Run:
    """End the query that waits, with the same answer of all its predictors."""
    run = Run.objects.get(kind="ask", state=Run.State.QUEUED)
    for predictor in run.config["predictors"]:
        key = block_key(bytes.fromhex(code))
        AnswerCache.objects.create(predictor_id=predictor, isa="x86-64", block=key, **columns)
    Run.objects.filter(pk=run.pk).update(state=Run.State.DONE)
    return run


def test_tools_are_asked_once_and_answer_beside_the_core_model(visitor: Client, offers) -> None:
    address = tools_address_in(answer(visitor, "add rax, rbx"))
    fragment = visitor.get(address).text
    assert "Not asked: old tool 1.0 (no model of Zen 9)." in fragment
    asked = visitor.post(
        reverse("loop-tools-ask"), {**hidden_fields(fragment, "loop-tools"), "fragment": "1"}
    ).text
    assert "data-poll" in asked
    assert answer_query("4801d8", cycles=0.5).config["mode"] == "loop"
    table = visitor.get(address).text
    assert "data-poll" not in table
    assert "data-loop-auto" not in table
    assert re.search(r'<th scope="row">a tool</th>\s*<td[^>]*>0\.50</td>', table)


def test_a_tool_that_has_no_number_says_so_in_words(visitor: Client, offers) -> None:
    address = tools_address_in(answer(visitor))
    visitor.post(reverse("loop-tools-ask"), hidden_fields(visitor.get(address).text, "loop-tools"))
    answer_query(ROTATE_CODE, failure="unsupported", detail="error: 17:3: rol")
    table = visitor.get(address).text
    assert "error: 17" not in table
    assert "does not know an instruction of this loop" in table
    assert "data-loop-auto" not in table


def test_a_tool_that_cannot_work_is_not_asked_for_ever(visitor: Client, offers) -> None:
    address = re.findall(r'id="loop-tools"[^>]*data-poll-url="([^"]+)"', answer(visitor))[0].replace(
        "&amp;", "&"
    )
    visitor.post(reverse("loop-tools-ask"), hidden_fields(visitor.get(address).text, "loop-tools"))
    Run.objects.update(state=Run.State.FAILED, error="the disk is full", lease_until=None)
    table = visitor.get(address).text
    assert "could not be asked" in table
    assert "data-loop-auto" not in table


@pytest.mark.django_db(transaction=True)  # tools answer in threads
def test_the_shell_asks_the_tools_that_know_the_cpu(
    offers: list[ToolOffer], model: StoredCoreModel, tmp_path: Path
) -> None:
    file = tmp_path / "loop.s"
    file.write_text("add rax, rbx\n")
    question = ("predict", "--why", "--cpu", model.name, file)
    lines = [line.split() for line in printed(*question, "--tools").splitlines()]
    (cycles,) = (float(words[2]) for words in lines if words[:2] == ["a", "tool"])
    assert cycles == pytest.approx(AnswerCache.objects.get().cycles, abs=0.005)
    assert ["old", "tool", "1.0", "no", "model", "of", "Zen", "9"] in lines
    (block,) = json.loads(printed(*question, "--tools", "--json"))["blocks"]
    assert {tool["name"]: tool["cycles"] for tool in block["tools"]} == {
        f"Core model {model.name}": pytest.approx(block["cycles"], abs=1e-3),
        "a tool": pytest.approx(cycles, abs=0.005),
        "old tool 1.0": None,
    }
    assert "a tool" not in printed(*question)
    with pytest.raises(CommandError, match="--tools go with --why"):
        printed("predict", "--predictor", "core model x", file, "--tools")


def test_families_are_known_beside_the_answers(visitor: Client, offers, monkeypatch) -> None:
    seen: list[tuple[str, bytes, list[str]]] = []

    def notes(isa: str, code: bytes, predictors) -> list[BlockNote]:
        seen.append((isa, code, [row.name for row in predictors]))
        return [BlockNote("a family of a campaign", "/families/7/")]

    monkeypatch.setattr(contributions, "contributed", lambda name: [notes] if name == "BLOCK_NOTES" else [])
    address = tools_address_in(answer(visitor, "add rax, rbx"))
    assert '<a href="/families/7/">a family of a campaign</a>' in visitor.get(address).text
    assert seen == [("x86-64", bytes.fromhex("4801d8"), [])]


def checked(model: StoredCoreModel, errors: list[float], lengths: list[int], bounds: list[str]) -> Run:
    """An accuracy check whose predictions are off by these shares."""
    names = tuple(dict.fromkeys(bounds))
    n = len(errors)
    table = ExperimentTable(
        schemes=(ADD,),
        offsets=np.arange(n + 1),
        scheme=np.zeros(n, dtype=np.int32),
        count=np.array(lengths, dtype=np.int32),
        lengths=np.array(lengths),
    )
    items = Items(
        ItemKind.BLOCKS,
        np.arange(1, n + 1),
        np.array(lengths),
        bounds=Grouping(names, np.array([names.index(bound) for bound in bounds])),
        read_table=lambda: table,
    )
    answers = Answers(1 + np.array(errors), np.zeros(n, dtype=np.uint8), ())
    sheet = AnswerSheet(items, np.ones(n), [answers])
    predictor = Predictor.objects.create(
        name=f"core model {model.name}", kind=core_model.KIND, key="0" * 64, options={"model": model.name}
    )
    run = Run.objects.create(name="check", kind="accuracy-check", state="done", config={})
    row = Comparison.objects.create(
        run=run,
        item_kind="blocks",
        isa=model.isa,
        source="blocks",
        read=n,
        n=n,
        common=n,
        **sheet_fields(sheet),
    )
    source = {"kind": "predictor", "name": "core", "predictor": predictor}
    ComparedColumn.objects.create(comparison=row, position=0, answers=answers_field(answers), **source)
    return run


def test_confidence_is_that_of_similar_blocks(visitor: Client, model: StoredCoreModel) -> None:
    assert confidence_in(model, 4, "ports") is None
    assert "Not checked yet." in answer(visitor)
    similar = [0.01, -0.02] * MIN_BLOCKS
    errors = [*similar, *[0.5] * MIN_BLOCKS, *[-0.3] * 5]
    lengths = [*[5] * len(similar), *[40] * MIN_BLOCKS, *[5] * 5]
    bounds = [*["ports"] * len(similar), *["ports"] * MIN_BLOCKS, *["memory"] * 5]
    run = checked(model, errors, lengths, bounds)
    confidence = confidence_in(model, 4, "ports")
    assert confidence is not None
    assert confidence.median == pytest.approx(1.5)
    assert confidence.most == pytest.approx(2.0)
    assert confidence.blocks == len(similar)
    assert confidence.alike == "limited by ports, 2 to 8 instructions"
    assert confidence.url == reverse("comparison", args=[run.pk])
    few = confidence_in(model, 4, "memory")  # too few with this bound: all of the length
    assert few is not None
    assert few.alike == "2 to 8 instructions"
    assert few.blocks == len(similar) + 5
    assert "9 of 10 within" in answer(visitor)
