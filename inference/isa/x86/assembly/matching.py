"""Matches written operands with the operands of an opcode."""

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

_ENCODING_PREFIXES = frozenset({"{evex}", "{vex}", "{vex2}", "{vex3}"})
_NO_PREFIXES: frozenset[str] = frozenset()
_OF_TABLES = frozenset({"lgdt", "lidt", "sgdt", "sidt"})
"""Instructions whose AT&T suffix in disassemblers is not the width of their memory."""

_FAR_WIDTHS = (48, 80)  # bits of far pointers in memory
_IMMEDIATE, _MEMORY, _TARGET = -1, -2, -3  # in place of a register's number

_Shape = tuple[int, ...]
"""The register of each operand (a representative of those that opcodes do not distinguish), or its kind."""

Orders = tuple[tuple[int, ...], ...]
"""The positions of the written operands, for each possible order."""

Candidates = tuple[tuple[Opcode, Orders], ...]


def candidates(meaning: MnemonicMeaning, written: WrittenInstruction) -> Candidates:
    """The opcodes for operands of such kinds, in iced's order, with the possible orders."""
    shape: list[int] = []
    width = None
    for operand in meaning.operands:
        if isinstance(operand, RegisterOperand):
            shape.append(REPRESENTATIVES.get(operand.register, operand.register))
        elif isinstance(operand, MemoryOperand):
            shape.append(_MEMORY)
            width = operand.width
        else:
            shape.append(_IMMEDIATE if isinstance(operand, ImmediateOperand) else _TARGET)
    is_far = written.mnemonic[0] == "l" and meaning.reading.mnemonic in ("call", "jmp")
    encodings = _ENCODING_PREFIXES.intersection(written.prefixes) if written.prefixes else _NO_PREFIXES
    return _candidates(meaning.reading, tuple(shape), width, encodings, is_far)


@lru_cache(maxsize=1 << 13)
def _candidates(
    reading: MnemonicReading, shape: _Shape, width: int | None, encodings: frozenset[str], is_far: bool
) -> Candidates:
    return tuple(
        (opcode, orders)
        for opcode in opcodes_of(reading.mnemonic)
        if (orders := _fitting_orders(opcode, shape))
        and _is_of_encoding(opcode, encodings)
        and _is_as_far(opcode, reading, width, is_far=is_far)
        and _is_as_wide(opcode, reading, width)
    )


def first_fitting_order(
    opcode: Opcode, orders: Orders, operands: Sequence[Operand], *, small_symbols: bool
) -> tuple[int, ...] | None:
    """The first order in which the operands fit; None without.

    `small_symbols`: names may be immediates of less than 32 bits.
    """
    for positions in orders:
        for position, operand in zip(positions, operands, strict=True):
            if not _fits(opcode.places[position], operand, opcode, small_symbols=small_symbols):
                break
        else:
            return positions
    return None


def stored_value(place: OpcodeOperand, value: int) -> int | None:
    """The number as encoded, None where it does not fit."""
    assert place.immediate is not None
    _, bits, wide = place.immediate
    if place.only_value is not None:
        return value if value == place.only_value else None
    if not wide:
        return value % 2**bits if -(2 ** (bits - 1)) <= value < 2**bits else None
    if 2 ** (wide - 1) <= value < 2**wide:
        value -= 2**wide
    return value % 2**64 if -(2 ** (bits - 1)) <= value < 2 ** (bits - 1) else None


def _is_of_encoding(opcode: Opcode, encodings: frozenset[str]) -> bool:
    return "{evex}" not in encodings if not opcode.is_evex else encodings <= {"{evex}"}


def _is_as_far(opcode: Opcode, reading: MnemonicReading, width: int | None, *, is_far: bool) -> bool:
    """Whether both are far jumps or calls, or neither."""
    if is_far:
        return opcode.is_far and opcode.memory_width == (_far_width(reading) or width or 48)
    return not opcode.is_far or (width in _FAR_WIDTHS and width == opcode.memory_width)


def _far_width(reading: MnemonicReading) -> int:
    """Bits of a far pointer with the offset's size of the suffix: the selector has 16 more."""
    return reading.size + 16 if reading.size else 0


def _is_as_wide(opcode: Opcode, reading: MnemonicReading, width: int | None) -> bool:
    """Whether all widths in the name and of the memory are those of the opcode."""
    if opcode.is_far:
        return True
    if not _is_as_named(opcode, reading) or (reading.long and not opcode.is_long):
        return False
    if opcode.any_width and opcode.operand_size == 16 and opcode.memory_width and not opcode.needs_no_prefix:
        return width == opcode.memory_width
    return opcode.needs_no_prefix or reading.size == opcode.operand_size


def _is_as_named(opcode: Opcode, reading: MnemonicReading) -> bool:
    if reading.size and reading.size not in opcode.widths and opcode.mnemonic not in _OF_TABLES:
        return False
    if not reading.source:
        return True
    if reading.size and opcode.places[0].width != reading.size:
        return False
    return reading.source in (opcode.memory_width, opcode.places[-1].width)


def _fitting_orders(opcode: Opcode, shape: _Shape) -> Orders:
    """The orders in which operands of these kinds fill the places."""
    orders = []
    for order in opcode.orders:
        if len(order) == len(shape):
            for position, kind in zip(order, shape, strict=True):
                if not _takes(opcode.places[position], kind):
                    break
            else:
                orders.append(order)
    return tuple(orders)


def _takes(place: OpcodeOperand, kind: int) -> bool:
    if kind >= 0:
        return place.registers is not None and place.registers[0] <= kind <= place.registers[1]
    if kind == _IMMEDIATE:
        return place.immediate is not None
    return kind == _MEMORY and (place.memory or place.string is not None)


def _fits(place: OpcodeOperand, operand: Operand, opcode: Opcode, *, small_symbols: bool) -> bool:
    if isinstance(operand, ImmediateOperand):
        assert place.immediate is not None
        if operand.symbol and not small_symbols and place.immediate[1] < 32:
            return False
        return stored_value(place, operand.value) is not None
    return not isinstance(operand, MemoryOperand) or _is_there(place, operand, opcode)


def _is_there(place: OpcodeOperand, operand: MemoryOperand, opcode: Opcode) -> bool:
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
