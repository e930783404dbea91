"""Other spellings that assemblers accept: `cmp x0, #-1` is a `cmn`, `ldr x0, [x1, #-8]` an `ldur`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from inference.isa.aarch64.spelling import is_wide
from inference.isa.aarch64.written import Written, WrittenAddress, WrittenShift, WrittenVector
from inference.isa.words.accesses import GENERAL, VECTOR, ZERO, ZERO_NUMBER, RegisterPart


class Rewritten(NamedTuple):
    """An instruction in another spelling.

    Attributes:
        first: Whether it is preferred to what was written.
        operand: One that the form must have, "" for any form.
    """

    mnemonic: str
    operands: Sequence[Written]
    first: bool = False
    operand: str = ""


def respelled(mnemonic: str, operands: Sequence[Written]) -> list[Rewritten]:
    """The other spellings of an instruction.

    Without operands, one for a mnemonic that has other spellings at all.
    """
    if not operands:
        return [Rewritten(mnemonic, ())] if mnemonic in _RULES else []
    spellings: list[Rewritten] = []
    if (
        len(operands) > 1
        and isinstance(operands[-1], WrittenShift)
        and operands[-1] == WrittenShift("lsl", 0)
    ):
        spellings.append(Rewritten(mnemonic, operands[:-1]))
    rule = _RULES.get(mnemonic)
    if rule is not None:
        spellings += rule(mnemonic, operands)
    return spellings


_Rule = Callable[[str, Sequence[Written]], Iterator[Rewritten]]
_OPPOSITES = {"add": "sub", "adds": "subs", "cmp": "cmn"}
_OPPOSITES |= {other: name for name, other in _OPPOSITES.items()}
_WITHOUT_DESTINATION = {"cmp": "subs", "cmn": "adds", "tst": "ands"}
_WITHOUT_SOURCE = {"neg": "sub", "negs": "subs", "mvn": "orn"}
_SCALED = {
    name: name.replace("r", "ur", 1) if name[:3] in {"ldr", "str"} else name
    for name in ("ldr", "ldrb", "ldrh", "ldrsb", "ldrsh", "ldrsw", "str", "strb", "strh")
}
_HALF_WORD, _CONSTANT = "IMM[16]", "IMM[mask"
_HALF_WORDS = (0, 16, 32, 48)
_PAGE = 1 << 12


def _zero(like: Written) -> RegisterPart:
    return RegisterPart(ZERO, ZERO_NUMBER, like.bits if isinstance(like, RegisterPart) else 64)


def _arithmetic(mnemonic: str, operands: Sequence[Written]) -> Iterator[Rewritten]:
    """Negative immediates, those in thousands of bytes, and results that are not kept."""
    last = operands[-1]
    if isinstance(last, int):
        opposite = _OPPOSITES.get(mnemonic)
        if last < 0 and opposite:
            yield Rewritten(opposite, [*operands[:-1], -last])
        if last >= _PAGE and not last % _PAGE:
            shifted = (*operands[:-1], last // _PAGE, WrittenShift("lsl", 12))
            yield Rewritten(mnemonic, shifted)
            yield from _general(mnemonic, shifted)
    yield from _general(mnemonic, operands)
    yield from _beside_stack_pointer(mnemonic, operands)


def _beside_stack_pointer(mnemonic: str, operands: Sequence[Written]) -> Iterator[Rewritten]:
    """Registers and shifts where only an extended register is possible."""
    *before, last = operands
    amount = 0
    if isinstance(last, WrittenShift) and last.word == "lsl" and before:
        *before, register = before
        amount = last.amount or 0
    else:
        register = last
    if isinstance(register, RegisterPart) and register.bank != VECTOR:
        extension = WrittenShift("uxtw" if register.bits == 32 else "uxtx", amount)
        yield Rewritten(mnemonic, [*before, register, extension])


def _general(mnemonic: str, operands: Sequence[Written]) -> Iterator[Rewritten]:
    """The instruction with the zero register where another spelling leaves it out, and the reverse."""
    if name := _WITHOUT_DESTINATION.get(mnemonic):
        yield Rewritten(name, [_zero(operands[0]), *operands])
    if (name := _WITHOUT_SOURCE.get(mnemonic)) and isinstance(operands[0], RegisterPart):
        yield Rewritten(name, [operands[0], _zero(operands[0]), *operands[1:]])


def _load_or_store(mnemonic: str, operands: Sequence[Written]) -> Iterator[Rewritten]:
    if isinstance(operands[-1], WrittenAddress) and not operands[-1].moves:
        yield Rewritten(_SCALED[mnemonic], operands)


def _move(mnemonic: str, operands: Sequence[Written]) -> Iterator[Rewritten]:
    """`mov` of constants, of the stack pointer, and of elements."""
    if len(operands) != 2:
        return
    target, source = operands
    if isinstance(target, RegisterPart) and isinstance(source, int) and target.bank != VECTOR:
        yield from _constant(target, source)
    elif isinstance(target, WrittenVector):
        yield Rewritten("ins", operands)
    elif isinstance(source, WrittenVector) and isinstance(target, RegisterPart):
        yield Rewritten("dup" if target.bank == VECTOR else "umov", operands)
    elif isinstance(source, RegisterPart):
        yield Rewritten("add", [target, source, 0])


def _constant(target: RegisterPart, value: int) -> Iterator[Rewritten]:
    bits = (1 << target.bits) - 1
    if not -bits <= value <= bits or not is_wide(value & bits, target.bits):
        return
    for name, number in (("movz", value & bits), ("movn", ~value & bits)):
        for low in _HALF_WORDS[: target.bits // 16]:
            if (number >> low & 0xFFFF) << low == number:
                yield from _half_word(name, [target, number >> low], low)
                break


def _half_word(name: str, operands: Sequence[Written], low: int) -> Iterator[Rewritten]:
    if low:
        yield Rewritten(name, [*operands, WrittenShift("lsl", low)], first=True)
    else:
        yield Rewritten("mov" if name == "movz" else name, operands, first=True, operand=_HALF_WORD)


def _wide(mnemonic: str, operands: Sequence[Written]) -> Iterator[Rewritten]:
    """`movz` without a shift is the `mov` of a small constant."""
    plain = operands[:2] if list(operands[2:]) == [WrittenShift("lsl", 0)] else operands
    if len(plain) == 2 and isinstance(plain[1], int) and 0 <= plain[1] <= 0xFFFF:
        yield Rewritten("mov", plain, operand=_HALF_WORD)


def _constant_or(mnemonic: str, operands: Sequence[Written]) -> Iterator[Rewritten]:
    """`orr` of a constant with the zero register."""
    if len(operands) == 3 and isinstance(operands[1], RegisterPart) and operands[1].bank == ZERO:
        yield Rewritten("mov", [operands[0], operands[2]], operand=_CONSTANT)


def _bit_test(mnemonic: str, operands: Sequence[Written]) -> Iterator[Rewritten]:
    register = operands[0]
    if isinstance(register, RegisterPart) and register.bits == 32:
        yield Rewritten(mnemonic, [register._replace(bits=64), *operands[1:]])


def _return(mnemonic: str, operands: Sequence[Written]) -> Iterator[Rewritten]:
    if list(operands) == [RegisterPart(GENERAL, 30, 64)]:
        yield Rewritten("ret", ())


def _lengthening(mnemonic: str, operands: Sequence[Written]) -> Iterator[Rewritten]:
    """`sxtl v0.8h, v1.8b` is a shift by 0 bits."""
    yield Rewritten(f"{mnemonic[0]}shll{mnemonic[4:]}", [*operands, 0])


def _cleared_bits(mnemonic: str, operands: Sequence[Written]) -> Iterator[Rewritten]:
    name = "bfxil" if operands[1:2] == (0,) else "bfi"
    yield Rewritten(name, [operands[0], _zero(operands[0]), *operands[1:]])


def _complement(mnemonic: str, operands: Sequence[Written]) -> Iterator[Rewritten]:
    yield Rewritten("mvn", operands)


_RULES: Mapping[str, _Rule] = {
    **dict.fromkeys((*_OPPOSITES, *_WITHOUT_DESTINATION), _arithmetic),
    **dict.fromkeys(_WITHOUT_SOURCE, _general),
    **dict.fromkeys(_SCALED, _load_or_store),
    **dict.fromkeys(("sxtl", "sxtl2", "uxtl", "uxtl2"), _lengthening),
    **dict.fromkeys(("tbz", "tbnz"), _bit_test),
    "mov": _move,
    "movz": _wide,
    "orr": _constant_or,
    "ret": _return,
    "not": _complement,
    "bfc": _cleared_bits,
}
