"""Decoration changes no block, in any listing: arrows, frames, colours, sources, blanks, encodings."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.isa.blocks import BlockError, read
from inference.isa.x86.assembly.reading import read_program
from tests.drawn import examples
from tests.isa.printed_listings import FORMS, Line, loops
from tests.isa.printed_native_listings import NATIVE_FORMS, Printed

ARROWS = ("↗", "↘", "│", "│ │", "╭ │", "├─>", "└─<", "┌─>", "▶", "╎", "⟶", "↑", "▲", "✔")
COLOURS = ("\x1b[31m", "\x1b[0m", "\x1b[1;38;5;12m", "\x1b[K", "\x1b(B\x1b[m")
INVISIBLE = ("\u200b", "\ufeff", "\u2060")
SOURCES = (
    "    for (int i = 0; i < n; i++) {",
    "/tmp/a.c:7",
    "; /tmp/a.c:7:12",
    "        s += a[i] * b[i];",
    "",
    "   ",
    "────────────",
    "}",
)
WITHOUT_SOURCES = frozenset({"vtune", "go build -gcflags=-S", "intel", "att", "compiler"})
"""Forms that have no source lines between instructions."""

JUNK = ("?", "@", "|", "<", "}", "foo ", "x", "!", "\\", "=", "\x01", "\u00e2")
CODE = re.compile(
    r"\b(?:[re][abcds][xip]|[xyz]mm\d|r9d?)\b|^\s*(?:0x)?[0-9a-f]{6,16}:|([0-9a-f]{2} ){2}", re.I
)
"""What no line has that is not code: a register, an address, bytes."""

Decorate = Callable[[str, st.DataObject], str]


def _inserted(line: str, data: st.DataObject, what: tuple[str, ...]) -> str:
    at = data.draw(st.integers(0, len(line)))
    return f"{line[:at]}{data.draw(st.sampled_from(what))}{line[at:]}"


def _arrow_before(line: str, data: st.DataObject) -> str:
    share = re.match(r"\s*\d+\.\d+%?\s+:?", line)
    at = share.end() if share else 0
    return f"{line[:at]} {data.draw(st.sampled_from(ARROWS))} {line[at:]}"


def _misread(line: str, data: st.DataObject) -> str:
    """UTF-8 that was read as Windows' Latin letters."""
    decorated = _arrow_before(line, data)
    return "".join(
        chr(byte) if byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D) else bytes([byte]).decode("cp1252")
        for byte in decorated.encode()
    )


DECORATIONS: dict[str, Decorate] = {
    "arrows": _arrow_before,
    "misread": _misread,
    "frames": lambda line, data: f"{line}   {data.draw(st.sampled_from(ARROWS))}",
    "colours": lambda line, data: f"{_inserted(line, data, COLOURS)}{COLOURS[1]}",
    "invisible": lambda line, data: _inserted(line, data, INVISIBLE),
    "no-break blanks": lambda line, data: line.replace(" ", "\u00a0"),
    "blanks": lambda line, data: f"{line}  \t",
}


DAMAGES: dict[str, Decorate] = {
    "junk": lambda line, data: _inserted(line, data, JUNK),
    "cut": lambda line, data: line[: data.draw(st.integers(0, len(line)))],
    "cut before": lambda line, data: line[data.draw(st.integers(0, len(line))) :],
    "unknown": lambda line, data: re.sub(r"\b(add|imul|dec|mov|nop)", "frob", line),
    "of AArch64": lambda line, data: "  add x0, x1, x2",
    "without address": lambda line, data: re.sub(r"^.*?:", "", line),
}


def _applied(printed: list[Printed], change: Decorate, data: st.DataObject) -> list[Printed]:
    places = [at for at, line in enumerate(printed) if line.number is not None]
    chosen = data.draw(st.sets(st.sampled_from(places), min_size=1))
    return [
        line._replace(text=change(line.text, data)) if at in chosen else line
        for at, line in enumerate(printed)
    ]


def _with_sources(printed: list[Printed], data: st.DataObject) -> list[Printed]:
    """The lines with source lines between those of two instructions."""
    sourced: list[Printed] = []
    for line in printed:
        begins = sourced and line.number is not None and line.number != sourced[-1].number
        if begins and data.draw(st.booleans()):
            sourced.append(Printed(data.draw(st.sampled_from(SOURCES))))
        sourced.append(line)
    return sourced


def _of_form(name: str, lines: list[Line]) -> list[Printed]:
    if name in NATIVE_FORMS:
        return list(NATIVE_FORMS[name](lines))
    headings = {*FORMS[name](()), ".L3:", "G_M000_IG03:", "M00_L00:"}
    numbers = iter(range(len(lines)))
    return [Printed(text, None if text in headings else next(numbers)) for text in FORMS[name](lines)]


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
@given(lines=loops(), data=st.data())
def test_decoration_changes_no_block(name: str, lines: list[Line], data: st.DataObject):
    printed = _of_form(name, lines)
    plain = read("\n".join(line.text for line in printed), 99)
    assert not plain.dropped
    decorated = printed
    chosen = data.draw(st.sets(st.sampled_from(sorted(DECORATIONS)), min_size=1, max_size=3))
    for change, decorate in DECORATIONS.items():  # in order: what is inserted anywhere comes last
        decorated = _applied(decorated, decorate, data) if change in chosen else decorated
    if name not in WITHOUT_SOURCES and data.draw(st.booleans()):
        decorated = _with_sources(decorated, data)
    text = data.draw(st.sampled_from(["\n", "\r\n"])).join(line.text for line in decorated)
    found = read(text, 99)
    assert not found.dropped
    assert [piece.block.hex for piece in found.pieces] == [piece.block.hex for piece in plain.pieces]


@pytest.mark.parametrize("name", NATIVE_FORMS)
@examples(30)
@given(lines=loops(), data=st.data())
def test_a_damaged_line_is_in_a_block_or_told(name: str, lines: list[Line], data: st.DataObject):
    printed = list(NATIVE_FORMS[name](lines))
    damaged = _applied(printed, DAMAGES[data.draw(st.sampled_from(sorted(DAMAGES)))], data)
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
    silent = [line.text for line in damaged if line.number is not None and line.number not in there]
    assert not [text for text in silent if CODE.search(text)]
