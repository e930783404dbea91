"""Code with jumps on the page of basic blocks: pasted whole, its loops are a click each."""

from __future__ import annotations

import subprocess

import pytest
from django.test import Client
from django.urls import reverse

from inference.features.asking.predictors import offers as offering
from inference.features.asking.predictors.query import PredictorListing
from inference.features.asking.questions.query import KIND
from inference.isa.blocks import block_of_hex
from inference.models import PortMapping, Predictor, Run
from inference.predictors.kinds import KINDS
from inference.web import code_reading
from tests.features.blocks.test_pages import FIELDS
from tests.rows.library import isa, mapping, visitor

__all__ = ["isa", "mapping", "visitor"]

COMPILED = """
        .text
        .file   "example.c"
        .globl  total                            # -- Begin function total
        .p2align        4, 0x90
        .type   total,@function
total:                                  # @total
        .cfi_startproc
# %bb.0:
        xorl    %eax, %eax
        testl   %esi, %esi
        jle     .LBB0_3
# %bb.1:
        movl    %esi, %ecx
        xorl    %edx, %edx
.LBB0_2:                                # =>This Inner Loop Header: Depth=1
        imull   $3, (%rdi,%rdx,4), %esi
        addl    %esi, %eax
        incq    %rdx
        cmpq    %rdx, %rcx
        jne     .LBB0_2
.LBB0_3:
        retq
.Lfunc_end0:
        .size   total, .Lfunc_end0-total
        .cfi_endproc
        .section        ".note.GNU-stack","",@progbits
"""
GCC = """square(int):
        push    rbp
        mov     rbp, rsp
        mov     DWORD PTR [rbp-4], edi
        mov     eax, DWORD PTR [rbp-4]
        imul    eax, eax
        pop     rbp
        ret
"""
CLANG = """square:                                 # @square
        movl    %edi, %eax
        imull   %edi, %eax
        retq
"""
BODY = "6b34970301f048ffc24839d1"


@pytest.fixture(autouse=True)
def tools(db: None, monkeypatch: pytest.MonkeyPatch) -> list[Predictor]:
    """Two tools that are ticked, whatever is installed here."""
    rows = [
        Predictor.objects.create(name=name, kind="command", key=name[0] * 64) for name in ("mca", "osaca")
    ]
    monkeypatch.setattr(
        offering,
        "predictor_listings",
        lambda among: [PredictorListing(KINDS["command"], row.name, "1", {}, row=row) for row in rows],
    )
    return rows


def test_a_compiler_s_output_pasted_whole_has_its_loop_asked_in_two_clicks(
    visitor: Client, tools: list[Predictor]
):
    asked = {**FIELDS, "code": COMPILED, "predictors": ["mca", "osaca"]}
    decoded = visitor.get(visitor.post(reverse("blocks"), {**asked, "press": "decode"}).headers["Location"])
    (button,) = (line for line in decoded.text.split("<button") if "Predict this loop" in line)
    assert 'form="ask-form"' in button
    press = button.split('value="')[1].split('"')[0]
    answer = visitor.post(reverse("blocks"), {**asked, "press": press})
    run = Run.objects.get(kind=KIND)
    assert answer.headers["Location"] == reverse("asked-blocks", args=[run.pk])
    assert run.config["predictors"] == [row.pk for row in tools]
    (code,) = run.config["blocks"]
    assert block_of_hex(code).body.hex() == BODY
    again = visitor.get(reverse("blocks"), {"from": run.pk})
    assert [piece.block.hex for piece in again.context["pieces"]] == [code]


def test_what_was_passed_over_or_assumed_is_on_the_page(visitor: Client):
    code = f"{COMPILED}\n.text\nmovss .LC0(%rip), %xmm0\njs .elsewhere\naddss %xmm0, %xmm0"
    page = visitor.get(reverse("blocks"), {"isa": "x86-64", "code": code})
    assert " ignored: " in page.text
    assert ".cfi_startproc" in page.text
    assert ".LC0 is assumed to be 0" in page.text


def test_a_piece_that_is_not_there_any_more_is_refused(visitor: Client):
    asked = {**FIELDS, "code": "nop", "press": "piece-7", "predictors": ["mca"]}
    answer = visitor.post(reverse("blocks"), asked)
    assert answer.status_code == 400
    assert "There is no piece 7 any more" in answer.text
    assert not Run.objects.exists()


def test_a_loop_s_answers_say_how_each_predictor_was_asked(visitor: Client, tools: list[Predictor]):
    llvm = Predictor.objects.create(name="llvm-mca", kind="llvm-mca", key="l" * 64)
    run = Run.objects.create(
        name="asked",
        kind=KIND,
        state=Run.State.QUEUED,
        config={"predictors": [tools[0].pk, llvm.pk], "blocks": [f"{BODY}75f2"], "anew": False},
    )
    page = visitor.get(reverse("asked-blocks", args=[run.pk]))
    lines = {line.name: line.loop_treatment for line in page.context["lines"]}
    assert lines["predictor " + str(llvm.pk) if "llvm-mca" not in lines else "llvm-mca"] == "branch included"
    assert lines["mca"] == "branch left out"
    assert "branch left out" in page.text
    assert "loop branch" in page.text


def test_text_of_a_page_reads_back_to_the_same_blocks(visitor: Client):
    codes = [f"{BODY}75f2", "480103", "4803c3", "66662e0f1f440000", "62f16c585808"]
    run = Run.objects.create(
        name="asked", kind=KIND, state=Run.State.QUEUED, config={"predictors": [], "blocks": codes}
    )
    page = visitor.get(reverse("blocks"), {"from": run.pk})
    assert [piece.block.hex for piece in page.context["pieces"]] == codes


@pytest.mark.parametrize("text", [GCC, CLANG])
def test_the_default_snippet_of_an_online_compiler_is_read(visitor: Client, text: str):
    page = visitor.get(reverse("blocks"), {"isa": "x86-64", "code": text})
    assert page.status_code == 200
    (piece,) = page.context["pieces"]
    assert "imul" in piece.block.text


def test_the_mapping_s_page_gets_no_process(visitor: Client, mapping: PortMapping, monkeypatch):
    def never(*args, **more):
        raise AssertionError("reading code starts no program")

    code_reading.read("nop", 1)  # the process that reads stays
    monkeypatch.setattr(subprocess, "Popen", never)
    assert visitor.get(reverse("blocks"), {"isa": "x86-64", "code": COMPILED}).status_code == 200


LISTING = "  401126:\t48 01 d8\tadd %rbx,%rax\n  imul %rbx,%rax\n  401129:\tff c9\tdec %ecx\n"


def test_a_line_that_looks_like_code_and_is_not_read_is_a_warning(visitor: Client, mapping: PortMapping):
    for address in (reverse("blocks"), reverse("mapping", args=[mapping.pk])):
        page = visitor.get(address, {"isa": "x86-64", "code": LISTING, "tab": "loop"})
        assert "1 line of this text looks like code and is in no block" in page.text
        assert "line 2 looks like code: <code>imul %rbx,%rax</code>" in page.text


def test_such_a_text_is_asked_about_piece_by_piece_alone(visitor: Client, tools: list[Predictor]):
    asked = {**FIELDS, "code": LISTING, "predictors": ["mca"]}
    refused = visitor.post(reverse("blocks"), {**asked, "press": "ask"})
    assert refused.status_code == 400
    assert "line 2 looks like code, and is in no block" in refused.text
    assert not Run.objects.exists()
    assert visitor.post(reverse("blocks"), {**asked, "press": "piece-1"}).status_code == 302
    assert Run.objects.get(kind=KIND).config["blocks"] == ["4801d8ffc9"]
