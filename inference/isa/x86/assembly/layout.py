"""Statements laid out in memory as an assembler does, every jump as short as it can be."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple

from iced_x86 import Decoder

from inference.isa.code.block import BlockError
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

SHORT, NEAR = 8, 32
"""Bits of the distance of a jump."""

_LOCAL = re.compile(r"([0-9]+)([bf])")
_FROM_SOMEWHERE = re.compile(r"(.*[^\s+-])\s*([+-])([^+-]+)", re.DOTALL)
_HERE = (".", "$")
_UNKNOWN = 2**30
_MOST_ROUNDS = 30
"""After which all jumps are long: code in which each longer one makes another one longer is nobody's."""


@dataclass(slots=True)
class Statement:
    """A statement that has code, or a jump whose code depends on where everything lies.

    The fields without an explanation are those of `ProgramInstruction`.
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
    is_numbers: bool = False

    @property
    def target(self) -> TargetOperand:
        assert self.jump is not None
        return next(one for one in self.jump.operands if isinstance(one, TargetOperand))

    def jump_code(self, distance: int, bits: int) -> bytes | None:
        """The code of the jump for a distance of so many bytes in so many bits; None if there is none."""
        assert self.jump is not None
        return encode_jump(self.jump.mnemonic, distance, bits, self.jump.prefixes)


class LaidOut(NamedTuple):
    """What an instruction amounts to: its code, or the jump that it is, and the names that are taken as 0."""

    code: bytes = b""
    jump: WrittenInstruction | None = None
    symbols: tuple[str, ...] = ()


def content_of(written: WrittenInstruction, length: int | None = None) -> LaidOut:
    """The content of an instruction, of `length` bytes where a listing tells it. Raises `BlockError`."""
    names = []
    for one in written.operands:
        if isinstance(one, TargetOperand):
            return LaidOut(jump=written)
        if isinstance(one, (MemoryOperand, ImmediateOperand)) and one.symbol:
            names.append(one.symbol)
    return LaidOut(encode(written, length), None, tuple(names))


def laid_out(statements: Sequence[Statement], functions: Collection[str]) -> tuple[ProgramInstruction, ...]:
    """The instructions one behind another. `functions`: labels with which functions begin.

    Raises `BlockError` with the line of the statement.
    """
    single = [one for statement in statements for one in _single(statement)]
    targets = _targets(single)
    bits, addresses = _shortest(single, targets)
    found = []
    for number, one in enumerate(single):
        code, target = one.code, None
        if one.jump is not None:
            target = _address(targets[number], addresses)
            code = one.jump_code(_distance(one, addresses[number], target, bits[number]), bits[number]) or b""
            if not code:
                raise BlockError(f"{one.text[:60]} cannot reach so far", one.line, one.column)
        is_entry = any(label in functions for label in one.labels)
        found.append(placed(one, code, addresses[number], target, is_entry=is_entry))
    return tuple(found)


def placed(
    one: Statement, code: bytes, address: int, target: int | None, *, is_entry: bool
) -> ProgramInstruction:
    """The statement as an instruction at its address. Raises `BlockError`."""
    decoded = Decoder(64, code, ip=address).decode()
    if decoded.is_invalid:
        raise BlockError("these bytes are no instruction of x86-64", one.line, one.column)
    step = step_of(decoded, code)
    if one.jump is not None:
        step = step._replace(target=target)
    return ProgramInstruction(
        one.line, one.text, step, one.labels, one.symbols, one.regions, one.count, is_entry
    )


def _single(statement: Statement) -> list[Statement]:
    """The instructions that the numbers of `.byte` are; any other statement is one."""
    if not statement.is_numbers:
        return [statement]
    found: list[Statement] = []
    for one in Decoder(64, statement.code, ip=0):
        if one.is_invalid:
            raise BlockError(
                "the numbers of .byte are no instructions of x86-64", statement.line, statement.column
            )
        code = statement.code[one.ip : one.ip + one.len]
        found.append(replace(statement, code=code, labels=() if found else statement.labels))
    return found


def _shortest(
    statements: Sequence[Statement], targets: Sequence[_Target | None]
) -> tuple[list[int], list[int]]:
    """Bits of the distance of each jump (0 for what is none), and the addresses that come of them."""
    if not any(targets):
        return [0] * len(statements), list(
            accumulate((len(one.code) for one in statements), initial=ADDRESS_OF_CODE)
        )
    bits = [0 if one.jump is None else SHORT if one.jump_code(0, SHORT) else NEAR for one in statements]
    for rounds_left in range(_MOST_ROUNDS, -1, -1):
        addresses = _addresses(statements, bits)
        grown = [
            number
            for number, one in enumerate(statements)
            if bits[number] == SHORT
            and not (rounds_left and _reaches(one, addresses[number], _address(targets[number], addresses)))
            and one.jump_code(0, NEAR) is not None
        ]
        if not grown:
            break
        for number in grown:
            bits[number] = NEAR
    return bits, _addresses(statements, bits)


def _addresses(statements: Sequence[Statement], bits: Sequence[int]) -> list[int]:
    found: list[int] = []
    at = ADDRESS_OF_CODE
    for one, size in zip(statements, bits, strict=True):
        found.append(at)
        code = one.code if one.jump is None else one.jump_code(0, size)
        if not code:
            name = one.text if one.jump is None else one.jump.mnemonic
            raise BlockError(f"{name} does not lead to a label", one.line, one.column)
        at += len(code)
    return found


def _reaches(one: Statement, address: int, target: int | None) -> bool:
    distance = _UNKNOWN if target is None else _distance(one, address, target, SHORT)
    return -128 <= distance <= 127


def _distance(one: Statement, address: int, target: int | None, bits: int) -> int:
    """From the end of the jump; 0 where nobody knows where it leads."""
    return 0 if target is None else target - address - len(one.jump_code(0, bits) or b"")


_Target = tuple[int | None, int]
"""The number of a statement (None: nobody knows), and bytes from its beginning."""


def _address(target: _Target | None, addresses: Sequence[int]) -> int | None:
    if target is None or target[0] is None:
        return None
    return addresses[target[0]] + target[1]


def _targets(statements: Sequence[Statement]) -> list[_Target | None]:
    """Where each jump leads, None for what is none."""
    places: dict[str, list[int]] = {}
    for number, one in enumerate(statements):
        for name in one.labels:
            places.setdefault(name, []).append(number)
    return [
        None if one.jump is None else _target(one, number, places) for number, one in enumerate(statements)
    ]


def _target(one: Statement, number: int, places: dict[str, list[int]]) -> _Target:
    target = one.target
    name = target.label
    if local := _LOCAL.fullmatch(name):
        known = places.get(local[1], [])
        at = bisect_right(known, number) - (local[2] == "b")
        return known[at] if 0 <= at < len(known) else None, 0
    offset = target.offset
    if name not in places and (found := _FROM_SOMEWHERE.fullmatch(name)):
        value = number_of(found[3].strip())
        if value is not None:
            name, offset = found[1], -value if found[2] == "-" else value
    if name in places:
        return places[name][0], offset
    words = name.split(None, 1)
    if len(words) > 1 and "(" not in name and words[0] in places:
        raise BlockError(f"something stands behind the target of the jump: {name[:60]}", one.line, one.column)
    return (number, offset) if name in _HERE else (None, 0)
