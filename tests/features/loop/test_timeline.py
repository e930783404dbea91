"""The timeline of an explained loop, its section and its files."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest
from django.test import Client
from django.urls import reverse

from inference.core.core_model import CoreModel
from inference.core.loop.simulated import CannotSimulateError
from inference.features.asking.loop import query
from inference.features.asking.loop.answer import LoopAnswer
from inference.features.asking.loop.document import TIMELINE_FORMATS, timeline_for
from inference.formats.timeline_files import write_timeline_text
from tests.features.loop.test_sections import CHAIN, DOT, answer_to
from tests.rows.library import visitor

__all__ = ["visitor"]

LONG = "\n".join(f"add r{8 + number % 8}, {number}" for number in range(400))


def asked(visitor: Client, extension: str = "json", **fields: Any) -> tuple[int, str]:
    answer = visitor.post(reverse("loop-timeline", args=[extension]), {"code": CHAIN, **fields})
    return answer.status_code, answer.text


def document_of(visitor: Client, **fields: Any) -> dict[str, Any]:
    status, text = asked(visitor, **fields)
    assert status == 200, text
    document: dict[str, Any] = json.loads(text)
    return document


@pytest.mark.parametrize("code", [CHAIN, DOT, LONG, "add rax, rbx", "mov rax, rbx"])
def test_the_timeline_has_the_cycles_of_the_analysis(code: str) -> None:
    answer = answer_to(code)
    loop = timeline_for(answer, 5)
    assert loop.timeline.cycles == answer.analysis.simulated
    assert loop.timeline.iterations == 5
    uops = loop.timeline.program.uops
    assert {loop.text_of(place) for place in range(len(uops))} <= {
        instruction.text for instruction in answer.analysis.instructions
    }


def test_a_wait_names_the_register() -> None:
    loop = timeline_for(answer_to(CHAIN), 3)
    place = next(k for k, uop in enumerate(loop.timeline.program.uops) if loop.text_of(k) == "imul rax, rbx")
    wait = loop.timeline.last_operand(2, place)
    assert wait is not None
    assert (loop.text_of(wait.producer), wait.iterations) == ("add rax, rcx", 1)
    assert loop.location(place, int(loop.timeline.operand[2, place])) == "rax"


def test_a_dependence_that_is_left_out_is_not_waited_for(visitor: Client) -> None:
    full = document_of(visitor)
    without = document_of(visitor, without="0-1-rax")
    assert without["cycles"] < full["cycles"]
    assert (
        document_of(visitor, code=CHAIN.replace("imul rax, rbx", "imul rax, rbx # LATENCY 40"))["cycles"] > 40
    )


def test_every_format_is_a_file_of_its_kind(visitor: Client) -> None:
    for extension, row in TIMELINE_FORMATS.items():
        fields: dict[str, Any] = {"code": CHAIN, "iterations": 2}
        answer = visitor.get(reverse("loop-timeline", args=[extension]), fields)
        assert answer.status_code == 200
        assert answer["Content-Type"].startswith(row.content_type)
        assert ("Content-Disposition" in answer) == (extension != "json")
    _, svg = asked(visitor, "svg")
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    _, trace = asked(visitor, "trace.json")
    assert json.loads(trace)["traceEvents"]
    _, text = asked(visitor, "txt", iterations=2)
    assert "[1,0]" in text
    assert "[2,0]" not in text
    assert asked(visitor, "pdf")[0] == 404


def test_forms_send_the_piece_and_line_breaks_of_their_own(visitor: Client) -> None:
    two = ".a:\r\nadd rax, rbx\r\njmp .a\r\n.b:\r\nimul rdx, rax\r\nimul rdx, rbx\r\njne .b\r\n"
    document = document_of(visitor, code=two, piece=2)
    assert document["instructions"][:2] == ["imul rdx, rax", "imul rdx, rbx"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"iterations": 51}, "at most 50"),
        ({"iterations": 0}, "at least 1"),
        ({"iterations": "many"}, "whole number"),
        ({"code": ""}, "paste assembly"),
        ({"code": "frobnicate rax"}, "Line 1"),
        ({"cpu": "Zen 9"}, "no core model"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_the_reason(
    visitor: Client, fields: dict[str, object], reason: str
) -> None:
    for extension in TIMELINE_FORMATS:
        status, text = asked(visitor, extension, **fields)
        assert status == 400
        assert reason.lower() in json.loads(text)["problem"].lower()


def test_an_instruction_without_uops_leaves_no_timeline(visitor: Client) -> None:
    status, text = asked(visitor, code="cpuid\nadd rax, rbx", unknown="unsupported")
    assert status == 200, "the page shows the reason"
    assert "cpuid" in json.loads(text)["problem"]
    status, text = asked(visitor, "svg", code="cpuid", unknown="unsupported")
    assert status == 400
    assert "cpuid" in text


@pytest.mark.parametrize(
    ("model", "reason"), [(CoreModel(None), "no ports"), (None, "starts per cycle")], ids=["ports", "width"]
)
def test_a_core_without_ports_or_width_says_so(
    model: CoreModel | None, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = answer_to("add rax, rbx")
    block = query.modelled_block(answer.block, answer.cpu.row, answer.assumed, answer.changes)
    full = block.model
    assert full.mapping is not None
    poor = model or replace(full, scheduler=None, front_end=None, mapping=replace(full.mapping, r_max=None))
    monkeypatch.setattr(
        "inference.features.asking.loop.document.modelled_block", lambda *_: replace(block, model=poor)
    )
    with pytest.raises(CannotSimulateError, match=reason):
        timeline_for(answer)


def test_a_long_block_has_fewer_iterations() -> None:
    long = answer_to(LONG)
    loop = timeline_for(long, 50)
    assert 1 <= loop.timeline.iterations < 50
    assert len(loop.timeline.program.uops) * loop.timeline.iterations <= 10_000


def test_an_edited_answer_needs_no_request() -> None:
    answer: LoopAnswer = answer_to(DOT)
    text = write_timeline_text(timeline_for(answer, 1))
    assert all(instruction.text in text for instruction in answer.analysis.instructions[:4])


def test_the_section_asks_for_the_block_that_is_explained(visitor: Client) -> None:
    two = f"{CHAIN}\nret\n{DOT.replace('.l', '.m')}"
    page = visitor.get(reverse("loop"), {"code": two, "piece": "2"}).text
    section = page[page.index('id="loop-timeline"') :]
    assert 'name="piece" value="2"' in section
    assert reverse("loop-timeline", args=["trace.json"]) in section
    assert 'name="code"' in section
