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
"""`dword ptr [rax]`, `byte [rax]`, `dword bcst [rax]`."""

_SEGMENT = re.compile(rf"({'|'.join(SEGMENTS)})\s*:\s*(.*)", re.IGNORECASE | re.DOTALL)  # `fs:[0]`
_OFFSET = re.compile(r"offset\s+(?:flat\s*:\s*)?(\S.*)", re.IGNORECASE | re.DOTALL)  # `offset flat:table`
_TERM = re.compile(r"([+-]?)([^+-]+)")
_DEMANGLED = re.compile(r"[A-Za-z_~][\w\s:<>,&*().~$@\[\]]*", re.ASCII)  # `std::vector<int>::size() const`
_IN_BRACKETS = re.compile(r"\s*\[[^\[\]]*\[[^\[\]]*\]\s*\]\s*")  # `[QWORD PTR 16[rax]]`
_PAIR = re.compile(r"\]\s*\[")
_RELATIVE = re.compile(r"(rel|abs)\s+(.*)", re.IGNORECASE | re.DOTALL)  # `rel table` of NASM
_NO_INDEX = ("riz", "eiz")


def read_operand(text: str, constants: dict[str, int]) -> Operand:
    """An operand without its decorations. Raises `BlockError`."""
    register_numbers = registers()
    register = register_numbers.get(text)
    if register is None and "[" not in text:
        register = register_numbers.get("".join(text.split()).lower())
    if register is not None:
        return RegisterOperand(register)
    if not text or text.isspace():
        raise BlockError("an operand is missing beside a comma")
    if "%" in text:
        raise BlockError(f"{text[:40]!r} has a %, as registers of AT&T syntax have, beside Intel syntax")
    if _is_bracketed_memory(text):  # GCC's calls through memory
        return read_operand(text.strip()[1:-1], constants)
    width, broadcast, body = None, 0, text
    if match := _SIZED.fullmatch(text):
        width, body = SIZES[match.group(1).lower()], match.group(3)
        broadcast = -1 if (match.group(2) or "").lower() == "bcst" else 0
        if not body.strip():
            raise BlockError(f"behind {text[:40]!r} memory like [rax+8] is missing")
    segment: RegisterValue = Register.NONE
    if ":" in body and (match := _SEGMENT.fullmatch(body)):
        segment, body = registers()[match.group(1).lower()], match.group(2)
    if "[" in body or "]" in body:
        return _memory(body, width, segment, broadcast, constants)
    if width is not None or segment:
        if body.strip().lower() in registers() or (number_of(body.strip()) is not None and not segment):
            return _sized_value(body.strip(), width)
        value = _displacement(body, constants)
        is_relative = segment == Register.CS and value[1]  # `cs:table` is IDA's memory beside the instruction
        base, segment = (Register.RIP, Register.NONE) if is_relative else (Register.NONE, segment)
        return MemoryOperand(
            width, base, displacement=value[0], segment=segment, broadcast=broadcast, symbol=value[1]
        )
    return _immediate(body, constants)


def _immediate(text: str, constants: dict[str, int]) -> ImmediateOperand:
    if text[:1] in "oO" and (offset := _OFFSET.fullmatch(text)):
        return ImmediateOperand(0, offset.group(1).strip())
    try:
        total = sum_of(text, constants)
    except BlockError as error:
        quoted = text.strip()[:40]
        if quoted.lstrip("+-")[:1].isdigit() and "is no number" not in error.message:
            raise
        raise BlockError(f"{quoted!r} is no register, number or memory like [rax+8]") from None
    if total.symbol:
        raise BlockError(
            f"{total.symbol[:40]!r} is no register and no number; memory by this name is written "
            f"'dword ptr [rip+{total.symbol[:20]}]', its address 'offset {total.symbol[:20]}'"
        )
    return ImmediateOperand(total.value)


def _is_bracketed_memory(text: str) -> bool:
    """Whether memory with brackets is inside another pair: `[QWORD PTR 16[rax]]`."""
    return text.count("[") > 1 and _IN_BRACKETS.fullmatch(text) is not None


def _sized_value(text: str, width: int | None) -> Operand:
    """A value with a size, as in NASM: `push word 5`, `movzx eax, byte al`."""
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
    """A memory operand in Intel syntax: `displacement [terms]`, with a segment before or within."""
    displacement, bracket, inside = text.partition("[")
    if not bracket or not inside.rstrip().endswith("]"):
        raise BlockError(f"memory is written like 'qword ptr [rax+rcx*8+16]', not {text[:40]!r}")
    parts = _PAIR.split(inside.rstrip()[:-1])
    if any("[" in part or "]" in part for part in parts):
        raise BlockError(f"the brackets of {text[:40]!r} do not match")
    if ":" in parts[0]:
        if match := _SEGMENT.fullmatch(parts[0].strip()):
            segment, parts[0] = registers()[match.group(1).lower()], match.group(2)
        elif "::" not in parts[0] and not _DEMANGLED.fullmatch(parts[0].partition("+")[2].strip() or " "):
            name = parts[0].partition(":")[0].strip()
            raise BlockError(f"there is no segment {name[:20]!r}; there are {', '.join(SEGMENTS)}")
    terms = _terms(parts, text)
    if displacement.strip():
        terms.append(("+", displacement.strip()))
    return _address(terms, width, segment, broadcast, constants, address_text=text.strip())


def _terms(parts: list[str], text: str) -> list[tuple[str, str]]:
    """(sign, term) of the text in the brackets."""
    signed_terms: list[tuple[str, str]] = []
    for part in parts:
        inner = part.strip()
        if inner[:3].lower() in ("rel", "abs") and (relative := _RELATIVE.fullmatch(inner)):
            inner = relative.group(2) if relative.group(1).lower() == "abs" else f"rip+{relative.group(2)}"
        terms = list(_TERM.finditer(inner))
        if not terms or sum(term.end() - term.start() for term in terms) != len(inner):
            quoted = text.strip()[:40]
            raise BlockError(f"{quoted!r} is no address: registers, register*scale and numbers are added")
        signed_terms += [(term.group(1) or "+", term.group(2).strip()) for term in terms]
    return signed_terms


def _address(
    terms: list[tuple[str, str]],
    width: int | None,
    segment: RegisterValue,
    broadcast: int,
    constants: dict[str, int],
    *,
    address_text: str,
) -> MemoryOperand:
    """The memory operand of signed terms: registers, a register with its scale, numbers and symbols.

    The order of terms is free, as assemblers allow; `memory_at` decides which register is the base.
    """
    bases: list[RegisterValue] = []
    indices: list[tuple[RegisterValue, int]] = []
    displacement, symbol, has_number = 0, "", False
    register_numbers = registers()
    for sign, term in terms:
        first, star, second = term.partition("*")
        name, factor = first.strip(), second.strip()
        if star and factor.lower() in register_numbers:
            name, factor = factor, name
        if name.lower() in _NO_INDEX:
            continue
        register = register_numbers.get(name.lower())
        if register is None:
            value, added_symbol = _displacement(term, constants)
            displacement += -value if sign == "-" else value
            symbol = symbol or added_symbol
            has_number = has_number or not added_symbol
            continue
        if sign == "-":
            raise BlockError(f"a register cannot be subtracted in {address_text[:40]}")
        if not _can_address(register):
            raise BlockError(f"{name} cannot be part of an address, as in {address_text[:40]}")
        if not star:
            bases.append(register)
        elif (scale := number_of(factor)) in (1, 2, 4, 8) and scale is not None:
            indices.append((register, scale))
        else:
            raise BlockError(f"a scale is 1, 2, 4 or 8, not {factor[:20]!r}")
    base, index, scale = memory_at(bases, indices, address_text)
    return MemoryOperand(
        width, base, index, scale, displacement, segment, broadcast, symbol, has_number and not displacement
    )


def _can_address(register: RegisterValue) -> bool:
    return not (is_segment(register) or Register.K0 <= register <= Register.TR7) and register >= Register.EAX


def _displacement(text: str, constants: dict[str, int]) -> tuple[int, str]:
    """(number, name) of a part of an address; names in C++ syntax are taken as a unit."""
    stripped = text.strip()
    if (value := number_of(stripped)) is not None:
        return value, ""
    try:
        total = sum_of(stripped, constants)
    except BlockError:
        if _DEMANGLED.fullmatch(stripped) and re.search(r"::|\(|<| for ", stripped):
            return 0, stripped
        raise BlockError(f"{stripped[:40]!r} is no register, number or name in an address") from None
    return total.value, total.symbol
