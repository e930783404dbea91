"""Listings in parts, in another order, and whose text and bytes disagree."""

from __future__ import annotations

import re

import pytest

from inference.isa.blocks import BlockError, block_of_text, read

LOOP = "4801d8ffc975f9"  # add rax, rbx; dec ecx; jne back
LLDB = """a.out`f:
->  0x401126 <+0>: addq   %rbx, %rax
    0x401129 <+3>: decl   %ecx
    0x40112b <+5>: jne    0x401126                  ; <+0>
"""


def test_sections_and_files_that_begin_at_0_keep_their_loops_apart():
    text = (
        "a.o:     file format elf64-x86-64\n\n0000000000000000 <f>:\n   0:\t48 01 d8\tadd    %rbx,%rax\n"
        "   3:\tff c9\tdec    %ecx\n   5:\t75 f9\tjne    0 <f>\n\nb.o:     file format elf64-x86-64\n\n"
        "0000000000000000 <g>:\n   0:\t48 0f af c3\timul   %rbx,%rax\n   4:\tff c9\tdec    %ecx\n"
        "   6:\t75 f8\tjne    0 <g>\n"
    )
    for listed in (text, re.sub(r"\t(?:[0-9a-f]{2} ?)+\t", "\t", text)):
        loops = {piece.name: piece.block.hex for piece in read(listed, 9).pieces}
        assert loops == {"f": LOOP, "g": "480fafc3ffc975f8"}


def test_lines_in_the_order_of_their_source_are_sorted_by_address():
    lines = LLDB.splitlines()
    assert [piece.block.hex for piece in read("\n".join([lines[3], lines[1], lines[2]]), 9).pieces] == [LOOP]


def test_code_that_a_debugger_shows_again_is_counted():
    reading = read(LLDB + "\n".join(LLDB.splitlines()[1:]), 9)
    assert [piece.block.hex for piece in reading.pieces] == [LOOP]
    assert any("repeated instruction × 3" in note for note in reading.notes)


@pytest.mark.parametrize(
    ("line", "is_noted"),
    [
        ("  401126:\t48 01 d8\tadd    %rcx,%rax", True),
        ("  401126:\t48 01 d8\tsub    %rbx,%rax", True),
        ("  401126:\t48 01 d8\tADD    RAX,RBX", False),
        ("  401126:\t48 01 d8\taddq   %rbx,%rax", False),
        ("  401126:\t48 01 d8\t(bad)", False),
    ],
)
def test_bytes_win_over_their_text(line: str, is_noted: bool):
    reading = read(f"{line}\n  401129:\tff c9\tdec    %ecx\n", 9)
    assert [piece.block.hex for piece in reading.pieces] == ["4801d8ffc9"]
    note = "the text in line 1 is another instruction than its bytes: the bytes count"
    assert (note in reading.notes) == is_noted


def test_cut_bytes_are_never_believed_and_must_fit_the_text():
    text = "0x00401126      {}      movabs rax, 0x1122334455667788\n0x00401130      ffc9      dec ecx\n"
    assert block_of_text(text.format("48b88877.")).hex == "48b88877665544332211ffc9"
    with pytest.raises(BlockError, match="begin with 48 b9 88 77, but the text is 48 b8") as caught:
        read(text.format("48b98877."), 9)
    assert caught.value.line == 1


def test_memory_beside_the_instruction_is_relative_to_it_where_only_that_has_the_length():
    text = "0x00401126      mov eax, dword [0x00404018]\n0x0040112c      dec ecx\n"
    assert block_of_text(text).hex == "8b05ec2e0000ffc9"
    assert block_of_text(text.replace("112c", "112d")).hex == "8b042518404000ffc9"
    note = "the text in line 1 has other code than its addresses leave room for"
    assert note in read(text.replace("112c", "1130"), 9).notes


def test_bytes_without_addresses_are_enough():
    text = "<f>:\n 48 01 d8             \tadd    %rbx,%rax\n ff c9  \tdec    %ecx\n 75 f9  \tjne    0 <f>\n"
    assert [piece.block.hex for piece in read(text, 9).pieces] == [LOOP]
    assert [piece.block.hex for piece in read(f"{text}\n<g>:\n{text[5:]}", 9).pieces] == [LOOP, LOOP]
    long = " 48 b8 88 77 66 55 44 \tmovabs $0x1122334455667788,%rax\n 33 22 11 \n ff c9 \tdec %ecx\n"
    assert block_of_text(long).hex == "48b88877665544332211ffc9"


@pytest.mark.parametrize("target", ["1 <f+0x1>", "<f+0x1>"])
def test_jumps_to_addresses_that_the_text_does_not_have_are_refused(target: str):
    with pytest.raises(BlockError, match="leads to an address: print those of the lines") as caught:
        read(f"<f>:\n\tnop\n\tadd    %rbx,%rax\n\tjne    {target}\n", 9)
    assert caught.value.line == 4


def test_a_line_with_only_a_comment_is_no_instruction():
    reading = read("  401126:\tadd %rbx,%rax\n  401129:\t@ #x\n  40112a:\tdec %ecx\n", 9)
    assert [line.line for line in reading.dropped] == [2]


def test_fwait_is_an_instruction_of_its_own():
    assert (
        block_of_text("  401120:\t9b df e0 \tfstsw  %ax\n  401123:\tff c9 \tdec %ecx\n").hex == "9bdfe0ffc9"
    )
