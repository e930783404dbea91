"""A listing as a program: it says where everything lies, and where it shows bytes, these count."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from iced_x86 import Decoder

from inference.isa.code.block import BlockError, dropped_line, numbered
from inference.isa.code.pieces import AssemblyProgram, ProgramInstruction
from inference.isa.code.source import refuse_control_characters
from inference.isa.x86.assembly.layout import NEAR, SHORT, LaidOut, Statement, content_of, laid_out, placed
from inference.isa.x86.assembly.listings import ListedLine, Listing
from inference.isa.x86.assembly.markers import between_markers
from inference.isa.x86.assembly.prefixes import is_prefix
from inference.isa.x86.assembly.statements import evidence, read_statement
from inference.isa.x86.assembly.text import MOST_DIFFERENT

_COMMENT = re.compile(r"\s(?:#|;|//|->)|(?<=[\])\w])#")
"""A comment, or what LuaJIT says of a target: `jle 0x0bcbffcf ->LOOP`."""

_NEVER_FALLS_THROUGH = ("jump", "end")
_HEX = re.compile(r"(?:0x)?([0-9a-f]+)h?", re.IGNORECASE)
_NO_CODE = ("(bad)", ".byte", "...", ".long", ".word", ".short")
_LONGEST_CODE = 15
_WORD = 16
"""Bits of the distance of a jump with a prefix of operand size."""


def program_of_listing(listing: Listing) -> AssemblyProgram:
    """Read a listing. Raises `BlockError` with the line."""
    lines = listing.lines
    skipped, dropped = Counter(listing.skipped), list(listing.dropped)
    if any(one.text and one.address is None for one in lines):
        instructions = laid_out(_statements(lines), ())
        return AssemblyProgram(instructions, skipped, dropped=tuple(dropped))
    reader = _Reader(lines)
    found: list[ProgramInstruction] = []
    labels: list[str] = []
    gaps: list[int] = []  # lines of the instructions before them
    is_entry = is_data = False
    end = 0
    for one, length in _with_lengths(_with_prefixes_joined(lines)):
        if one.address is None or not (one.text or one.code):
            labels.append(one.label)
            is_entry = is_entry or one.address is not None
            continue
        try:
            instruction = reader.instruction(one, length, tuple(labels), is_entry=is_entry)
        except BlockError as error:
            raise error.at(one.number) from None
        if instruction is not None:
            if found and one.address != end and not (is_data or labels or is_entry):
                gaps.append(found[-1].line)
            step = instruction.step
            end = one.address + len(step.code)
            is_data = step.flow in _NEVER_FALLS_THROUGH
            found.append(instruction)
        elif is_data:
            skipped["data"] += 1
        else:
            dropped.append(dropped_line(one.number, one.text or one.code.hex(" "), "is no instruction"))
        labels, is_entry = [], False
    dropped.sort(key=lambda line: line.line)
    notes = [f"the addresses leave a gap behind {numbered(gaps)}: a block ends there"] if gaps else []
    if aimless := reader.aimless:
        notes.append(f"where the jump in {numbered(aimless)} leads is no address of the listing")
    instructions, regions = between_markers(found)
    return AssemblyProgram(instructions, skipped, (), regions, tuple(dropped), tuple(notes))


def _with_prefixes_joined(lines: Sequence[ListedLine]) -> list[ListedLine]:
    """With prefixes that stand on a line of their own, as llvm-objdump has them, before what follows."""
    found: list[ListedLine] = []
    prefixes: ListedLine | None = None
    for line in lines:
        one = line
        if prefixes is not None:
            if not one.text or one.address != _end_of(prefixes):
                break
            one = replace(
                one,
                address=prefixes.address,
                text=f"{prefixes.text} {one.text}",
                code=prefixes.code + one.code,
            )
            prefixes = None
        words = one.text.split()
        if words and all(map(is_prefix, words)):
            prefixes = one
        else:
            found.append(one)
    if prefixes is not None:
        raise BlockError(f"no instruction follows {prefixes.text}", prefixes.number)
    return found


def _end_of(prefixes: ListedLine) -> int | None:
    """The address behind prefixes, each of which is a byte."""
    if prefixes.address is None:
        return None
    return prefixes.address + (len(prefixes.code) or len(prefixes.text.split()))


def _with_lengths(lines: Sequence[ListedLine]) -> list[tuple[ListedLine, int | None]]:
    """Each line, and how many bytes there are to the next address; None where nobody can tell."""
    found: list[tuple[ListedLine, int | None]] = []
    following: int | None = None
    for one in reversed(lines):
        if one.address is None:
            found.append((one, None))
            continue
        length = None if following is None else following - one.address
        found.append((one, length if length is not None and 0 < length <= _LONGEST_CODE else None))
        following = one.address
    return found[::-1]


class _Reader:
    """Reads instructions of a listing; equal ones once. `aimless`: lines of jumps without a known target."""

    def __init__(self, lines: Sequence[ListedLine]) -> None:
        self.aimless: list[int] = []
        self._known: dict[tuple[str, int | None], LaidOut] = {}
        self._lines = lines

    @cached_property
    def _places(self) -> dict[str, int]:
        """The addresses that labels on lines of their own name."""
        found: dict[str, int] = {}
        labels: list[str] = []
        for one in self._lines:
            if one.label:
                labels.append(one.label)
            if one.address is not None and labels:
                found.update((label, one.address) for label in labels if label not in found)
                labels = []
        return found

    @cached_property
    def _syntax(self) -> str:
        """That of the first instruction that shows one."""
        return next(filter(None, (evidence(one.text) for one in self._lines if one.text)), "intel")

    def instruction(
        self, one: ListedLine, length: int | None, labels: tuple[str, ...], *, is_entry: bool
    ) -> ProgramInstruction | None:
        """The instruction of a line, None where the listing has data there. Raises `BlockError`."""
        assert one.address is not None
        if one.code:
            if not _is_instruction(one):
                return None
            statement = Statement(one.number, 0, one.text, labels, one.code, count=one.count)
            return placed(statement, one.code, one.address, None, is_entry=is_entry)
        text = _without_comment(one.text)
        if "(bad)" in text or text.startswith(_NO_CODE):
            return None
        content = self._content(text, length)
        statement = Statement(
            one.number, 0, one.text, labels, content.code, content.jump, content.symbols, count=one.count
        )
        if content.jump is None:
            return placed(statement, content.code, one.address, None, is_entry=is_entry)
        target = _address_of(statement, self._places)
        if target is None:
            self.aimless.append(one.number)
        code = _jump_at(statement, one.address, target, length)
        return placed(statement, code, one.address, target, is_entry=is_entry)

    def _content(self, text: str, length: int | None) -> LaidOut:
        if (text, length) not in self._known:
            if len(self._known) >= MOST_DIFFERENT:
                raise BlockError(
                    f"a listing without bytes has at most {MOST_DIFFERENT:,} different instructions: "
                    "paste less of it"
                )
            refuse_control_characters(text)
            self._known[text, length] = content_of(
                read_statement(text, evidence(text) or self._syntax, {}), length
            )
        return self._known[text, length]


def _is_instruction(one: ListedLine) -> bool:
    """Whether the bytes are one; False where the listing says that they are none. Raises `BlockError`."""
    decoded = Decoder(64, one.code).decode()
    if not decoded.is_invalid and decoded.len == len(one.code):
        return True
    if "(bad)" in one.text or one.text.startswith(_NO_CODE) or not one.text:
        return False
    raise BlockError(f"the bytes {one.code.hex(' ')} are not one instruction of x86-64")


def _without_comment(text: str) -> str:
    """The text of a listing up to its comment."""
    found = _COMMENT.search(text)
    return (text if found is None else text[: found.start()]).strip()


def _address_of(statement: Statement, places: Mapping[str, int]) -> int | None:
    target = statement.target
    if target.address is not None:
        return target.address
    if target.label in places:
        return places[target.label] + target.offset
    words = target.label.split(None, 1)  # what stands behind an address is about it
    found = _HEX.fullmatch(words[0]) if words else None
    return int(found[1], 16) if found else None


def _jump_at(statement: Statement, address: int, target: int | None, length: int | None) -> bytes:
    """The code of a jump: of this length if there is one, else the shortest. Raises `BlockError`."""
    found = []
    for bits in (SHORT, NEAR, _WORD):
        size = len(statement.jump_code(0, bits) or b"")
        distance = 0 if target is None else _signed(target - address - size)
        if size and -(2 ** (bits - 1)) <= distance < 2 ** (bits - 1):
            found.append(statement.jump_code(distance, bits) or b"")
    if not found:
        raise BlockError(f"{statement.text[:60]} does not lead to an address")
    return next((code for code in found if len(code) == length), found[0])


def _signed(distance: int) -> int:
    """Addresses wrap around at 64 bits."""
    return (distance + 2**63) % 2**64 - 2**63


def _statements(lines: Sequence[ListedLine]) -> list[Statement]:
    """A listing in which only targets of jumps have addresses, which are labels, as in `perf annotate`."""
    found: list[Statement] = []
    labels: list[str] = []
    for one in lines:
        if one.address is not None:
            labels.append(f"{one.address:x}")
        if one.label:
            labels.append(one.label)
        if not one.text and not one.code:
            continue
        content = LaidOut(one.code)
        if not one.code:
            try:
                text = _without_comment(one.text)
                content = content_of(read_statement(text, evidence(text) or "intel", {}))
            except BlockError as error:
                raise error.at(one.number) from None
        found.append(
            Statement(
                one.number,
                0,
                one.text,
                tuple(labels),
                content.code,
                content.jump,
                content.symbols,
                count=one.count,
            )
        )
        labels = []
    return found
