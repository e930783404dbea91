"""Whether operands as they are written can stand at the places of an opcode."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from inference.isa.x86.assembly.meanings import MnemonicMeaning
from inference.isa.x86.assembly.mnemonics import MnemonicReading
from inference.isa.x86.assembly.opcodes import REPRESENTATIVES, Opcode, OpcodeOperand, opcodes_of
from inference.isa.x86.assembly.operands import (
    ImmediateOperand,
    MemoryOperand,
    Operand,
    RegisterOperand,
    WrittenInstruction,
    is_vector,
)
from inference.isa.x86.iced_types import RegisterValue

_WISHES = frozenset({"{evex}", "{vex}", "{vex2}", "{vex3}"})
_NO_WISHES: frozenset[str] = frozenset()
_OF_TABLES = frozenset({"lgdt", "lidt", "sgdt", "sidt"})
"""Instructions whose names AT&T's disassemblers give a letter that is not the width of their memory."""

_FAR_WIDTHS = (48, 80)
_IMMEDIATE, _MEMORY, _TARGET = -1, -2, -3

_Shape = tuple[int, ...]
"""Of each operand its register (of those that no opcode tells apart the same one), or what else it is."""

Ways = tuple[tuple[int, ...], ...]
"""The positions that operands can take in order, for each way to place them."""

Candidates = tuple[tuple[Opcode, Ways], ...]


def candidates(meaning: MnemonicMeaning, written: WrittenInstruction) -> Candidates:
    """The opcodes that take operands of such kinds, in iced's order, and which operand goes where."""
    shape: list[int] = []
    width = None
    for one in meaning.operands:
        if isinstance(one, RegisterOperand):
            shape.append(REPRESENTATIVES.get(one.register, one.register))
        elif isinstance(one, MemoryOperand):
            shape.append(_MEMORY)
            width = one.width
        else:
            shape.append(_IMMEDIATE if isinstance(one, ImmediateOperand) else _TARGET)
    is_far = written.mnemonic[0] == "l" and meaning.reading.mnemonic in ("call", "jmp")
    wishes = _WISHES.intersection(written.prefixes) if written.prefixes else _NO_WISHES
    return _candidates(meaning.reading, tuple(shape), width, wishes, is_far)


@lru_cache(maxsize=1 << 13)
def _candidates(
    reading: MnemonicReading, shape: _Shape, width: int | None, wishes: frozenset[str], is_far: bool
) -> Candidates:
    return tuple(
        (opcode, ways)
        for opcode in opcodes_of(reading.mnemonic)
        if (ways := _ways(opcode, shape))
        and _is_of_encoding(opcode, wishes)
        and _is_as_far(opcode, reading, width, is_far=is_far)
        and _is_as_wide(opcode, reading, width)
    )


def filled(
    opcode: Opcode, ways: Ways, operands: Sequence[Operand], *, small_symbols: bool
) -> tuple[int, ...] | None:
    """The first way in which the operands fit; None where there is none.

    `small_symbols`: names may stand for immediates of less than 32 bits.
    """
    for positions in ways:
        for position, operand in zip(positions, operands, strict=True):
            if not _fits(opcode.places[position], operand, opcode, small_symbols=small_symbols):
                break
        else:
            return positions
    return None


def stored(place: OpcodeOperand, value: int) -> int | None:
    """The number as the code has it, None where it does not fit."""
    assert place.immediate is not None
    _, bits, wide = place.immediate
    if place.only_value is not None:
        return value if value == place.only_value else None
    if not wide:
        return value % 2**bits if -(2 ** (bits - 1)) <= value < 2**bits else None
    if 2 ** (wide - 1) <= value < 2**wide:
        value -= 2**wide
    return value % 2**64 if -(2 ** (bits - 1)) <= value < 2 ** (bits - 1) else None


def _is_of_encoding(opcode: Opcode, wishes: frozenset[str]) -> bool:
    return "{evex}" not in wishes if not opcode.is_evex else wishes <= {"{evex}"}


def _is_as_far(opcode: Opcode, reading: MnemonicReading, width: int | None, *, is_far: bool) -> bool:
    """Whether both are far jumps or calls, or neither is."""
    if is_far:
        return opcode.is_far and opcode.memory_width == (_far_width(reading) or width or 48)
    return not opcode.is_far or (width in _FAR_WIDTHS and width == opcode.memory_width)


def _far_width(reading: MnemonicReading) -> int:
    """Bits of a far pointer whose offset has the size that a letter says: the selector has 16 more."""
    return reading.size + 16 if reading.size else 0


def _is_as_wide(opcode: Opcode, reading: MnemonicReading, width: int | None) -> bool:
    """Whether all widths that the name and the memory say are those of the opcode."""
    if opcode.is_far:
        return True
    if not _is_as_named(opcode, reading) or (reading.long and not opcode.is_long):
        return False
    if opcode.any_width and opcode.operand_size == 16 and opcode.memory_width and not opcode.bare:
        return width == opcode.memory_width
    return opcode.bare or reading.size == opcode.operand_size


def _is_as_named(opcode: Opcode, reading: MnemonicReading) -> bool:
    """Whether the widths in the name are those of the opcode."""
    if reading.size and reading.size not in opcode.widths and opcode.mnemonic not in _OF_TABLES:
        return False
    if not reading.source:
        return True
    if reading.size and opcode.places[0].width != reading.size:
        return False
    return reading.source in (opcode.memory_width, opcode.places[-1].width)


def _ways(opcode: Opcode, shape: _Shape) -> Ways:
    """The ways in which operands of these kinds can fill the places, in order."""
    found = []
    for way in opcode.ways:
        if len(way) == len(shape):
            for position, kind in zip(way, shape, strict=True):
                if not _takes(opcode.places[position], kind):
                    break
            else:
                found.append(way)
    return tuple(found)


def _takes(place: OpcodeOperand, kind: int) -> bool:
    if kind >= 0:
        return place.registers is not None and place.registers[0] <= kind <= place.registers[1]
    if kind == _IMMEDIATE:
        return place.immediate is not None
    return kind == _MEMORY and (place.memory or place.string is not None)


def _fits(place: OpcodeOperand, operand: Operand, opcode: Opcode, *, small_symbols: bool) -> bool:
    """Whether an operand of a kind that the place takes can stand there."""
    if isinstance(operand, ImmediateOperand):
        assert place.immediate is not None
        if operand.symbol and not small_symbols and place.immediate[1] < 32:
            return False
        return stored(place, operand.value) is not None
    return not isinstance(operand, MemoryOperand) or _is_there(place, operand, opcode)


def _is_there(place: OpcodeOperand, operand: MemoryOperand, opcode: Opcode) -> bool:
    """Whether the memory operand can stand at the place."""
    if place.string:
        return operand.base == place.string[0] and operand.width in (None, opcode.memory_width)
    if place.index:  # the size that is written may be that of an element or of all
        return _is_of(operand.index, place.index)
    if is_vector(operand.index) or bool(operand.broadcast) > bool(opcode.element_width):
        return False
    if place.absolute and (operand.base or operand.index):
        return False
    if operand.broadcast > 0 and operand.broadcast * opcode.element_width != opcode.memory_width:
        return False
    width = opcode.element_width if operand.broadcast else opcode.memory_width
    return operand.width is None or opcode.any_width or not width or operand.width == width


def _is_of(register: RegisterValue, ends: tuple[RegisterValue, RegisterValue]) -> bool:
    return ends[0] <= register <= ends[1]
