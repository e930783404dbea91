"""`manage.py decode`: code in, blocks out, one object for scripts."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from inference.web.data_command import blocks_of_file
from tests.doors import printed

LOOP = (
    "f:\n mov eax, 0 # %eax\n.L2:\n add eax, [rdi]\n js .L3\n add rdi, 4\n cmp rdi, rsi\n jne .L2\n.L3: ret\n"
)


@pytest.fixture
def code(tmp_path: Path) -> Path:
    file = tmp_path / "code.s"
    file.write_text(LOOP)
    return file


def test_a_script_gets_one_object(code: Path):
    assert json.loads(printed("decode", str(code), "--json")) == {
        "blocks": [
            {
                "name": "f",
                "kind": "straight",
                "isa": "x86-64",
                "hex": "b800000000",
                "text": "mov eax, 0",
                "schemes": ["mov GPR[32]:W, IMM[32]:R"],
                "notes": [],
            },
            {
                "name": ".L2",
                "kind": "loop",
                "isa": "x86-64",
                "hex": "03074883c7044839f7",
                "text": ".loop:\nadd eax, dword ptr [rdi]\nadd rdi, 4\ncmp rdi, rsi\njne .loop",
                "schemes": [
                    "add GPR[32]:RW, MEM[32]:R",
                    "add GPR[64]:RW, IMM[8]:R",
                    "cmp GPR[64]:R, GPR[64]:R",
                ],
                "notes": ["js .L3 (line 5) is assumed not taken"],
            },
        ],
        "skipped": 0,
        "dropped": [],
    }


def test_people_get_a_table(code: Path):
    lines = printed("decode", str(code)).splitlines()
    assert lines[0] == "f (straight, line 2)"
    assert any(line.split() == ["jne", ".loop", "closes", "the", "loop"] for line in lines)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"nop\n  frob rax\n", {"line": 2, "column": 3}),
        (b"nop\n\nnop\n.rept 5\n", {"line": 4, "column": 1}),
        (b"", {"line": 0, "column": 0}),
        (b"nop\n\xff\xfe", {"line": 0, "column": 0}),
        (b"90" * 6000, {"line": 1, "column": 0}),
    ],
)
def test_what_cannot_be_read_fails_all_and_says_where(tmp_path: Path, capsys, content: bytes, error: dict):
    file = tmp_path / "code.s"
    file.write_bytes(content)
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("decode", str(file), "--json", stdout=out)
    assert ended.value.code == 1
    told = json.loads(out.getvalue())
    assert told.keys() == {"error", "line", "column"}
    assert told.items() >= error.items()
    with pytest.raises(CommandError):
        printed("decode", str(file))


def test_a_missing_file_is_an_error_of_the_same_form(tmp_path: Path):
    out = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("decode", str(tmp_path / "none"), "--json", stdout=out)
    assert "cannot be read" in json.loads(out.getvalue())["error"]


LISTING = "  401126:\t48 01 d8\tadd %rbx,%rax\n  imul %rbx,%rax\n  401129:\tff c9\tdec %ecx\n"
NOTICE = "line 2 looks like code, and is in no block: imul %rbx,%rax"


def test_a_line_that_is_not_read_is_told_with_its_number(code: Path):
    code.write_text(LISTING)
    assert f"Warning: {NOTICE}" in printed("decode", str(code)).splitlines()
    assert json.loads(printed("decode", str(code), "--json"))["dropped"] == [
        {"line": 2, "text": "imul %rbx,%rax", "reason": "looks like code"}
    ]


def test_commands_that_take_blocks_warn_of_such_a_line(code: Path):
    code.write_text(LISTING)
    warnings: list[str] = []
    (block,) = blocks_of_file(str(code), "", 9, warnings.append)
    assert block.hex == "4801d8ffc9"
    assert warnings == [f"warning: {NOTICE}"]
