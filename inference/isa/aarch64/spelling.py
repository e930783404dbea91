"""The preferred spelling of an instruction: `cmp` for a `subs` whose destination is the zero register.

Also the names of numbers that instructions contain: system registers, barriers, prefetches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from inference.isa.aarch64 import STACK_POINTER
from inference.isa.scheme import Scheme
from inference.isa.words.accesses import (
    GENERAL,
    ZERO,
    ZERO_NUMBER,
    NamedImmediate,
    OperandValue,
    RegisterPart,
)

_NUMBERED = re.compile(r"s([23])_([0-7])_c(1[0-5]|\d)_c(1[0-5]|\d)_([0-7])", re.IGNORECASE)

_SYSTEM = {
    "nzcv": (3, 3, 4, 2, 0),
    "daif": (3, 3, 4, 2, 1),
    "fpcr": (3, 3, 4, 4, 0),
    "fpsr": (3, 3, 4, 4, 1),
    "tpidr_el0": (3, 3, 13, 0, 2),
    "tpidrro_el0": (3, 3, 13, 0, 3),
    "ctr_el0": (3, 3, 0, 0, 1),
    "dczid_el0": (3, 3, 0, 0, 7),
    "cntfrq_el0": (3, 3, 14, 0, 0),
    "cntpct_el0": (3, 3, 14, 0, 1),
    "cntvct_el0": (3, 3, 14, 0, 2),
    "rndr": (3, 3, 2, 4, 0),
    "midr_el1": (3, 0, 0, 0, 0),
    "id_aa64pfr0_el1": (3, 0, 0, 4, 0),
    "id_aa64isar0_el1": (3, 0, 0, 6, 0),
    "id_aa64isar1_el1": (3, 0, 0, 6, 1),
    "id_aa64mmfr0_el1": (3, 0, 0, 7, 0),
}
"""Those that programs read or write: op0, op1, CRn, CRm, op2."""


def _number(op0: int, op1: int, crn: int, crm: int, op2: int) -> int:
    return (op0 - 2) << 14 | op1 << 11 | crn << 7 | crm << 3 | op2


_NUMBERS = {name: _number(*parts) for name, parts in _SYSTEM.items()}
_NAMES = {number: name for name, number in _NUMBERS.items()}


def system_register_name(number: int) -> str:
    """The name of a system register by the 15 bits of `mrs`; without a usual name that of its parts.

    >>> system_register_name(0x5E82), system_register_name(0x4282)
    ('tpidr_el0', 'S3_0_C5_C0_2')
    """
    parts = 2 + (number >> 14), number >> 11 & 7, number >> 7 & 15, number >> 3 & 15, number & 7
    return _NAMES.get(number) or "S{}_{}_C{}_C{}_{}".format(*parts)


def system_register_number(name: str) -> int | None:
    """The inverse of `system_register_name`; None for an unknown name."""
    match = _NUMBERED.fullmatch(name)
    return _number(*map(int, match.groups())) if match else _NUMBERS.get(name.lower())


_SHARED = ("osh", "nsh", "ish", "")
BARRIERS: Mapping[int, str] = {
    4 * place
    + kind: f"{domain or ('', 'ld', 'st', 'sy')[kind]}{('', 'ld', 'st', '')[kind] if domain else ''}"
    for place, domain in enumerate(_SHARED)
    for kind in (1, 2, 3)
}
"""Operands of `dmb` and `dsb`: `ish`, `oshld`, `sy`."""

PREFETCHES: Mapping[int, str] = {
    kind << 3 | level << 1 | policy: f"{name}l{level + 1}{('keep', 'strm')[policy]}"
    for kind, name in enumerate(("pld", "pli", "pst"))
    for level in range(3)
    for policy in (0, 1)
}
"""Operands of `prfm`."""


Spelled = tuple[str, Sequence[str], Sequence[OperandValue]]
"""Mnemonic, names of the operands as in schemes, and their values."""

_WIDE = "IMM[wide]"
_HALF_WORD = 0xFFFF


def spelled(form: Scheme, operands: Sequence[OperandValue]) -> Spelled:
    """The spelling of an instruction of this form."""
    names = [operand.name for operand in form.operands[: len(operands)]]
    rule = _RULES.get(form.mnemonic)
    spelling = rule(form, names, operands) if rule is not None else None
    return spelling or (form.mnemonic, names, operands)


_Rule = Callable[[Scheme, list[str], Sequence[OperandValue]], Spelled | None]


def _is_zero(operand: OperandValue) -> bool:
    return isinstance(operand, RegisterPart) and operand.bank == ZERO


def _is_stack(operand: OperandValue) -> bool:
    return isinstance(operand, RegisterPart) and operand.bank == GENERAL and operand.number == STACK_POINTER


def _without_destination(mnemonic: str) -> _Rule:
    def rule(form: Scheme, names: list[str], operands: Sequence[OperandValue]) -> Spelled | None:
        return (mnemonic, names[1:], operands[1:]) if len(operands) > 2 and _is_zero(operands[0]) else None

    return rule


def _without_first_source(mnemonic: str) -> _Rule:
    def rule(form: Scheme, names: list[str], operands: Sequence[OperandValue]) -> Spelled | None:
        if len(operands) < 3 or not _is_zero(operands[1]) or not isinstance(operands[2], RegisterPart):
            return None
        return mnemonic, [names[0], *names[2:]], [operands[0], *operands[2:]]

    return rule


def _first(*rules: _Rule) -> _Rule:
    def rule(form: Scheme, names: list[str], operands: Sequence[OperandValue]) -> Spelled | None:
        return next(filter(None, (attempt(form, names, operands) for attempt in rules)), None)

    return rule


def _move_of_stack_pointer(
    form: Scheme, names: list[str], operands: Sequence[OperandValue]
) -> Spelled | None:
    if operands[2:] == (0,) and (_is_stack(operands[0]) or _is_stack(operands[1])):
        return "mov", names[:2], operands[:2]
    return None


def _element_move(form: Scheme, names: list[str], operands: Sequence[OperandValue]) -> Spelled | None:
    if form.mnemonic == "dup" and not names[0].startswith("FPR"):
        return None
    if form.mnemonic == "umov" and form.operands[1].width != form.operands[0].width:
        return None
    return "mov", names, operands


def _wide_move(form: Scheme, names: list[str], operands: Sequence[OperandValue]) -> Spelled | None:
    """`movz` and `movn` as `mov` of the constant, signed."""
    shift = operands[2].value if len(operands) > 2 and isinstance(operands[2], NamedImmediate) else 0
    number, width = operands[1], form.operands[0].width
    if not isinstance(number, int) or (number == 0 and shift):
        return None
    value = number << int(shift)
    if form.mnemonic == "movn":
        if width == 32 and number == _HALF_WORD:
            return None
        value = ~value
    value &= (1 << width) - 1
    return "mov", [names[0], _WIDE], [operands[0], value - (value >> (width - 1) << width)]


def _constant_move(form: Scheme, names: list[str], operands: Sequence[OperandValue]) -> Spelled | None:
    """`mov` of a constant that `movz` or `movn` could write as well is an `orr` with the zero register."""
    width = form.operands[0].width
    if not names[1].startswith("IMM[mask"):
        return None
    value = operands[1]
    if not isinstance(value, int):
        return None
    if not is_wide(value, width):
        return "mov", [names[0], _WIDE], [operands[0], value - (value >> (width - 1) << width)]
    return (
        "orr",
        [names[0], names[0], names[1]],
        [operands[0], RegisterPart(ZERO, ZERO_NUMBER, width), value],
    )


def is_wide(value: int, width: int) -> bool:
    """Whether a constant, or its complement, has no ones but in sixteen aligned bits."""
    return any(
        (number >> low & _HALF_WORD) << low == number
        for number in (value, value ^ (1 << width) - 1)
        for low in range(0, width, 16)
    )


def _tested_bit(form: Scheme, names: list[str], operands: Sequence[OperandValue]) -> Spelled | None:
    """A bit of the lower half is one of the 32-bit register."""
    register, bit = operands[0], operands[1]
    if isinstance(register, RegisterPart) and isinstance(bit, int) and bit < 32:
        return form.mnemonic, ["GPR[32]", *names[1:]], [register._replace(bits=32), *operands[1:]]
    return None


def _cleared_bits(form: Scheme, names: list[str], operands: Sequence[OperandValue]) -> Spelled | None:
    """`bfi` of zeros, and `bfxil` of the lowest ones."""
    if not _is_zero(operands[1]) or (form.mnemonic == "bfxil" and operands[2] != 0):
        return None
    return "bfc", [names[0], *names[2:]], [operands[0], *operands[2:]]


def _barrier(form: Scheme, names: list[str], operands: Sequence[OperandValue]) -> Spelled | None:
    return form.mnemonic, ["barrier"], operands


def _with_stack_pointer(form: Scheme, names: list[str], operands: Sequence[OperandValue]) -> Spelled | None:
    """An extension by no bits beside the stack pointer is a shift, or left out."""
    last = operands[-1]
    if not isinstance(last, NamedImmediate) or last.word != _EXTENSIONS[form.operands[0].width]:
        return None
    if not any(map(_is_stack, operands[:2])):
        return None
    if not last.value:
        return form.mnemonic, names[:-1], operands[:-1]
    return form.mnemonic, names, [*operands[:-1], NamedImmediate("lsl", last.value)]


_EXTENSIONS = {32: "uxtw", 64: "uxtx"}
"""By bits of the result: those that keep the whole register."""

_RULES: Mapping[str, _Rule] = {
    "dmb": _barrier,
    "dsb": _barrier,
    "ands": _without_destination("tst"),
    "adds": _first(_without_destination("cmn"), _with_stack_pointer),
    "subs": _first(_without_destination("cmp"), _without_first_source("negs"), _with_stack_pointer),
    "sub": _first(_without_first_source("neg"), _with_stack_pointer),
    **dict.fromkeys(("cmp", "cmn"), _with_stack_pointer),
    "orn": _without_first_source("mvn"),
    "bfi": _cleared_bits,
    "bfxil": _cleared_bits,
    "add": _first(_move_of_stack_pointer, _with_stack_pointer),
    "ins": _element_move,
    "umov": _element_move,
    "dup": _element_move,
    "movz": _wide_move,
    "movn": _wide_move,
    "mov": _constant_move,
    "tbz": _tested_bit,
    "tbnz": _tested_bit,
}
