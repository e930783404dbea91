"""The sections of an answer about a loop: bounds, instructions, dependencies, what if."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import parse_qs, urlparse

import pytest
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.urls import reverse
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.core.loop.values import LoopAnalysis
from inference.features.asking.loop.answer import LoopAnswer, answer_of
from inference.features.asking.loop.comparison import (
    CodePair,
    WhatIfView,
    comparison_context,
    side_by_side,
    unrolled,
)
from inference.features.asking.loop.dependency_graph import graph_context
from inference.features.asking.loop.instruction_table import (
    bounds_context,
    instruction_table,
    instructions_context,
    ports_text,
    uops_text,
)
from inference.features.asking.loop.query import LoopCpu
from inference.features.asking.loop.request import LoopQuestion
from inference.features.library.gallery.query import recorded_core
from inference.figures.dependency_graph import edge_text
from inference.isa.blocks import block_of_text
from inference.isa.code.annotations import InstructionLine, SourcePlace
from inference.isa.code.block import BlockError
from inference.isa.targets import DEFAULT
from tests.loop_analyses import known_loop, random_loop, unknown_loop, unmapped_loop
from tests.rows.library import visitor

__all__ = ["visitor"]

CHAIN = ".l:\nimul rax, rbx\nadd rax, rcx\nsub rdx, 1\njne .l"
DOT = """\
.l: vmovss xmm1, [rdi+rax*4]
    vmulss xmm1, xmm1, [rsi+rax*4]
    add rax, 1
    vaddss xmm0, xmm0, xmm1
    cmp rdx, rax
    jne .l
"""
REQUEST = RequestFactory().get("/loop/")


def answer_to(code: str, **fields: object) -> LoopAnswer:
    core = recorded_core("Recorded Zen 4")
    assert core is not None
    cpu = LoopCpu(core.name, core.label, core)
    return answer_of(LoopQuestion.model_validate({"code": code, **fields}), [cpu])


def answer_with(analysis: LoopAnalysis) -> LoopAnswer:
    return replace(answer_to(CHAIN), analysis=analysis)


def rendered(name: str, answer: LoopAnswer) -> str:
    contexts = {
        "bounds": bounds_context,
        "instructions": instructions_context,
        "graph": graph_context,
        "comparison": comparison_context,
    }
    context = contexts[name](REQUEST, answer)
    assert context is not None
    return render_to_string(f"inference/loop/{name}.html", {"answer": answer, **context})


def cells_of(html: str, part: str) -> list[list[str]]:
    """The texts of the cells of each row of a table."""
    section = re.search(rf"<{part}>(.*?)</{part}>", html, re.DOTALL)
    assert section is not None
    rows = re.findall(r"<tr.*?</tr>", section[1], re.DOTALL)
    return [
        [re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<t[dh].*?</t[dh]>", row, re.DOTALL)]
        for row in rows
    ]


def keys_in(html: str) -> set[str]:
    return set(re.findall(r'data-edge="([^"]+)"', html))


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 100), st.integers(0, 2**32))
def test_printed_columns_add_up_to_the_loads_of_the_ports(length: int, seed: int) -> None:
    analysis = random_loop(length, seed)
    table = instruction_table(analysis, "cpu", DEFAULT)
    html = render_to_string("inference/loop/instructions.html", {"table": table})
    (sums,) = cells_of(html, "tfoot")
    for place, column in enumerate(table.ports):
        cells = [row[2 + place] for row in cells_of(html, "tbody") if "?" not in row[2]]
        printed = sum(float(cell) for cell in cells if cell not in ("", "·"))
        assert printed == pytest.approx(analysis.port_loads[column.port], abs=0.005 * length + 1e-9)
        last = float(sums[2 + place].removesuffix(" the busiest"))
        assert last == pytest.approx(analysis.port_loads[column.port], abs=0.0051)
    busiest = [column.name for column in table.ports if column.is_busiest]
    loads = dict(zip(analysis.ports, analysis.port_loads, strict=True))
    assert all(loads[name] == pytest.approx(max(loads.values())) for name in busiest)
    assert bool(busiest) == (max(analysis.port_loads) > 0)


def test_what_is_unknown_is_a_question_mark_and_never_a_number() -> None:
    html = rendered("instructions", answer_with(unknown_loop()))
    unknown, known = cells_of(html, "tbody")
    assert unknown[2:6] == ["?", "?", "?", ""]
    assert unknown[1].startswith("vfrob ymm0, ymm1")
    assert re.search(r"\s\?$", unknown[1])
    assert "≈ nearest form" in known[1]
    assert html.count("scheme=add+GPR%5B64%5D%3ARW%2C+GPR%5B64%5D%3AR") == 1
    assert "Sum of what is known" in html
    assert "Its latency was not measured" in html


def test_a_model_without_ports_has_no_columns_of_ports() -> None:
    html = rendered("instructions", answer_with(unmapped_loop()))
    (row,) = cells_of(html, "tbody")
    assert row[2:] == ["?", "?", "", "3"]
    assert "port bound" not in html
    assert "none of the parts" in rendered("bounds", answer_with(unmapped_loop()))
    assert graph_context(REQUEST, answer_with(unmapped_loop())) is None


def test_known_instructions_have_exact_values_and_the_chain_is_marked() -> None:
    html = rendered("instructions", answer_with(known_loop()))
    imul, add, move = cells_of(html, "tbody")
    assert imul[1].split("\n")[0] == "imul rax, rbx"
    assert imul[2:] == ["", "1.00", "", "1", "3.0", "+3.0", "3"]
    assert add[2:] == ["0.25", "0.25", "0.50", "1", "1.0", "+1.0", "3"]
    assert "no port · eliminated" in move[1]
    (sums,) = cells_of(html, "tfoot")
    assert sums[2:] == ["0.25", "1.25 the busiest", "0.50", "3", "", "4.0", "9"]
    assert "&lt;rcx&gt;" in html


def test_samples_and_source_lines_stand_beside_their_instructions() -> None:
    place, line = SourcePlace("dot.c", 5, "s += <a>[i];"), InstructionLine(1)
    lines = [replace(line, source=place, samples=7.5), replace(line, source=place, samples=1), line]
    answer = answer_with(known_loop())
    answer = replace(
        answer, reading=replace(answer.reading, pieces=(replace(answer.piece, lines=tuple(lines)),))
    )
    html = rendered("instructions", answer)
    assert html.count("dot.c:5: s += &lt;a&gt;[i];") == 1
    assert [row[2] for row in cells_of(html, "tbody")] == ["7.50", "1.00", ""]
    assert [row[2] for row in cells_of(html, "tfoot")] == ["8.50"]
    assert "Samples" not in rendered("instructions", answer_with(known_loop()))


def test_bounds_are_ranges_and_the_simulation_stands_beside_them() -> None:
    html = rendered("bounds", answer_with(known_loop()))
    assert [row[:2] for row in cells_of(html, "tbody")] == [
        ["Dependencies limits", "4.00"],
        ["Ports", "1.25"],
        ["Simulated scheduler", "4.50"],
    ]
    assert "Two µops wait for one port" in html
    html = rendered("bounds", answer_with(unknown_loop()))
    texts = [row[1] for row in cells_of(html, "tbody")]
    assert texts == ["≥ 1.00likely 4.00", "≥ 0.50likely 1.00", "0.25 – 0.50likely 0.50", "?"]


def test_names_of_ports_are_short() -> None:
    assert ports_text([]) == ""
    assert ports_text(["0", "1", "5", "6"]) == "0–1, 5–6"
    assert ports_text(["ALU0", "ALU1", "AGU2", "BR"]) == "ALU0–1, AGU2, BR"
    assert ports_text(["9′", "10′"]) == "9′, 10′"
    assert uops_text((), ["0"]) == "no port"
    assert uops_text(None, ["0"]) == "?"


@pytest.mark.parametrize("code", [CHAIN, DOT, "add rax, rbx", "mov rax, [rsp+8]\nmov [rsp+8], rax"])
def test_the_graph_has_an_edge_per_dependence(code: str) -> None:
    answer = answer_to(code)
    assert answer.analysis.dependences
    assert keys_in(rendered("graph", answer)) == {edge.key for edge in answer.analysis.dependences}


def test_an_edge_is_taken_away_and_restored_by_links() -> None:
    answer = answer_to(CHAIN)
    (key,) = [edge.key for edge in answer.analysis.dependences if edge.is_critical and edge.iterations]
    link = re.search(rf'id="edge-{key}" href="([^"]+)"', rendered("graph", answer))
    assert link is not None
    fields = parse_qs(urlparse(link[1].replace("&amp;", "&")).query)
    assert fields["without"] == [key]
    changed = answer_to(fields["code"][0], without=fields["without"][0])
    html = rendered("graph", changed)
    assert changed.analysis.usual < answer.analysis.usual
    assert f"{changed.analysis.usual:.2f} cycles instead of {answer.analysis.usual:.2f}" in html
    assert keys_in(html) == {edge.key for edge in answer.analysis.dependences}
    assert re.search(rf'class="dependence carried removed" data-edge="{key}"', html)
    restoring = re.search(rf'id="edge-{key}" href="([^"]+)"', html)
    assert restoring is not None
    assert "without" not in restoring[1]


def test_keys_that_the_block_does_not_have_are_ignored() -> None:
    answer = answer_to(CHAIN, without="7-9-rax,<b>,2-2-nothing")
    html = rendered("graph", answer)
    assert "loop-removed" not in html
    assert answer.analysis.usual == answer_to(CHAIN).analysis.usual


def test_a_long_block_is_folded_until_all_is_asked_for() -> None:
    code = "\n".join(["imul rax, rbx", *(f"add r{8 + k % 8}, {k}" for k in range(99))])
    folded, full = (rendered("graph", answer_to(code, graph=graph)) for graph in ("", "all"))
    assert "beside the critical chain are folded" in folded
    assert full.count("data-node") == 100 > folded.count("data-node") > 0
    assert "Fold what is beside" in full
    assert len(full) < 200_000


def view_of(answer: LoopAnswer) -> WhatIfView:
    view: WhatIfView = comparison_context(REQUEST, answer)["comparison"]
    return view


@pytest.mark.django_db
def test_an_edge_taken_away_stands_beside_the_loop_as_it_is() -> None:
    answer = answer_to(CHAIN)
    assert view_of(answer).rows == ()
    edge = next(edge for edge in answer.analysis.dependences if edge.is_critical)
    view = view_of(answer_to(CHAIN, without=edge.key))
    prediction, *_ = view.rows
    assert [version.label for version in view.versions] == ["As it is", f"Without {edge_text(edge)}"]
    assert prediction.cells[0].change == ""
    assert prediction.cells[1].change.startswith("−")


@pytest.mark.django_db
def test_an_unrolled_loop_is_counted_per_iteration_of_the_loop_as_it_is() -> None:
    view = view_of(answer_to(DOT, unroll=4))
    assert [version.iterations for version in view.versions] == [1, 4]
    rows = {row.label: row for row in view.rows}
    assert rows["Dependencies"].cells[1].change == "="
    assert rows["Front end"].cells[1].change.startswith("−")
    assert [factor for factor, _ in view.unrollings] == [1, 2, 4, 8]
    assert view_of(answer_to("add rax, rbx", unroll=4)).unrollings == ()


@pytest.mark.django_db
def test_both_versions_of_the_code_are_compared_bound_by_bound() -> None:
    answer = answer_to(CHAIN, before=CHAIN.replace("imul rax, rbx", "add rax, rbx"))
    view = view_of(answer)
    assert [version.label for version in view.versions] == ["A: before", "B: now"]
    rows = {row.label: row for row in view.rows}
    assert float(rows["Dependencies"].cells[1].change) == pytest.approx(2, abs=0.1)
    assert view.code[0] == CodePair("add rax, rbx", "imul rax, rbx")
    assert [pair.is_changed for pair in view.code] == [True, False, False, False]
    html = rendered("comparison", answer)
    assert "<del>add rax, rbx</del>" in html
    assert "limits" in html


@pytest.mark.django_db
def test_latencies_of_loads_can_be_taken_for_hits() -> None:
    code = ".l:\nmov rax, [rax]  # LATENCY 40\nsub rdx, 1\njne .l"
    counts, hits = answer_to(code), answer_to(code, loads="hit")
    assert counts.analysis.usual == pytest.approx(40)
    assert view_of(counts).loads
    prediction = view_of(hits).rows[0]
    assert prediction.cells[0].text == "40.00"
    assert float(prediction.cells[1].text) < 10
    assert view_of(answer_to(CHAIN)).loads == ""


@pytest.mark.django_db
def test_versions_that_cannot_be_shown_say_why() -> None:
    long = ".l:\n" + "add rax, rbx\n" * 100 + "jne .l"
    view = view_of(answer_to(long, before="frob rax", other="no <such> CPU", unroll=8))
    assert [version.label for version in view.versions] == ["As it is"]
    unreadable, too_long, no_cpu = view.problems
    assert "line 1" in unreadable
    assert too_long.startswith("Unrolled ×8")
    assert "no <such> CPU" in no_cpu
    assert "no &lt;such&gt; CPU" in rendered("comparison", answer_to(long, other="no <such> CPU"))


def test_a_comparison_before_the_jump_is_not_unrolled() -> None:
    block = block_of_text(DOT)
    copies, order = unrolled(block, 3)
    texts = [text.partition(" ")[0] for _, text in copies.listing]
    assert texts.count("cmp") == texts.count("jne") == 1
    assert texts.count("vaddss") == 3
    assert order == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 4]
    assert copies.closing is not None
    counted, order = unrolled(block_of_text(CHAIN), 2)
    assert len(counted.instructions) == len(order) == 6
    with pytest.raises(BlockError, match="without a jump"):
        unrolled(block_of_text("add rax, rbx"), 2)


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
def test_lines_side_by_side_are_those_of_both_versions(before: list[str], after: list[str]) -> None:
    pairs = list(side_by_side(before, after))
    assert [pair.before for pair in pairs if pair.before is not None] == before
    assert [pair.after for pair in pairs if pair.after is not None] == after


def test_evidence_of_a_scheme_says_what_it_rests_on(visitor: Client) -> None:
    scheme = "imul GPR[64]:RW, GPR[64]:R"
    page = visitor.get(reverse("loop-evidence"), {"scheme": scheme})
    assert page.status_code == 200
    assert "cycles" in page.text
    assert "latencies" in page.text
    unknown = visitor.get(reverse("loop-evidence"), {"scheme": "frob <b>"})
    assert unknown.text.count("not measured") == 3
    both = visitor.get(reverse("loop-evidence"), {"scheme": [scheme, "add GPR[64]:RW, GPR[64]:R"]})
    assert both.text.count("<dt>Latency</dt>") == 2
    assert "<b></b>" not in unknown.text
    assert visitor.get(reverse("loop-evidence")).status_code == 400
    assert visitor.get(reverse("loop-evidence"), {"scheme": scheme, "cpu": "none"}).status_code == 400
