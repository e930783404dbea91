"""A listing as a program: it says where everything lies, and where it shows bytes, these count."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from iced_x86 import Decoder

from inference.isa.x86.assembly.errors import BlockError
from inference.isa.x86.assembly.layout import NEAR, SHORT, LaidOut, Statement, content_of, laid_out, placed
from inference.isa.x86.assembly.listings import ListedLine
from inference.isa.x86.assembly.prefixes import is_prefix
from inference.isa.x86.assembly.program import AssemblyProgram, ProgramInstruction, between_markers
from inference.isa.x86.assembly.source import refuse_control_characters
from inference.isa.x86.assembly.statements import evidence, read_statement
from inference.isa.x86.assembly.text import MOST_DIFFERENT

_COMMENT = re.compile(r"\s(?:#|;|//)|(?<=[\])\w])#")
_HEX = re.compile(r"(?:0x)?([0-9a-f]+)h?", re.IGNORECASE)
_NO_CODE = ("(bad)", ".byte", "...", ".long", ".word", ".short")
_LONGEST_CODE = 15
_WORD = 16
"""Bits of the distance of a jump with a prefix of operand size."""


def program_of_listing(lines: Sequence[ListedLine], skipped: int) -> AssemblyProgram:
    """Read a listing. Raises `BlockError` with the line."""
    passed = Counter({"line": skipped}) if skipped else Counter[str]()
    if any(one.text and one.address is None for one in lines):
        return AssemblyProgram(laid_out(_statements(lines), ()), passed)
    reader = _Reader()
    found: list[ProgramInstruction] = []
    labels: list[str] = []
    is_entry = False
    for one, length in _with_lengths(_with_prefixes_joined(lines)):
        if one.address is None or not (one.text or one.code):
            labels.append(one.label)
            is_entry = is_entry or one.address is not None
            continue
        try:
            instruction = reader.instruction(one, length, tuple(labels), is_entry=is_entry)
        except BlockError as error:
            raise error.at(one.number) from None
        labels, is_entry = [], False
        if instruction is None:
            passed["(bad)"] += 1
        else:
            found.append(instruction)
    instructions, regions = between_markers(found)
    return AssemblyProgram(instructions, passed, 0, regions)


def _with_prefixes_joined(lines: Sequence[ListedLine]) -> list[ListedLine]:
    """With prefixes that stand on a line of their own, as llvm-objdump has them, before what follows."""
    found: list[ListedLine] = []
    prefixes: ListedLine | None = None
    for line in lines:
        one = line
        if prefixes is not None:
            if not one.text:
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
    """Reads instructions of a listing; equal ones once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int | None], LaidOut] = {}

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
        target = _address_of(statement)
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
                read_statement(text, evidence(text) or "intel", {}), length
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


def _address_of(statement: Statement) -> int | None:
    target = statement.target
    if target.address is not None:
        return target.address
    found = _HEX.fullmatch(target.label.strip())
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
        if not one.text:
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
