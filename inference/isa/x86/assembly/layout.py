"""Lays statements out in memory as an assembler does, with the shortest possible jumps."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple

from iced_x86 import Decoder

from inference.isa.code.annotations import SourcePlace
from inference.isa.code.block import BlockError
from inference.isa.code.markers import RegionMarkers
from inference.isa.code.pieces import ProgramInstruction
from inference.isa.x86.assembly.encoding import encode, encode_jump
from inference.isa.x86.assembly.operands import (
    ImmediateOperand,
    MemoryOperand,
    TargetOperand,
    WrittenInstruction,
    number_of,
)
from inference.isa.x86.control_flow import step_of
from inference.isa.x86.instances import ADDRESS_OF_CODE

MARKERS = RegionMarkers(bytes.fromhex("bb6f000000"), bytes.fromhex("bbde000000"), (bytes.fromhex("646790"),))
"""IACA's: `mov ebx, 111` and `mov ebx, 222`, and a `nop` of three bytes."""

SHORT, NEAR = 8, 32
"""Bits of a jump's distance."""

BARE_JUMP = re.compile(r"j(?!mp)[a-z]+", re.IGNORECASE)
"""A conditional jump without a target, as notes have it at the end of a loop."""
FIRST = ".first"
"""The label of its target."""

_LOCAL_LABEL = re.compile(r"([0-9]+)([bf])")
"""`1b`, `2f`: the nearest label with this number before or behind."""

_LABEL_OFFSET = re.compile(r"(.*[^\s+-])\s*([+-])([^+-]+)", re.DOTALL)  # `table + 8`
_CURRENT_ADDRESS = (".", "$")
_UNKNOWN = 2**30
_MAX_ROUNDS = 30
"""After so many rounds all jumps are long: only artificial code lengthens one jump by another so often."""


@dataclass(slots=True)
class Statement:
    """A statement with code, or a jump whose code depends on the layout.

    Fields without an explanation are those of `ProgramInstruction`.
    """

    line: int
    column: int
    text: str
    labels: tuple[str, ...] = ()
    code: bytes = b""
    jump: WrittenInstruction | None = None
    symbols: tuple[str, ...] = ()
    regions: frozenset[int] = frozenset()
    count: float | None = None
    source: SourcePlace | None = None
    latency: float | None = None
    is_numbers: bool = False

    @property
    def target(self) -> TargetOperand:
        assert self.jump is not None
        return next(operand for operand in self.jump.operands if isinstance(operand, TargetOperand))

    def jump_code(self, distance: int, bits: int) -> bytes | None:
        """The code of the jump by `distance` bytes in `bits` bits; None where there is none."""
        assert self.jump is not None
        return encode_jump(self.jump.mnemonic, distance, bits, self.jump.prefixes)


class StatementContent(NamedTuple):
    """The code of an instruction, or the jump, and the names assumed to be 0."""

    code: bytes = b""
    jump: WrittenInstruction | None = None
    symbols: tuple[str, ...] = ()


def content_of(written: WrittenInstruction, length: int | None = None) -> StatementContent:
    """The content of an instruction, of `length` bytes where a listing implies it. Raises `BlockError`."""
    names = []
    for operand in written.operands:
        if isinstance(operand, TargetOperand):
            return StatementContent(jump=written)
        if isinstance(operand, (MemoryOperand, ImmediateOperand)) and operand.symbol:
            names.append(operand.symbol)
    return StatementContent(encode(written, length), None, tuple(names))


def lead_to_first(statements: Sequence[Statement]) -> list[str]:
    """Let a last jump without a target close a loop over the statements, and return a note that says so.

    Raises `BlockError` for another jump without a target.
    """
    bare = [stmt for stmt in statements if BARE_JUMP.fullmatch(stmt.text)]
    if not bare:
        return []
    if len(bare) > 1 or bare[0] is not statements[-1] or len(statements) == 1:
        raise BlockError("the target of the jump is missing", bare[0].line, bare[0].column)
    statements[0].labels = (*statements[0].labels, FIRST)
    return [f"{bare[0].text} in line {bare[0].line} has no target: taken to lead to the first instruction"]


def lay_out(statements: Sequence[Statement], functions: Collection[str]) -> tuple[ProgramInstruction, ...]:
    """The instructions with addresses. `functions`: labels of functions' beginnings.

    Raises `BlockError` with the line of the statement.
    """
    sequence = [stmt for statement in statements for stmt in _split_numbers(statement)]
    targets = _targets(sequence)
    bits, addresses = _shortest(sequence, targets)
    instructions = []
    for number, stmt in enumerate(sequence):
        code, target = stmt.code, None
        if stmt.jump is not None:
            target = _address(targets[number], addresses)
            distance = _distance(stmt, addresses[number], target, bits[number])
            code = stmt.jump_code(distance, bits[number]) or b""
            if not code:
                raise BlockError(f"{stmt.text[:60]} cannot reach so far", stmt.line, stmt.column)
            if stmt.target.offset and target is not None:  # as disassemblers print it: `<f+0x18>`
                raise BlockError(
                    f"{stmt.text[:60]} leads to an address: print those of the lines, too", stmt.line
                )
        is_entry = any(label in functions for label in stmt.labels)
        instructions.append(place_at(stmt, code, addresses[number], target, is_entry=is_entry))
    return tuple(instructions)


def place_at(
    stmt: Statement, code: bytes, address: int, target: int | None, *, is_entry: bool
) -> ProgramInstruction:
    """The statement as an instruction at its address. Raises `BlockError`."""
    decoded = Decoder(64, code, ip=address).decode()
    if decoded.is_invalid:
        raise BlockError("these bytes are no instruction of x86-64", stmt.line, stmt.column)
    step = step_of(decoded, code)
    if stmt.jump is not None:
        step = step._replace(target=target)
    return ProgramInstruction(
        stmt.line,
        stmt.text,
        step,
        stmt.labels,
        stmt.symbols,
        stmt.regions,
        stmt.count,
        is_entry,
        stmt.source,
        stmt.latency,
    )


def _split_numbers(statement: Statement) -> list[Statement]:
    """The instructions encoded by the numbers of `.byte`; another statement unchanged."""
    if not statement.is_numbers:
        return [statement]
    instructions: list[Statement] = []
    for decoded in Decoder(64, statement.code, ip=0):
        if decoded.is_invalid:
            raise BlockError(
                "the numbers of .byte are no instructions of x86-64", statement.line, statement.column
            )
        code = statement.code[decoded.ip : decoded.ip + decoded.len]
        instructions.append(replace(statement, code=code, labels=() if instructions else statement.labels))
    return instructions


def _shortest(
    statements: Sequence[Statement], targets: Sequence[_Target | None]
) -> tuple[list[int], list[int]]:
    """Bits of each jump's distance (0 for other statements), and the resulting addresses."""
    if not any(targets):
        return [0] * len(statements), list(
            accumulate((len(stmt.code) for stmt in statements), initial=ADDRESS_OF_CODE)
        )
    bits = [0 if stmt.jump is None else SHORT if stmt.jump_code(0, SHORT) else NEAR for stmt in statements]
    for rounds_left in range(_MAX_ROUNDS, -1, -1):
        addresses = _addresses(statements, bits)
        grown = [
            number
            for number, stmt in enumerate(statements)
            if bits[number] == SHORT
            and not (rounds_left and _reaches(stmt, addresses[number], _address(targets[number], addresses)))
            and stmt.jump_code(0, NEAR) is not None
        ]
        if not grown:
            break
        for number in grown:
            bits[number] = NEAR
    return bits, _addresses(statements, bits)


def _addresses(statements: Sequence[Statement], bits: Sequence[int]) -> list[int]:
    addresses: list[int] = []
    address = ADDRESS_OF_CODE
    for stmt, size in zip(statements, bits, strict=True):
        addresses.append(address)
        code = stmt.code if stmt.jump is None else stmt.jump_code(0, size)
        if not code:
            name = stmt.text if stmt.jump is None else stmt.jump.mnemonic
            raise BlockError(f"{name} does not lead to a label", stmt.line, stmt.column)
        address += len(code)
    return addresses


def _reaches(stmt: Statement, address: int, target: int | None) -> bool:
    distance = _UNKNOWN if target is None else _distance(stmt, address, target, SHORT)
    return -128 <= distance <= 127


def _distance(stmt: Statement, address: int, target: int | None, bits: int) -> int:
    """Bytes from the end of the jump; 0 for an unknown target."""
    return 0 if target is None else target - address - len(stmt.jump_code(0, bits) or b"")


_Target = tuple[int | None, int]
"""Index of a statement (None: unknown), and offset in bytes."""


def _address(target: _Target | None, addresses: Sequence[int]) -> int | None:
    if target is None or target[0] is None:
        return None
    return addresses[target[0]] + target[1]


def _targets(statements: Sequence[Statement]) -> list[_Target | None]:
    """The target of each jump, None for other statements."""
    places: dict[str, list[int]] = {}
    for number, stmt in enumerate(statements):
        for name in stmt.labels:
            places.setdefault(name, []).append(number)
    return [
        None if stmt.jump is None else _target(stmt, number, places) for number, stmt in enumerate(statements)
    ]


def _target(stmt: Statement, number: int, places: dict[str, list[int]]) -> _Target:
    """The statement that a jump leads to, and an offset in bytes; None for one outside the text.

    A number with `f` or `b` is the next or previous label of that number, a dot the jump itself.
    """
    target = stmt.target
    name = target.label
    if local := _LOCAL_LABEL.fullmatch(name):
        label_places = places.get(local[1], [])
        index = bisect_right(label_places, number) - (local[2] == "b")
        return label_places[index] if 0 <= index < len(label_places) else None, 0
    offset = target.offset
    if name not in places and (match := _LABEL_OFFSET.fullmatch(name)):
        value = number_of(match[3].strip())
        if value is not None:
            name, offset = match[1], -value if match[2] == "-" else value
    if name in places:
        return places[name][0], offset
    words = name.split(None, 1)
    if len(words) > 1 and "(" not in name and words[0] in places:
        raise BlockError(f"text follows the target of the jump: {name[:60]}", stmt.line, stmt.column)
    return (number, offset) if name in _CURRENT_ADDRESS else (None, 0)
