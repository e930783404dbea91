"""Operands in Intel's syntax, in the dialects of GNU, LLVM, Microsoft and NASM.

operand = register | immediate | memory | target, with {decoration}
memory  = [size ["ptr" | "bcst"]] [segment ":"] [displacement] "[" [segment ":"] address "]"
address = sum of registers, register*scale, numbers and names
"""

from __future__ import annotations

import re

from iced_x86 import Register

from inference.isa.code.block import BlockError
from inference.isa.x86.assembly.operands import (
    SEGMENTS,
    SIZES,
    ImmediateOperand,
    MemoryOperand,
    Operand,
    RegisterOperand,
    is_segment,
    memory_at,
    number_of,
    registers,
    sum_of,
)
from inference.isa.x86.iced_types import RegisterValue

_SIZED = re.compile(rf"({'|'.join(SIZES)})\b\s*(?:(ptr|bcst)\b)?\s*(.*)", re.IGNORECASE | re.DOTALL)
_SEGMENT = re.compile(rf"({'|'.join(SEGMENTS)})\s*:\s*(.*)", re.IGNORECASE | re.DOTALL)
_OFFSET = re.compile(r"offset\s+(?:flat\s*:\s*)?(\S.*)", re.IGNORECASE | re.DOTALL)
_TERM = re.compile(r"([+-]?)([^+-]+)")
_DEMANGLED = re.compile(r"[A-Za-z_~][\w\s:<>,&*().~$@\[\]]*", re.ASCII)
_IN_BRACKETS = re.compile(r"\s*\[[^\[\]]*\[[^\[\]]*\]\s*\]\s*")
_PAIR = re.compile(r"\]\s*\[")
_RELATIVE = re.compile(r"(rel|abs)\s+(.*)", re.IGNORECASE | re.DOTALL)
_NO_INDEX = ("riz", "eiz")


def read_operand(text: str, constants: dict[str, int]) -> Operand:
    """An operand without its decorations. Raises `BlockError`."""
    known = registers()
    register = known.get(text)
    if register is None and "[" not in text:
        register = known.get("".join(text.split()).lower())
    if register is not None:
        return RegisterOperand(register)
    if not text or text.isspace():
        raise BlockError("an operand is missing beside a comma")
    if "%" in text:
        raise BlockError(f"{text[:40]!r} has a %, as registers of AT&T syntax have, beside Intel syntax")
    if _is_bracketed_memory(text):  # GCC's calls through memory
        return read_operand(text.strip()[1:-1], constants)
    width, broadcast, rest = None, 0, text
    if found := _SIZED.fullmatch(text):
        width, rest = SIZES[found.group(1).lower()], found.group(3)
        broadcast = -1 if (found.group(2) or "").lower() == "bcst" else 0
        if not rest.strip():
            raise BlockError(f"behind {text[:40]!r} memory like [rax+8] is missing")
    segment: RegisterValue = Register.NONE
    if ":" in rest and (found := _SEGMENT.fullmatch(rest)):
        segment, rest = registers()[found.group(1).lower()], found.group(2)
    if "[" in rest or "]" in rest:
        return _memory(rest, width, segment, broadcast, constants)
    if width is not None or segment:
        if rest.strip().lower() in registers() or (number_of(rest.strip()) is not None and not segment):
            return _sized_value(rest.strip(), width)
        value = _displacement(rest, constants)
        return MemoryOperand(
            width, displacement=value[0], segment=segment, broadcast=broadcast, symbol=value[1]
        )
    return _immediate(rest, constants)


def _immediate(text: str, constants: dict[str, int]) -> ImmediateOperand:
    if text[:1] in "oO" and (offset := _OFFSET.fullmatch(text)):
        return ImmediateOperand(0, offset.group(1).strip())
    try:
        found = sum_of(text, constants)
    except BlockError as error:
        shown = text.strip()[:40]
        if shown.lstrip("+-")[:1].isdigit() and "is no number" not in error.message:
            raise
        raise BlockError(f"{shown!r} is no register, number or memory like [rax+8]") from None
    if found.symbol:
        raise BlockError(
            f"{found.symbol[:40]!r} is no register and no number; memory by this name is written "
            f"'dword ptr [rip+{found.symbol[:20]}]', its address 'offset {found.symbol[:20]}'"
        )
    return ImmediateOperand(found.value)


def _is_bracketed_memory(text: str) -> bool:
    """Whether brackets stand around memory that has its own: `[QWORD PTR 16[rax]]`."""
    return text.count("[") > 1 and _IN_BRACKETS.fullmatch(text) is not None


def _sized_value(text: str, width: int | None) -> Operand:
    """`push word 5`, `movzx eax, byte al`: NASM writes the size of values as well."""
    register = registers().get(text.lower())
    if register is not None:
        return RegisterOperand(register)
    value = number_of(text)
    assert value is not None
    if width is not None and value >= 2**width:
        raise BlockError(f"{text[:40]} does not fit into {width} bits")
    return ImmediateOperand(value)


def _memory(
    text: str, width: int | None, segment: RegisterValue, broadcast: int, constants: dict[str, int]
) -> MemoryOperand:
    before, bracket, inside = text.partition("[")
    if not bracket or not inside.rstrip().endswith("]"):
        raise BlockError(f"memory is written like 'qword ptr [rax+rcx*8+16]', not {text[:40]!r}")
    parts = _PAIR.split(inside.rstrip()[:-1])
    if any("[" in part or "]" in part for part in parts):
        raise BlockError(f"the brackets of {text[:40]!r} do not match")
    if ":" in parts[0]:
        if found := _SEGMENT.fullmatch(parts[0].strip()):
            segment, parts[0] = registers()[found.group(1).lower()], found.group(2)
        elif "::" not in parts[0] and not _DEMANGLED.fullmatch(parts[0].partition("+")[2].strip() or " "):
            name = parts[0].partition(":")[0].strip()
            raise BlockError(f"there is no segment {name[:20]!r}; there are {', '.join(SEGMENTS)}")
    terms = _terms(parts, text)
    if before.strip():
        terms.append(("+", before.strip()))
    return _address(terms, width, segment, broadcast, constants, shown=text.strip())


def _terms(parts: list[str], text: str) -> list[tuple[str, str]]:
    """(sign, term) of what stands in the brackets."""
    found: list[tuple[str, str]] = []
    for part in parts:
        inner = part.strip()
        if inner[:3].lower() in ("rel", "abs") and (relative := _RELATIVE.fullmatch(inner)):
            inner = relative.group(2) if relative.group(1).lower() == "abs" else f"rip+{relative.group(2)}"
        terms = list(_TERM.finditer(inner))
        if not terms or sum(term.end() - term.start() for term in terms) != len(inner):
            shown = text.strip()[:40]
            raise BlockError(f"{shown!r} is no address: registers, register*scale and numbers are added")
        found += [(term.group(1) or "+", term.group(2).strip()) for term in terms]
    return found


def _address(
    terms: list[tuple[str, str]],
    width: int | None,
    segment: RegisterValue,
    broadcast: int,
    constants: dict[str, int],
    *,
    shown: str,
) -> MemoryOperand:
    plain: list[RegisterValue] = []
    scaled: list[tuple[RegisterValue, int]] = []
    displacement, symbol, spelt = 0, "", False
    known = registers()
    for sign, term in terms:
        first, star, second = term.partition("*")
        name, factor = first.strip(), second.strip()
        if star and factor.lower() in known:
            name, factor = factor, name
        if name.lower() in _NO_INDEX:
            continue
        register = known.get(name.lower())
        if register is None:
            value, named = _displacement(term, constants)
            displacement += -value if sign == "-" else value
            symbol = symbol or named
            spelt = spelt or not named
            continue
        if sign == "-":
            raise BlockError(f"a register cannot be subtracted in {shown[:40]}")
        if not _can_address(register):
            raise BlockError(f"{name} cannot be part of an address, as in {shown[:40]}")
        if not star:
            plain.append(register)
        elif (scale := number_of(factor)) in (1, 2, 4, 8) and scale is not None:
            scaled.append((register, scale))
        else:
            raise BlockError(f"a scale is 1, 2, 4 or 8, not {factor[:20]!r}")
    base, index, scale = memory_at(plain, scaled, shown)
    return MemoryOperand(
        width, base, index, scale, displacement, segment, broadcast, symbol, spelt and not displacement
    )


def _can_address(register: RegisterValue) -> bool:
    return not (is_segment(register) or Register.K0 <= register <= Register.TR7) and register >= Register.EAX


def _displacement(text: str, constants: dict[str, int]) -> tuple[int, str]:
    """(number, name) of a part of an address; names as C++ has them are taken whole."""
    stripped = text.strip()
    if (value := number_of(stripped)) is not None:
        return value, ""
    try:
        found = sum_of(stripped, constants)
    except BlockError:
        if _DEMANGLED.fullmatch(stripped) and re.search(r"::|\(|<| for ", stripped):
            return 0, stripped
        raise BlockError(f"{stripped[:40]!r} is no register, number or name in an address") from None
    return found.value, found.symbol
