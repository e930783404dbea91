"""No instruction of a text is lost silently: it is in a block, or an error or a notice names its line."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.isa.blocks import BlockError
from inference.isa.code.pieces import AssemblyProgram
from inference.isa.x86.assembly.reading import read_program
from tests.drawn import examples
from tests.isa.printed_listings import FORMS, Line, loops

LOOP = "4801d8ffc975fa"
JUNK = ("?", "@", "|", "<", "}", "foo ", "x", "!", "\\", "=", "\x01", "\x1b")

CODE = re.compile(r"\b(?:[re][abcds][xip]|[xyz]mm\d|r9d?)\b|^\s*(?:0x)?[0-9a-f]{6,16}:|([0-9a-f]{2} ){2}")
"""What no line has that is not code: a register, an address, bytes."""

Decorate = Callable[[str, st.DataObject], str]


def inserted(line: str, data: st.DataObject, junk: Sequence[str]) -> str:
    at = data.draw(st.integers(0, len(line)))
    return f"{line[:at]}{data.draw(st.sampled_from(junk))}{line[at:]}"


DAMAGES: dict[str, Decorate] = {
    "junk": lambda line, data: inserted(line, data, JUNK),
    "cut": lambda line, data: line[: data.draw(st.integers(0, len(line)))],
    "cut before": lambda line, data: line[data.draw(st.integers(0, len(line))) :],
    "unknown": lambda line, data: re.sub(r"\b(add|imul|dec|mov|nop)", "frob", line),
    "of AArch64": lambda line, data: "  add x0, x1, x2",
    "without address": lambda line, data: re.sub(r"^.*?:", "", line),
}


def places_of(printed: Sequence[str], name: str, lines: Sequence[Line]) -> list[int]:
    """The numbers, from 1, of the lines of a form that have instructions."""
    headings = {*FORMS[name](()), ".L3:", "G_M000_IG03:", "M00_L00:"}
    found = [number for number, line in enumerate(printed, start=1) if line not in headings]
    assert len(found) == len(lines)
    return found


def told(program: AssemblyProgram) -> set[int]:
    return {one.line for one in program.dropped} | set(program.remarks)


def apply(printed: Sequence[str], places: Sequence[int], change: Decorate, data: st.DataObject) -> list[str]:
    """The change in some of the lines with instructions."""
    chosen = data.draw(st.sets(st.sampled_from(list(places)), min_size=1))
    return [change(line, data) if number in chosen else line for number, line in enumerate(printed, start=1)]


@pytest.mark.parametrize("name", FORMS)
@examples(45)
@given(lines=loops(), data=st.data())
def test_a_damaged_line_is_in_a_block_or_told(name: str, lines: list[Line], data: st.DataObject):
    printed = FORMS[name](lines)
    places = places_of(printed, name, lines)
    damage = data.draw(st.sampled_from(sorted(DAMAGES)))
    damaged = apply(printed, places, DAMAGES[damage], data)
    try:
        program = read_program("\n".join(damaged))
    except BlockError:
        return
    if not program.instructions:  # which the doors refuse
        return
    there = {one.line for one in program.instructions}
    lost = {number for number in places if number not in there and CODE.search(damaged[number - 1])}
    silent = {number: damaged[number - 1] for number in lost - told(program)}
    assert not silent
