"""RISC-V as compilers, disassemblers, debuggers and profilers print it: the same loop is read from each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.isa.blocks import DETECTED, BlocksOfText, block_of_bytes, read
from inference.isa.code.block import Block, BlockError
from inference.isa.riscv64.front_end import fused_places, moves_of
from inference.isa.riscv64.statements import read as read_statement
from inference.isa.targets import RISCV
from tests.drawn import examples

START = 0x10594
LINES = (
    "addi a1, a1, 8",
    "addi a1, a2, 1000",
    "ld a5, 0(a1)",
    "fld fa4, 16(s3)",
    "fmadd.d fa0, fa4, fa5, fa0",
    "sd ra, 8(sp)",
    "mul s0, s1, t6",
    "lui a5, 0x10",
    "mv a0, a1",
    "li a7, -3",
)
Row = tuple[int, bytes, str]
"""Address, code and text of an instruction."""


def code_of(text: str, distance: int | None = None) -> bytes:
    (instruction,) = read_statement(text)
    code = instruction.code(distance)
    assert code is not None
    return code


def rows_of(lines: Sequence[str]) -> list[Row]:
    """The lines as a loop that ends with `bnez` to its first one."""
    rows, at = [], START
    for line in lines:
        rows.append((at, code_of(line), line))
        at += len(rows[-1][1])
    branch = code_of("bnez a2, target", START - at)
    return [*rows, (at, branch, f"bnez a2, {START:x} <f+0x8>")]


def by_line(line: Callable[[int, bytes, str], str]) -> Callable[[Sequence[Row]], str]:
    return lambda rows: "\n".join(line(*row) for row in rows)


def number(code: bytes) -> str:
    return code[::-1].hex()


def gcc(rows: Sequence[Row]) -> str:
    texts = [f"\t{text}\t# {at}" for at, _, text in rows[:-1]]
    return "\n".join(["\t.option pic", '\t.attribute arch, "rv64gc"', ".L3:", *texts, "\tbnez\ta2,.L3"])


def perf_without_addresses(rows: Sequence[Row]) -> str:
    texts = [
        f"  1.00 │ {'8:' if place == 0 else '  '}  {text}" for place, (_, _, text) in enumerate(rows[:-1])
    ]
    return "\n".join([*texts, "  2.00 │   ↑ bnez a2, 8"])


FORMS: dict[str, Callable[[Sequence[Row]], str]] = {
    "gcc": gcc,
    "objdump": by_line(lambda at, code, text: f"   {at:x}:\t{number(code):<16}\t{text.replace(', ', ',')}"),
    "objdump without bytes": by_line(lambda at, _, text: f"   {at:x}:\t{text}"),
    "llvm-objdump": by_line(lambda at, code, text: f"   {at:x}: {number(code):<12} \t{text}"),
    "llvm-objdump 14": by_line(lambda at, code, text: f"   {at:x}: {code.hex(' '):<12} \t{text}"),
    "gdb": by_line(lambda at, _, text: f"   0x{at:016x} <+{at - START}>:\t{text}"),
    "gdb /r": by_line(lambda at, code, text: f"   0x{at:016x} <+{at - START}>:\t{number(code)}\t{text}"),
    "lldb": by_line(lambda at, _, text: f"    0x{at:x} <+{at - START}>: {text.partition('<')[0]} ; comment"),
    "perf annotate": by_line(lambda at, _, text: f"  12.50 │   {at:x}:   {text}"),
    "perf without addresses": perf_without_addresses,
}
DECORATIONS: dict[str, Callable[[str], str]] = {
    "none": str,
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "colours": lambda text: "\n".join(f"\x1b[32m{line}\x1b[0m" for line in text.splitlines()),
}


@pytest.mark.parametrize("decoration", DECORATIONS)
@pytest.mark.parametrize("form", FORMS)
@examples(12)
@given(lines=st.lists(st.sampled_from(LINES), min_size=2, max_size=7))
def test_the_loop_is_read_from_every_form(form: str, decoration: str, lines: list[str]) -> None:
    rows = rows_of(lines)
    reading = read(DECORATIONS[decoration](FORMS[form](rows)), 9, DETECTED)
    (piece,) = reading.pieces
    assert (piece.block.isa, piece.block.kind) == (RISCV, "loop")
    assert piece.block.code == b"".join(code for _, code, _ in rows)
    assert not reading.dropped


def listed(*lines: str) -> BlocksOfText:
    return read("\n".join(lines), 9, RISCV)


def only_block(text: str) -> Block:
    (piece,) = read(text, 1, RISCV).pieces
    return piece.block


def test_bytes_win_over_a_text_that_is_another_instruction() -> None:
    reading = listed(
        "  10594:\t0521                \tsub\ta0,a0,a1", "  10596:\t00c507b3          \tadd\ta5,a0,a2"
    )
    assert [step.text for step in reading.pieces[0].block.instructions] == [
        "addi a0, a0, 8",
        "add a5, a0, a2",
    ]
    assert reading.notes == ("the text in line 1 is another instruction than its bytes: the bytes count",)


def test_a_text_without_bytes_has_the_length_that_its_addresses_leave() -> None:
    reading = listed("  10594:\taddi a0, a0, 8", "  10598:\taddi a0, a0, 8", "  1059a:\tmv a1, a0")
    assert reading.pieces[0].block.code.hex() == "130585002105aa85"
    assert reading.notes == ()
    misfit = listed("  10594:\tmul a0, a0, a1", "  10596:\tmv a1, a0")
    assert any("other code than its addresses leave room for" in note for note in misfit.notes)


def test_data_behind_a_return_is_counted_and_other_data_is_told() -> None:
    head = "  10594:\t0521                \taddi\ta0,a0,8"
    reading = listed(head, "  10596:\t8082                \tret", "  10598:\t00000001 \t.word\t0x00000001")
    assert (len(reading.pieces), reading.skipped, reading.dropped) == (1, 1, ())
    lost = listed(head, "  10596:\t0000                \tunimp")
    assert [(line.line, line.reason) for line in lost.dropped] == [(2, "is no instruction")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("  10596:\tfrob a0, a1, a2", "no instruction 'frob' here"),
        ("  10596:\tadd a0, a1", "add"),
        ("  10596:\taddi a0, a1, 5000", "addi"),
        ("  10596:\t052105 \taddi\ta0,a0,8", "has 2 or 4 bytes, not 3"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(line: str, reason: str) -> None:
    with pytest.raises(BlockError, match=reason) as caught:
        listed("  10594:\t0521                \taddi\ta0,a0,8", line)
    assert caught.value.line == 2


def test_jumps_become_longer_where_they_reach_too_far() -> None:
    """`c.bnez` reaches 256 bytes; a loop of 300 needs `bnez`, and one of 5,000 has none."""
    for count, length in ((60, 2), (75, 4)):
        block = only_block("loop:\n" + "mul a0, a1, a3\n" * count + "bnez a2, loop")
        assert block.closing is not None
        assert len(block.closing.code) == length
        assert block.kind == "loop"
    with pytest.raises(BlockError, match="cannot reach so far"):
        read("loop:\n" + "mul a0, a1, a3\n" * 1250 + "bnez a2, loop", 9, RISCV)


def test_a_listing_without_bytes_has_the_code_that_gnu_makes() -> None:
    reading = listed(
        "  10594:\tadd\tsp,sp,-16",
        "  10596:\tld\ta0,8(sp)",
        "  10598:\tcsrr\ta4,fcsr",
        "  1059c:\tcsrc\tfcsr,31",
        "  105a0:\tj\t10594 <f>",
    )
    (piece,) = reading.pieces
    assert piece.block.kind == "loop"
    assert piece.block.code.hex() == "411122657327300073f03f00d5bf"


def test_options_switch_compression_off_and_on_again() -> None:
    text = "addi a0, a0, 1\n.option push\n.option norvc\naddi a0, a0, 1\n.option pop\naddi a0, a0, 1"
    assert [len(step.code) for step in only_block(text).instructions] == [2, 4, 2]


def test_pseudo_instructions_are_what_they_stand_for() -> None:
    block = only_block("li a0, 0x12345678\nlla a1, table\nadd a0, a0, a1")
    schemes = [(step.scheme or "").partition(" ")[0] for step in block.instructions]
    assert schemes == ["lui", "addiw", "auipc", "addi", "add"]


def test_data_directives_are_instructions_where_they_run() -> None:
    assert only_block("nop\n.insn 0x00c507b3\n.2byte 0x852e\nnop").instructions[1].text == "add a5, a0, a2"
    with pytest.raises(BlockError, match=r"line 2.*no instructions"):
        read("nop\n.word 0xffffffff\nnop", 9, RISCV)


def test_relocations_headings_and_symbols_are_told() -> None:
    reading = listed(
        "a.o:     file format elf64-littleriscv",
        "Disassembly of section .text:",
        "0000000000000000 <f>:",
        "   0:\t00000517          \tauipc\ta0,0x0",
        "\t\t\t0: R_RISCV_PCREL_HI20\ttable",
        "   4:\t00053503          \tld\ta0,0(a0) # 0 <f>",
    )
    assert [step.scheme for step in reading.pieces[0].block.instructions] == [
        "auipc GPR[64]:W, IMM[20]:R",
        "ld GPR[64]:W, MEM[64]:R",
    ]
    assert reading.skipped == 3
    notes = read("f:\nlui a5, %hi(table)\nlw a0, %lo(table)(a5)\nret", 9, RISCV).pieces[0].notes
    assert notes == ("table is assumed to be 0",)


@examples(200)
@given(st.text(alphabet="adlsw0123,()#-: .\n\tixzrvb%", max_size=200))
def test_any_text_is_a_program_or_an_error(text: str) -> None:
    try:
        reading = read(text, 99, RISCV)
    except BlockError:
        return
    for piece in reading.pieces:
        assert block_of_bytes(piece.block.code, RISCV).code == piece.block.code


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("lui a5, 16\naddi a5, a5, -20\nld a0, 0(a5)", ["lui + addi"]),
        ("slli a0, a1, 32\nsrli a0, a0, 30\nmul a2, a2, a0", ["slli + srli"]),
        ("slli a0, a1, 30\nsrli a0, a0, 32\nmul a2, a2, a0", []),
        ("sh2add a4, a4, a0\nlw a4, 0(a4)\nmul a2, a2, a0", ["sh2add + ld"]),
        ("sh2add a4, a4, a0\nlw a3, 0(a4)\nmul a2, a2, a0", []),
        ("add a4, a4, a0\nflw fa3, 0(a4)\nmul a2, a2, a0", ["add + ld"]),
        ("lui a5, 16\naddi a4, a5, -20\nmul a2, a2, a0", []),
        ("lui zero, 1\nmul a2, a2, a0", []),
        ("addi a5, a5, 8\nmul a2, a2, a0\nlui a5, 16", ["lui + addi"]),  # from the end to the beginning
        ("addi a5, a5, 8\nmul a2, a2, a0\nlui a4, 16", []),
    ],
)
def test_pairs_are_named_where_the_second_updates_what_the_first_makes(text: str, pairs: list[str]) -> None:
    block = only_block(text)
    assert list(moves_of(block)) == pairs
    assert len(fused_places(block, pairs)) == len(pairs)
    assert not fused_places(block, ())
