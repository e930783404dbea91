"""Instructions of AArch64 as text, in the spelling of GNU tools, of Apple's, or of armasm."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Literal

from inference.isa.aarch64 import STACK_POINTER
from inference.isa.aarch64.decoding import CONDITIONS
from inference.isa.aarch64.spelling import BARRIERS, PREFETCHES, spelled, system_register_name
from inference.isa.words.accesses import (
    VECTOR,
    ZERO,
    DecodedInstruction,
    InMemory,
    NamedImmediate,
    OperandValue,
    RegisterPart,
)

Syntax = Literal["gnu", "apple", "armasm"]
SYNTAXES: tuple[Syntax, ...] = ("gnu", "apple", "armasm")

_ARRANGED = re.compile(r"VEC(?:x(\d)(e)?)?\[(\d*+)([BHSDQ])?(?:,\d+)?\]|ELEM\[(\w+),\d+(?:,low)?\]")
_LETTERS = {8: "b", 16: "h", 32: "s", 64: "d", 128: "q"}


def text_of(instruction: DecodedInstruction, syntax: Syntax = "gnu", target: str = "") -> str:
    """One line of text; `target`: a label for the target of a jump, else its distance stands there.

    An unknown word is a directive with its number.
    """
    if instruction.form is None:
        return word_directive(instruction.word)
    mnemonic, names, operands = spelled(instruction.form, instruction.operands)
    texts = [_operand_text(name, operand) for name, operand in zip(names, operands, strict=True)]
    if target and instruction.distance is not None:
        texts[-1] = target
    if syntax == "apple":
        mnemonic, texts = _apple(mnemonic, texts)
    line = f"{mnemonic} {', '.join(filter(None, texts))}".rstrip()
    return line.upper().replace("0X", "0x") if syntax == "armasm" and not target else line


def word_directive(word: int) -> str:
    return f".inst {word:#010x}"


def register_text(register: RegisterPart) -> str:
    """A register that is no vector arrangement: `x3`, `wzr`, `d7`."""
    if register.bank == VECTOR:
        return f"{_LETTERS[register.bits]}{register.number}"
    letter = "w" if register.bits == 32 else "x"
    if register.bank == ZERO:
        return f"{letter}zr"
    if register.number == STACK_POINTER:
        return "wsp" if letter == "w" else "sp"
    return f"{letter}{register.number}"


def _operand_text(name: str, operand: OperandValue) -> str:
    if isinstance(operand, RegisterPart):
        writer = _vector_writer(name)
        return writer(operand) if writer else register_text(operand)
    if isinstance(operand, InMemory):
        return _address_text(operand)
    if isinstance(operand, NamedImmediate):
        return _named_text(name, operand)
    if operand is None:
        return f"#{name}" if name[0].isdigit() else name
    writer_of_number = _NUMBERS.get(name.partition(",")[0])
    return writer_of_number(operand) if writer_of_number else f"#{operand}"


_NUMBERS: dict[str, Callable[[int], str]] = {
    "sysreg": system_register_name,
    "barrier": lambda number: BARRIERS.get(number, f"#{number}"),
    "IMM[prefetch]": lambda number: PREFETCHES.get(number, f"#{number}"),
    "IMM[mask": lambda number: f"#{number:#x}",
    "IMM[bytes]": lambda number: f"#{number:#x}",
}


def _named_text(name: str, operand: NamedImmediate) -> str:
    if name == "COND":
        return CONDITIONS[int(operand.value)]
    if not operand.word:
        return f"#{operand.value}"
    amount = int(operand.value)
    if operand.word[1:3] == "xt" and not amount:
        return operand.word
    return f"{operand.word} #{amount}"


def _address_text(address: InMemory) -> str:
    if address.base is None:
        return f"#{address.displacement}"
    base = "sp" if address.base == STACK_POINTER else f"x{address.base}"
    if address.moves == "post":
        step = f"#{address.displacement}" if address.index is None else register_text(address.index)
        return f"[{base}], {step}"
    inner = [base]
    if address.index is not None:
        inner.append(register_text(address.index))
        if address.extend != "lsl":
            inner.append(f"{address.extend} #{address.shift}" if address.shift else address.extend)
        elif address.shift:
            inner.append(f"lsl #{address.shift}")
    elif address.displacement or address.moves:
        inner.append(f"#{address.displacement}")
    return f"[{', '.join(inner)}]{'!' if address.moves else ''}"


@cache
def _vector_writer(name: str) -> Callable[[RegisterPart], str] | None:
    """A function that writes operands of this name; None for plain registers.

    >>> _vector_writer("VECx2[4S]")(RegisterPart("vector", 31, 256, 2))
    '{v31.4s, v0.4s}'
    """
    match = _ARRANGED.fullmatch(name)
    if match is None:
        return None
    if match[5]:
        letter = _LETTERS[int(match[5])] if match[5].isdigit() else match[5].lower()
        return lambda part: f"v{part.number}.{letter}[{part.element}]"
    if match[2]:
        return lambda part: f"{_list_rows(part, _LETTERS[int(match[3])])}[{part.element}]"
    arrangement = f"{match[3]}{(match[4] or '').lower()}"
    if match[1]:
        return lambda part: _list_rows(part, arrangement)
    return lambda part: f"v{part.number}.{arrangement}"


def _list_rows(part: RegisterPart, arrangement: str) -> str:
    return f"{{{', '.join(f'v{(part.number + k) % 32}.{arrangement}' for k in range(part.span))}}}"


_SUFFIX = re.compile(r"\.(\d*[bhsdq])(?=[^a-z0-9]|$)")


def _apple(mnemonic: str, texts: list[str]) -> tuple[str, list[str]]:
    """Apple's spelling: the first vector's arrangement stands behind the mnemonic, `fmla.4s v0, v1, v2`."""
    arrangements = [match[1] for text in texts for match in _SUFFIX.finditer(text)]
    if not arrangements:
        return mnemonic, texts
    return f"{mnemonic}.{arrangements[0]}", [_SUFFIX.sub("", text) for text in texts]
