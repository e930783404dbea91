"""Code through the API: the same object as the shell's, and errors with their place."""

from __future__ import annotations

import pytest

from tests.rows.programs import Program

LOOP = "f:\n mov eax, 0\n.L2:\n add eax, [rdi]\n dec ecx\n jne .L2\n ret"


def test_code_is_read_to_its_loops_and_straight_pieces(program: Program):
    status, found = program("POST", "/decode", {"code": f".text\n{LOOP}"})
    assert status == 200
    assert found["skipped"] == 1
    assert [(one["name"], one["kind"], one["hex"]) for one in found["blocks"]] == [
        ("f", "straight", "b800000000"),
        (".L2", "loop", "0307ffc9"),
    ]
    assert found["blocks"][1]["text"].endswith("jne .loop")
    assert found["blocks"][1]["schemes"] == ["add GPR[32]:RW, MEM[32]:R", "dec GPR[32]:RW"]


def test_decoded_blocks_have_names_and_kinds_beside_their_predictions(program: Program):
    status, found = program("POST", "/blocks", {"code": LOOP})
    assert status == 200
    assert [(one["name"], one["kind"]) for one in found] == [("f", "straight"), (".L2", "loop")]
    assert found[1]["hex"] == "0307ffc975fa"
    assert [one["text"] for one in found[1]["instructions"]] == ["add eax, dword ptr [rdi]", "dec ecx"]


def test_an_error_says_where_it_is(program: Program):
    status, problem = program("POST", "/decode", {"code": "nop\n  frob rax"})
    assert status == 422
    assert "line 2, column 3: x86-64 has no instruction 'frob'" in str(problem)
    assert program("POST", "/decode", {"code": "nop", "most": 3})[0] == 422


LISTING = "  401126:\t48 01 d8\tadd %rbx,%rax\n  imul %rbx,%rax\n  401129:\tff c9\tdec %ecx\n"
NOTICE = "line 2 looks like code, and is in no block: imul %rbx,%rax"


def test_a_line_that_is_not_read_is_told_with_its_number(program: Program):
    status, found = program("POST", "/decode", {"code": LISTING})
    assert status == 200
    assert found["dropped"] == [{"line": 2, "text": "imul %rbx,%rax", "reason": "looks like code"}]
    assert found["skipped"] == 1
    status, blocks = program("POST", "/blocks", {"code": LISTING})
    assert status == 200
    assert [one["notes"] for one in blocks] == [[NOTICE]]
    assert program("POST", "/blocks", {"code": LOOP})[1][0]["notes"] == []


@pytest.mark.parametrize("path", ["/questions", "/explanations"])
def test_operations_without_room_for_a_notice_refuse_the_text(path: str, program: Program):
    status, problem = program("POST", path, {"code": LISTING, "predictors": ["a", "b"]})
    assert status == 422
    assert "line 2: this line looks like code, and is in no block: imul %rbx,%rax" in str(problem)
