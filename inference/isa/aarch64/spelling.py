"""The preferred spelling of an instruction: `cmp` for a `subs` whose destination is the zero register."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from inference.isa.scheme import Scheme
from inference.isa.words.instruction import (
    GENERAL,
    STACK_POINTER,
    ZERO,
    NamedImmediate,
    OperandValue,
    RegisterPart,
)

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
        [operands[0], RegisterPart(ZERO, STACK_POINTER, width), value],
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
