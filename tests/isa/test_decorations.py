"""Decoration changes no block, in any listing: arrows, frames, colours, sources, blanks, encodings."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.isa.blocks import BlockError, read
from inference.isa.x86.assembly.reading import read_program
from tests.drawn import examples
from tests.isa.decorations import CODE, DAMAGES, applied, decorated, of_form
from tests.isa.printed_listings import FORMS, Line, loops
from tests.isa.printed_native_listings import NATIVE_FORMS

ONLY_BYTES = re.compile(r"[\s0-9a-f]+")


@pytest.mark.parametrize("name", NATIVE_FORMS)
@examples(30)
@given(lines=loops())
def test_a_listing_is_read_to_its_bytes(name: str, lines: list[Line]):
    plain = read("\n".join(FORMS["objdump"](lines)), 99)
    found = read("\n".join(line.text for line in NATIVE_FORMS[name](lines)), 99)
    assert not found.dropped
    if name != "perf --stdio2":  # where the length of code is not known
        assert [piece.block.hex for piece in found.pieces] == [piece.block.hex for piece in plain.pieces]
    assert not any("other code than its addresses" in note for note in found.notes)
    assert not any("another instruction" in note for note in found.notes)


@pytest.mark.parametrize("name", [*FORMS, *NATIVE_FORMS])
@examples(40)
@given(lines=loops(), rng=st.randoms())
def test_decoration_changes_no_block(name: str, lines: list[Line], rng: Random):
    plain = read("\n".join(line.text for line in of_form(name, lines)), 99)
    found = read(decorated(name, lines, rng), 99)
    assert not plain.dropped
    assert not found.dropped
    assert [piece.block.hex for piece in found.pieces] == [piece.block.hex for piece in plain.pieces]


@pytest.mark.parametrize("name", NATIVE_FORMS)
@examples(30)
@given(lines=loops(), rng=st.randoms())
def test_a_damaged_line_is_in_a_block_or_told(name: str, lines: list[Line], rng: Random):
    printed = list(NATIVE_FORMS[name](lines))
    damaged = applied(printed, DAMAGES[rng.choice(sorted(DAMAGES))], rng)
    try:
        program = read_program("\n".join(line.text for line in damaged))
    except BlockError:
        return
    if not program.instructions:  # which pages refuse
        return
    told = {line.line for line in program.dropped} | set(program.remarks)
    there = {damaged[instruction.line - 1].number for instruction in program.instructions} | {
        damaged[number - 1].number for number in told
    }
    silent = [line for line in damaged if line.number is not None and line.number not in there]
    read_codes = {lines[number].code for number in there if number is not None}
    assert not [
        line.text
        for line in silent
        if CODE.search(line.text)
        # The last bytes of an instruction complete an equal one that lost its own.
        and not (ONLY_BYTES.fullmatch(line.text) and lines[line.number].code in read_codes)
    ]
