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

_SEGMENT = re.compile(r"%([c-gs]s)\s*:\s*(.*)", re.IGNORECASE | re.DOTALL)
_ADDRESS = re.compile(
    r"(.*?)\(\s*+(%\w+)?\s*+(?:,\s*+(%\w+)?\s*+(?:,\s*+(\w+)?\s*+)?)?\)", re.IGNORECASE | re.DOTALL
)
_NO_INDEX = ("%riz", "%eiz")
_IN_ORDER = frozenset({"enter", "enterq", "enterw", "bound", "lcall", "ljmp"})
_PORT = "(%dx)"


def in_order_of_intel(mnemonic: str, operands: list[Operand]) -> list[Operand]:
    """AT&T's operands the other way round, but for the few instructions that have them as Intel."""
    return operands if mnemonic in _IN_ORDER else operands[::-1]


def read_operand(text: str, constants: dict[str, int]) -> Operand:
    """An operand without its decorations and without `*`. Raises `BlockError`."""
    packed = "".join(text.split()).lower()
    if not packed:
        raise BlockError("an operand is missing beside a comma")
    if packed == _PORT:
        return RegisterOperand(Register.DX)
    if packed.startswith("%") and ":" not in packed and "(" not in packed.replace("%st(", ""):
        return RegisterOperand(_register(packed))
    if packed.startswith("$"):
        found = sum_of(text.strip()[1:], constants)
        return ImmediateOperand(found.value, found.symbol)
    segment: RegisterValue = Register.NONE
    rest = text.strip()
    if matched := _SEGMENT.fullmatch(rest):
        segment, rest = registers()[matched.group(1).lower()], matched.group(2)
    if "[" in rest or "]" in rest:
        raise BlockError(f"{text[:40]!r} has brackets, as Intel syntax has, beside AT&T syntax")
    return _memory(rest.strip(), segment, constants)


def _memory(text: str, segment: RegisterValue, constants: dict[str, int]) -> MemoryOperand:
    found = _ADDRESS.fullmatch(text)
    if found is None or not (found.group(2) or found.group(3)):
        _refuse_bare_register(text)
        value = sum_of(text, constants)
        return MemoryOperand(
            displacement=value.value, segment=segment, symbol=value.symbol, spelt_zero=not value.value
        )
    written, base, index, scale = found.groups()
    displacement, symbol, spelt = 0, "", False
    if written.strip():
        _refuse_bare_register(written)
        value = sum_of(written, constants)
        displacement, symbol, spelt = value.value, value.symbol, value.has_number
    if scale not in (None, "1", "2", "4", "8"):
        raise BlockError(f"a scale is 1, 2, 4 or 8, not {scale[:20]!r}")
    plain = [_address_register(base)] if base else []
    scaled = []
    if index and index.lower() not in _NO_INDEX:
        scaled.append((_address_register(index), int(scale or 1)))
    if len(plain) == 1 and len(scaled) == 1 and scaled[0][0] in (Register.RSP, Register.ESP):
        raise BlockError(f"{index} cannot be an index")
    at = memory_at(plain, scaled, text)
    return MemoryOperand(
        None, *at, displacement, segment, symbol=symbol, spelt_zero=spelt and not displacement
    )


def _register(name: str) -> RegisterValue:
    found = registers().get(name.removeprefix("%"))
    if found is None:
        raise BlockError(f"there is no register {name[:20]!r}")
    return found


def _address_register(name: str) -> RegisterValue:
    register = _register(name.lower())
    if is_segment(register) or register < Register.EAX:
        raise BlockError(f"{name} cannot be part of an address")
    return register


def _refuse_bare_register(text: str) -> None:
    name = text.strip().lower()
    if name in registers():
        raise BlockError(f"registers have a % in AT&T syntax: %{name}")
