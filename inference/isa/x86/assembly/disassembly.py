"""A listing as a program: addresses determine the layout, and bytes, where shown, the instructions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from iced_x86 import Decoder

from inference.isa.code.block import BlockError, dropped_line, line_numbers
from inference.isa.code.listings import ListedLine, Listing
from inference.isa.code.pieces import AssemblyProgram, ProgramInstruction
from inference.isa.code.source import refuse_control_characters
from inference.isa.x86.assembly.layout import (
    NEAR,
    SHORT,
    Statement,
    StatementContent,
    content_of,
    lay_out,
    place_at,
)
from inference.isa.x86.assembly.markers import split_regions
from inference.isa.x86.assembly.prefixes import is_prefix
from inference.isa.x86.assembly.statements import read_statement, visible_syntax
from inference.isa.x86.assembly.text import MAX_DISTINCT

_COMMENT = re.compile(r"\s(?:#|;|//|->)|(?<=[\])\w])#")
"""A comment, or LuaJIT's name of a target: `jle 0x0bcbffcf ->LOOP`."""

_NEVER_FALLS_THROUGH = ("jump", "end")
_HEX = re.compile(r"(?:0x)?([0-9a-f]+)h?", re.IGNORECASE)
_NO_CODE = ("(bad)", ".byte", "...", ".long", ".word", ".short")
_MAX_CODE_BYTES = 15  # of an x86 instruction
_WORD = 16
"""Bits of a jump's distance with an operand-size prefix."""


def program_of_listing(listing: Listing) -> AssemblyProgram:
    """The program of a listing. Raises `BlockError` with the line."""
    lines = listing.lines
    skipped, dropped = Counter(listing.skipped), list(listing.dropped)
    if any(row.text and row.address is None for row in lines):
        instructions = lay_out(_statements(lines), ())
        return AssemblyProgram(instructions, skipped, dropped=tuple(dropped), notes=tuple(listing.notes))
    reader = _ListingReader(lines)
    decoded: list[ProgramInstruction] = []
    labels: list[str] = []
    gaps: list[int] = []  # lines of the instructions before them
    is_entry = is_data = False
    end = 0
    for row, length in _with_lengths(_with_prefixes_joined(lines)):
        if row.address is None or not (row.text or row.code):
            labels.append(row.label)
            is_entry = is_entry or row.address is not None
            continue
        try:
            instruction = reader.instruction(row, length, tuple(labels), is_entry=is_entry)
        except BlockError as error:
            raise error.at(row.number) from None
        if instruction is not None:
            if decoded and row.address != end and not (is_data or labels or is_entry):
                gaps.append(decoded[-1].line)
            step = instruction.step
            end = row.address + len(step.code)
            is_data = step.flow in _NEVER_FALLS_THROUGH
            decoded.append(instruction)
        elif is_data:
            skipped["data"] += 1
        else:
            dropped.append(dropped_line(row.number, row.text or row.code.hex(" "), "is no instruction"))
        labels, is_entry = [], False
    dropped.sort(key=lambda line: line.line)
    notes = list(listing.notes)
    if gaps:
        notes.append(f"the addresses have a gap after {line_numbers(gaps)}: a block ends there")
    if unresolved := reader.unresolved_jumps:
        notes.append(f"the target of the jump in {line_numbers(unresolved)} is not in the listing")
    instructions, regions = split_regions(decoded)
    return AssemblyProgram(instructions, skipped, (), regions, tuple(dropped), tuple(notes))


def _with_prefixes_joined(lines: Sequence[ListedLine]) -> list[ListedLine]:
    """The lines; prefixes on lines of their own, as in llvm-objdump, are joined with the next one."""
    joined: list[ListedLine] = []
    prefixes: ListedLine | None = None
    for line in lines:
        current = line
        if prefixes is not None:
            if not current.text or current.address != _end_of(prefixes):
                break
            current = replace(
                current,
                address=prefixes.address,
                text=f"{prefixes.text} {current.text}",
                code=prefixes.code + current.code,
            )
            prefixes = None
        words = current.text.split()
        if words and all(map(is_prefix, words)):
            prefixes = current
        else:
            joined.append(current)
    if prefixes is not None:
        raise BlockError(f"no instruction follows {prefixes.text}", prefixes.number)
    return joined


def _end_of(prefixes: ListedLine) -> int | None:
    """The address behind prefixes of one byte each."""
    if prefixes.address is None:
        return None
    return prefixes.address + (len(prefixes.code) or len(prefixes.text.split()))


def _with_lengths(lines: Sequence[ListedLine]) -> list[tuple[ListedLine, int | None]]:
    """Each line with the number of bytes to the next address; None where unknown or too large."""
    lengths: list[tuple[ListedLine, int | None]] = []
    following: int | None = None
    for line in reversed(lines):
        if line.address is None:
            lengths.append((line, None))
            continue
        length = None if following is None else following - line.address
        lengths.append((line, length if length is not None and 0 < length <= _MAX_CODE_BYTES else None))
        following = line.address
    return lengths[::-1]


class _ListingReader:
    """Reads instructions of a listing, equal ones once.

    `unresolved_jumps`: lines of jumps with unknown targets.
    """

    def __init__(self, lines: Sequence[ListedLine]) -> None:
        self.unresolved_jumps: list[int] = []
        self._contents: dict[tuple[str, int | None], StatementContent] = {}
        self._lines = lines

    @cached_property
    def _label_addresses(self) -> dict[str, int]:
        addresses: dict[str, int] = {}
        labels: list[str] = []
        for line in self._lines:
            if line.label:
                labels.append(line.label)
            if line.address is not None and labels:
                addresses.update((label, line.address) for label in labels if label not in addresses)
                labels = []
        return addresses

    @cached_property
    def _syntax(self) -> str:
        """The syntax of the first instruction that shows one."""
        return next(filter(None, (visible_syntax(line.text) for line in self._lines if line.text)), "intel")

    def instruction(
        self, line: ListedLine, length: int | None, labels: tuple[str, ...], *, is_entry: bool
    ) -> ProgramInstruction | None:
        """The instruction of a line, None where the listing contains data. Raises `BlockError`."""
        assert line.address is not None
        if line.code:
            if not _is_instruction(line):
                return None
            statement = _statement(line, labels, StatementContent(line.code))
            return place_at(statement, line.code, line.address, None, is_entry=is_entry)
        text = _without_comment(line.text)
        if "(bad)" in text or text.startswith(_NO_CODE):
            return None
        content = self._content(text, length)
        statement = _statement(line, labels, content)
        if content.jump is None:
            return place_at(statement, content.code, line.address, None, is_entry=is_entry)
        target = _address_of(statement, self._label_addresses)
        if target is None:
            self.unresolved_jumps.append(line.number)
        code = _jump_at(statement, line.address, target, length)
        return place_at(statement, code, line.address, target, is_entry=is_entry)

    def _content(self, text: str, length: int | None) -> StatementContent:
        if (text, length) not in self._contents:
            if len(self._contents) >= MAX_DISTINCT:
                raise BlockError(
                    f"a listing without bytes has at most {MAX_DISTINCT:,} different instructions: "
                    "paste less of it"
                )
            refuse_control_characters(text)
            self._contents[text, length] = content_of(
                read_statement(text, visible_syntax(text) or self._syntax, {}), length
            )
        return self._contents[text, length]


def _is_instruction(line: ListedLine) -> bool:
    """Whether the bytes are one instruction; False where the listing says so. Raises `BlockError`."""
    decoded = Decoder(64, line.code).decode()
    if not decoded.is_invalid and decoded.len == len(line.code):
        return True
    if "(bad)" in line.text or line.text.startswith(_NO_CODE) or not line.text:
        return False
    raise BlockError(f"the bytes {line.code.hex(' ')} are not one instruction of x86-64")


def _without_comment(text: str) -> str:
    comment = _COMMENT.search(text)
    return (text if comment is None else text[: comment.start()]).strip()


def _address_of(statement: Statement, places: Mapping[str, int]) -> int | None:
    target = statement.target
    if target.address is not None:
        return target.address
    if target.label in places:
        return places[target.label] + target.offset
    words = target.label.split(None, 1)  # what stands behind an address is about it
    number = _HEX.fullmatch(words[0]) if words else None
    return int(number[1], 16) if number else None


def _jump_at(statement: Statement, address: int, target: int | None, length: int | None) -> bytes:
    """The code of a jump: of this length if possible, else the shortest. Raises `BlockError`."""
    encodings = []
    for bits in (SHORT, NEAR, _WORD):
        size = len(statement.jump_code(0, bits) or b"")
        distance = 0 if target is None else _signed(target - address - size)
        if size and -(2 ** (bits - 1)) <= distance < 2 ** (bits - 1):
            encodings.append(statement.jump_code(distance, bits) or b"")
    if not encodings:
        raise BlockError(f"{statement.text[:60]} does not lead to an address")
    return next((code for code in encodings if len(code) == length), encodings[0])


def _signed(distance: int) -> int:
    """The distance modulo 2^64, from −2^63."""
    return (distance + 2**63) % 2**64 - 2**63


def _statements(lines: Sequence[ListedLine]) -> list[Statement]:
    """The statements of a listing in which only targets of jumps have addresses, as in `perf annotate`."""
    statements: list[Statement] = []
    labels: list[str] = []
    for line in lines:
        if line.address is not None:
            labels.append(f"{line.address:x}")
        if line.label:
            labels.append(line.label)
        if not line.text and not line.code:
            continue
        content = StatementContent(line.code)
        if not line.code:
            try:
                text = _without_comment(line.text)
                content = content_of(read_statement(text, visible_syntax(text) or "intel", {}))
            except BlockError as error:
                raise error.at(line.number) from None
        statements.append(_statement(line, tuple(labels), content))
        labels = []
    return statements


def _statement(line: ListedLine, labels: tuple[str, ...], content: StatementContent) -> Statement:
    return Statement(
        line.number,
        0,
        line.text,
        labels,
        content.code,
        content.jump,
        content.symbols,
        count=line.count,
        source=line.source,
        latency=line.latency,
    )
