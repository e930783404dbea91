"""iced's kinds of operands by name: a class of registers, one register, a vector of addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping

from iced_x86 import OpCodeOperandKind as Kind
from iced_x86 import Register

from inference.isa.x86.iced_types import KindValue, RegisterValue

_REGISTERS = re.compile(r"((?!TR_)[A-Z]+\d*)_(?:REG|REG_MEM|RM|OPCODE|VVVV|IS4|IS5)")
"""Iced's kinds of a register: `XMM_REG`, `R32_RM`; the word behind is its place in the encoding."""

_OR_MEMORY = re.compile(r"([A-Z]+\d*)_OR_MEM")  # `R32_OR_MEM`
_OR_MEMORY_OF_MPX = re.compile(r"([A-Z]+\d*)_OR_MEM_MPX")
_VECTORS = re.compile(r"MEM_VSIB\d\d([XYZ])")
_NAMES: Mapping[str, KindValue] = {name: kind for name, kind in vars(Kind).items() if name.isupper()}


def _kinds_matching(pattern: re.Pattern[str]) -> dict[KindValue, str]:
    return {kind: match[1] for name, kind in _NAMES.items() if (match := pattern.fullmatch(name))}


REGISTER_CLASSES = _kinds_matching(_REGISTERS)
"""{kind: iced's name of its class of registers}: "R8", "XMM"; "XMMP3" is the first of four. No test
registers."""

OR_MEMORY = _kinds_matching(_OR_MEMORY)
"""The same for kinds that may be memory instead."""

OR_MEMORY_OF_MPX = _kinds_matching(_OR_MEMORY_OF_MPX)
"""The same for MPX, which no current processor has."""

VECTOR_INDEX = {kind: f"{letter}MM" for kind, letter in _kinds_matching(_VECTORS).items()}
"""{kind of memory: the class of vector registers with its addresses}."""

FIXED_NAMES = {kind: name.lower() for name, kind in _NAMES.items() if kind and hasattr(Register, name)}
"""{kind: the name of its only register}."""

FIXED_REGISTERS: Mapping[KindValue, RegisterValue] = {
    kind: getattr(Register, name.upper()) for kind, name in FIXED_NAMES.items()
}
