"""Listings of AArch64 in the forms of several programs, with and without bytes: the same loop is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.isa.aarch64.blocks import BLOCKS
from inference.isa.blocks import DETECTED, BlocksOfText, read
from inference.isa.code.block import BlockError
from inference.isa.targets import AARCH64
from tests.drawn import examples

START = 0x400588
WORDS = (
    0x91000400,  # add x0, x0, #1
    0xF8408400,  # ldr x0, [x0], #8
    0x3CC10401,  # ldr q1, [x0], #16
    0x4E22CC20,  # fmla v0.4s, v1.4s, v2.4s
    0xA9BF7BFD,  # stp x29, x30, [sp, #-16]!
    0xD503201F,  # nop
    0x1B010C02,  # madd w2, w0, w1, w3
)
SUBS = 0xF1000421  # subs x1, x1, #1

Rows = Sequence[tuple[int, int, str]]
"""(address, word, text) of each instruction."""


def rows_of(words: Sequence[int]) -> Rows:
    """The words as a loop that ends with `subs` and `b.ne` to its first one."""
    body = [*words, SUBS]
    branch = 0x54000001 | (-len(body) & 0x7FFFF) << 5
    rows = [(START + 4 * place, word, BLOCKS.line_of(word)) for place, word in enumerate(body)]
    return [*rows, (START + 4 * len(body), branch, f"b.ne\t{START:x} <f+0x8>  // b.any")]


def by_line(line: Callable[[int, int, str], str]) -> Callable[[Rows], str]:
    return lambda rows: "\n".join(line(*row) for row in rows)


def in_order(word: int) -> str:
    return word.to_bytes(4, "little").hex(" ")


def without_addresses(rows: Rows) -> str:
    """`perf annotate` with addresses of targets alone."""
    lines = [
        f"  1.00 │ {'8:' if place == 0 else '  '}  {text}" for place, (_, _, text) in enumerate(rows[:-1])
    ]
    return "\n".join([*lines, "  2.00 │   ↑ b.ne 8"])


FORMS: dict[str, Callable[[Rows], str]] = {
    "objdump": by_line(lambda at, word, text: f"  {at:x}:\t{word:08x} \t{text}"),
    "objdump without bytes": by_line(lambda at, _, text: f"  {at:x}:\t{text}"),
    "llvm-objdump": by_line(
        lambda at, word, text: f"  {at:x}: {word:08x}     \t{text.replace(chr(9), ' 0x')}"
    ),
    "llvm-objdump 10": by_line(lambda at, word, text: f"  {at:x}:       {in_order(word)}  \t{text}"),
    "gdb": by_line(lambda at, _, text: f"   0x{at:016x} <+{at - START}>:\t{text}"),
    "lldb": by_line(lambda at, _, text: f"    0x{at:x} <+{at - START}>: {text.partition('//')[0]} ; comment"),
    "perf annotate": by_line(lambda at, _, text: f"  12.50 │   {at:x}:   {text}"),
    "perf without addresses": without_addresses,
    "IDA": by_line(lambda at, word, text: f".text:{at:016x} {in_order(word)}  {text}"),
}
DECORATIONS: dict[str, Callable[[str], str]] = {
    "none": str,
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "no-break spaces": lambda text: text.replace(" ", "\u00a0"),
    "colours": lambda text: "\n".join(f"\x1b[32m{line}\x1b[0m" for line in text.splitlines()),
    "blank lines": lambda text: text.replace("\n", "\n\n"),
    "capitals": lambda text: text.upper(),
}


@pytest.mark.parametrize("decoration", DECORATIONS)
@pytest.mark.parametrize("form", FORMS)
@examples(8)
@given(words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=6))
def test_the_loop_is_read_from_every_form(form: str, decoration: str, words: list[int]) -> None:
    rows = rows_of(words)
    reading = read(DECORATIONS[decoration](FORMS[form](rows)), 9, DETECTED)
    (piece,) = reading.pieces
    assert (piece.block.isa, piece.block.kind) == (AARCH64, "loop")
    assert piece.block.code == b"".join(word.to_bytes(4, "little") for _, word, _ in rows)
    assert not reading.dropped


def listed(*lines: str) -> BlocksOfText:
    return read("\n".join(lines), 9, AARCH64)


def test_bytes_win_over_a_text_that_is_another_instruction() -> None:
    reading = listed("  400588:\t91000400 \tsub\tx0, x0, #0x1", "  40058c:\td503201f \tnop")
    assert [step.text for step in reading.pieces[0].block.instructions] == ["add x0, x0, #1", "nop"]
    assert reading.notes == ("the text in line 1 is another instruction than its bytes: the bytes count",)


def test_data_behind_a_return_is_counted_and_other_data_is_told() -> None:
    head = "  400588:\t91000400 \tadd\tx0, x0, #0x1"
    reading = listed(head, "  40058c:\td65f03c0 \tret", "  400590:\t00000001 \t.word\t0x00000001")
    assert (len(reading.pieces), reading.skipped, reading.dropped) == (1, 1, ())
    lost = listed(head, "  40058c:\t00000001 \t.word\t0x00000001")
    assert [(line.line, line.reason) for line in lost.dropped] == [(2, "is no instruction")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("  40058c:\t04e00000 \tadd\tz0.d, z0.d, z0.d", "an instruction of SVE, which is not supported"),
        ("  40058c:\tadd\tz0.d, z0.d, z0.d", "a register of SVE or SME, which is not supported"),
        ("  40058c:\tadd\tx0, x0", "no add here has the operands"),
        ("  40058c:\t9100 \tadd\tx0, x0, #1", "has 4 bytes, not 2"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(line: str, reason: str) -> None:
    with pytest.raises(BlockError, match=reason) as caught:
        listed("  400588:\t91000400 \tadd\tx0, x0, #0x1", line)
    assert caught.value.line == 2


def test_a_jump_whose_target_is_not_in_the_listing_closes_nothing() -> None:
    reading = listed(
        "  400588:\tadd\tx0, x0, #0x1", "  40058c:\tnop", "  400590:\tb\tsomewhere", "  400594:\tnop"
    )
    assert [piece.block.kind for piece in reading.pieces] == ["straight", "straight"]
    assert "the target of the jump in line 3 is not in the listing" in reading.notes


def test_relocations_and_headings_are_counted() -> None:
    reading = listed(
        "a.o:     file format elf64-littleaarch64",
        "Disassembly of section .text:",
        "0000000000000000 <f>:",
        "   0:\t90000000 \tadrp\tx0, 0 <table>",
        "\t\t\t0: R_AARCH64_ADR_PREL_PG_HI21\ttable",
        "   4:\t91000000 \tadd\tx0, x0, #0x0",
    )
    assert [step.text for step in reading.pieces[0].block.instructions] == ["adrp x0, #0", "add x0, x0, #0"]
    assert (reading.skipped, reading.dropped) == (3, ())
