"""Blocks from AT&T syntax, and in the forms that programs take."""

from __future__ import annotations

import struct
import subprocess

import pytest

from inference.isa.blocks import (
    BlockError,
    as_loop,
    att_of_bytes,
    block_of_bytes,
    block_of_text,
    intel_of_bytes,
    object_file,
    read_blocks,
    schemes_of_bytes,
    with_markers,
)
from inference.isa.x86.blocks.wrapping import BEGIN_MARKER, END_MARKER

SEVERAL = (
    "add rax, rbx\nmov rdx, qword ptr [rax+rcx*4+8]\nlock add dword ptr [rbx], 3\nvaddps ymm1, ymm2, ymm3"
)


def test_att_syntax_is_assembled():
    text = "addq %rbx, %rax  # a sum\n.p2align 4\nmovq 8(%rax,%rcx,4), %rdx ; incq %rax\n"
    assert block_of_text(text).text == "add rax, rbx\nmov rdx, qword ptr [rax+rcx*4+8]\ninc rax"


def test_what_we_write_in_att_syntax_is_read_in_again():
    block = block_of_text(SEVERAL)
    assert block_of_text("\n".join(att_of_bytes(block.code))).code == block.code


def test_paragraphs_may_differ_in_their_syntax():
    blocks = read_blocks("addq %rbx, %rax\n\nadd rax, rbx\n\n4801d8", 3)
    assert [block.hex for block in blocks] == ["4801d8"] * 3


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("incq %rax\nblub %rax", 2, "x86-64 has no instruction 'blub'"),
        ("incq %rax; movq %rax, %foo", 1, "there is no register '%foo'"),
        ("incq %rax\nmovq rax, %rbx", 2, "registers have a % in AT&T syntax: %rax"),
        ("incq %rax\naddl %rax, %rbx", 2, "addl does not take these operands"),
        ("addl $1, [rax]", 1, "has brackets, as Intel syntax has"),
    ],
)
def test_errors_in_att_syntax_name_the_line(text, line, words):
    with pytest.raises(BlockError, match=words) as caught:
        block_of_text(text)
    assert caught.value.line == line


@pytest.mark.parametrize(
    "written",
    [
        '/**/.incbin"{file}",0,8',
        '0:.incbin"{file}",0,8',
        '/**/.include"{file}"',
        'nop;/**/.incbin"{file}"',
        'addq %rax, %rax; 0: .incbin "{file}"',
        '/* %rax */ .incbin "{file}"',
        'lock .incbin "{file}"',
        "/**/.zero 500000000",
        'a:.incbin"{file}"',
        '.set x, 1; .incbin "{file}"',
        '.section .data; .incbin "{file}"',
        ".rept 1000000; addq %rax, %rax; .endr",
    ],
)
def test_no_text_reaches_a_program_that_knows_directives(written, tmp_path, monkeypatch):
    secret = tmp_path / "secret"
    secret.write_bytes(b"\x48\x01\xd8" * 8)
    called = []
    monkeypatch.setattr(subprocess, "run", lambda *given, **_: called.append(given))
    for text in (written.format(file=secret), f"addq %rax, %rbx\n{written.format(file=secret)}"):
        with pytest.raises(BlockError):
            block_of_text(text)
    assert not called


def test_intel_syntax_is_read_in_again():
    block = block_of_text(SEVERAL)
    assert block_of_text("\n".join(intel_of_bytes(block.code))) == block


def test_bytes_that_are_no_instruction_are_named():
    for read in (att_of_bytes, intel_of_bytes, schemes_of_bytes):
        with pytest.raises(BlockError, match="from number 4 on"):
            read(bytes.fromhex("4801d806"))


def test_atts_names_of_x87_are_exchanged_where_the_target_is_below_the_top():
    assert block_of_text("fsub %st(1), %st").hex == "d8e1"
    assert block_of_text("fsub %st, %st(1)").hex == "dce1"


def test_the_schemes_are_those_of_the_described_block():
    block = block_of_text(SEVERAL)
    assert list(schemes_of_bytes(block.code)) == [one.scheme for one in block.instructions]


@pytest.mark.parametrize("text", ["add rax, rbx", "\n".join(["mov qword ptr [r15+8], r14"] * 40)])
def test_a_loop_counts_in_a_register_that_is_free_and_jumps_to_the_begin(text):
    block = block_of_text(text)
    looped = block_of_bytes(as_loop(block.code))
    assert looped.instructions[:-1] == block.instructions
    assert looped.instructions[-1].text == f"dec {block.unused_register}"
    assert (looped.kind, looped.closing_text.removeprefix("{disp32} ")) == ("loop", "jne .loop")


def test_markers_stand_around_the_block():
    marked = block_of_bytes(with_markers(bytes.fromhex("4801d8")))
    texts = [one.text for one in marked.instructions]
    number = ".byte 0x64, 0x67, 0x90 # nop"
    assert texts == ["mov ebx, 0x6F", number, "add rax, rbx", "mov ebx, 0xDE", number]
    assert (BEGIN_MARKER.hex(), END_MARKER.hex()) == ("bb6f000000646790", "bbde000000646790")


def test_an_object_file_has_the_code_as_a_function():
    code = bytes.fromhex("4801d8")
    elf = object_file(code, "work")
    table, count, names_at = (*struct.unpack_from("<Q", elf, 40), *struct.unpack_from("<HH", elf, 60))
    sections = [struct.unpack_from("<IIQQQQIIQQ", elf, table + 64 * k) for k in range(count)]
    names = [elf[sections[names_at][4] + one[0] :].partition(b"\0")[0] for one in sections]
    assert names == [b"", b".text", b".symtab", b".strtab", b".shstrtab"]
    offset, length = sections[1][4:6]
    assert elf[offset : offset + length] == code
    symbol = struct.unpack_from("<IBBHQQ", elf, sections[2][4] + 24)
    assert symbol[1:] == (0x12, 0, 1, 0, 3)  # a global function in section 1
    assert elf[sections[3][4] + symbol[0] :].startswith(b"work\0")
