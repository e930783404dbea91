"""Operands in AT&T's syntax.

operand = "%"register | "$"immediate | memory | ["*"] target, with {decoration}
memory  = ["%"segment ":"] [displacement] ["(" [base] ["," index ["," scale]] ")"]
"""

from __future__ import annotations

import re

from iced_x86 import Register

from inference.isa.code.block import BlockError
from inference.isa.x86.assembly.operands import (
    ImmediateOperand,
    MemoryOperand,
    Operand,
    RegisterOperand,
    is_segment,
    memory_at,
    registers,
    sum_of,
)
from inference.isa.x86.iced_types import RegisterValue

_SEGMENT = re.compile(r"%([c-gs]s)\s*:\s*(.*)", re.IGNORECASE | re.DOTALL)  # `%fs:0(%rax)`
_ADDRESS = re.compile(
    r"(.*?)\(\s*+(%\w+)?\s*+(?:,\s*+(%\w+)?\s*+(?:,\s*+(\w+)?\s*+)?)?\)", re.IGNORECASE | re.DOTALL
)
_NO_INDEX = ("%riz", "%eiz")
_IN_ORDER = frozenset({"enter", "enterq", "enterw", "bound", "lcall", "ljmp"})
_PORT = "(%dx)"


def in_order_of_intel(mnemonic: str, operands: list[Operand]) -> list[Operand]:
    """Operands in Intel's order: AT&T's reversed, except for a few instructions with equal orders."""
    return operands if mnemonic in _IN_ORDER else operands[::-1]


def read_operand(text: str, constants: dict[str, int]) -> Operand:
    """An operand without its decorations and without `*`. Raises `BlockError`."""
    compact = "".join(text.split()).lower()
    if not compact:
        raise BlockError("an operand is missing beside a comma")
    if compact == _PORT:
        return RegisterOperand(Register.DX)
    if compact.startswith("%") and ":" not in compact and "(" not in compact.replace("%st(", ""):
        return RegisterOperand(_register(compact))
    if compact.startswith("$"):
        total = sum_of(text.strip()[1:], constants)
        return ImmediateOperand(total.value, total.symbol)
    segment: RegisterValue = Register.NONE
    address_text = text.strip()
    if matched := _SEGMENT.fullmatch(address_text):
        segment, address_text = registers()[matched.group(1).lower()], matched.group(2)
    if "[" in address_text or "]" in address_text:
        raise BlockError(f"{text[:40]!r} has brackets, as Intel syntax has, beside AT&T syntax")
    return _memory(address_text.strip(), segment, constants)


def _memory(text: str, segment: RegisterValue, constants: dict[str, int]) -> MemoryOperand:
    """A memory operand in AT&T syntax: `displacement(base,index,scale)`, or a displacement alone."""
    match = _ADDRESS.fullmatch(text)
    if match is None or not (match.group(2) or match.group(3)):
        _refuse_bare_register(text)
        value = sum_of(text, constants)
        return MemoryOperand(
            displacement=value.value, segment=segment, symbol=value.symbol, has_written_zero=not value.value
        )
    displacement_text, base, index, scale = match.groups()
    displacement, symbol, has_number = 0, "", False
    if displacement_text.strip():
        _refuse_bare_register(displacement_text)
        value = sum_of(displacement_text, constants)
        displacement, symbol, has_number = value.value, value.symbol, value.has_number
    if scale not in (None, "1", "2", "4", "8"):
        raise BlockError(f"a scale is 1, 2, 4 or 8, not {scale[:20]!r}")
    bases = [_address_register(base)] if base else []
    indices = []
    if index and index.lower() not in _NO_INDEX:
        indices.append((_address_register(index), int(scale or 1)))
    if len(bases) == 1 and len(indices) == 1 and indices[0][0] in (Register.RSP, Register.ESP):
        raise BlockError(f"{index} cannot be an index")
    address = memory_at(bases, indices, text)
    return MemoryOperand(
        None, *address, displacement, segment, symbol=symbol, has_written_zero=has_number and not displacement
    )


def _register(name: str) -> RegisterValue:
    register = registers().get(name.removeprefix("%"))
    if register is None:
        raise BlockError(f"there is no register {name[:20]!r}")
    return register


def _address_register(name: str) -> RegisterValue:
    register = _register(name.lower())
    if is_segment(register) or register < Register.EAX:
        raise BlockError(f"{name} cannot be part of an address")
    return register


def _refuse_bare_register(text: str) -> None:
    name = text.strip().lower()
    if name in registers():
        raise BlockError(f"registers have a % in AT&T syntax: %{name}")
