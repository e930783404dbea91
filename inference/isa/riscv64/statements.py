"""An instruction of RISC-V from text to its code, in the spelling of GNU tools and LLVM.

As for an assembler, an instruction with a short form has it, unless compression is off or a linker fills in
one of its operands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from inference.isa.code.block import BlockError
from inference.isa.document import OperandForm
from inference.isa.riscv64 import NAME, RETURN_ADDRESS, instruction_set, vector
from inference.isa.riscv64.decoding import decode, table
from inference.isa.riscv64.respelling import full_operands, integer, is_pseudo_instruction, respelled
from inference.isa.riscv64.spelling import (
    CSRS,
    DYNAMIC_ROUNDING,
    FENCES,
    FLOAT_NAMES,
    GENERAL_NAMES,
    ROUNDING,
    ROUNDINGS,
    ZERO_PART,
    uncompressed,
)
from inference.isa.scheme import Operand
from inference.isa.words.accesses import FLOAT, GENERAL, VECTOR, InMemory, OperandValue, RegisterPart
from inference.isa.words.statements import ReadInstruction
from inference.isa.words.table import WordForm

MAX_INSTRUCTION_LENGTH = 300  # characters

_STATEMENT = re.compile(r"([a-z][a-z0-9]*(?:\.[a-z0-9]+)*)(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)
_ADDRESS = re.compile(r"(.*)\(\s*(\w+)\s*\)", re.DOTALL)
_RELOCATION = re.compile(r"%\w+\((.*)\)")
_SYMBOL = re.compile(r"[\w.$@]+(?:\s*[+-]\s*\w+)?")
_PREFIX = "c."
_COMMUTATIVE = frozenset(("add", "addw", "and", "or", "xor"))
_RELOCATED_ADDITION = 1
"""What `addi` adds in place of the lower bits of an address: with 0 it would be a move."""


@dataclass(frozen=True, slots=True)
class RiscvStatement(ReadInstruction):
    """An instruction of a text; `compressed`: whether it has its short form where there is one."""

    compressed: bool = True

    def code(self, distance: int | None = None) -> bytes | None:
        """The shortest machine code; `distance`: of the jump to its target, in bytes. None where too far."""
        word = self.word(distance)
        if word is None:
            return None
        size = self.form.encoding.bits // 8
        short = compressed_word(word) if size > 2 and self.compressed and not self.symbols else None
        return word.to_bytes(size, "little") if short is None else short.to_bytes(2, "little")


@lru_cache(maxsize=1 << 14)
def read(text: str, compressed: bool = True) -> tuple[RiscvStatement, ...]:
    """The instructions of a statement without label and comment: several ones of a pseudo-instruction.

    Args:
        text: The statement.
        compressed: Whether an instruction has its short form where there is one.

    Raises:
        BlockError: The statement is no instruction that is known here.
    """
    if len(text) > MAX_INSTRUCTION_LENGTH:
        raise BlockError(f"an instruction has at most {MAX_INSTRUCTION_LENGTH} characters")
    match = _STATEMENT.fullmatch(text.strip())
    if match is None:
        raise BlockError(f"{text[:40]!r} is no instruction of {NAME}")
    mnemonic, written = match[1].lower(), [part.strip() for part in (match[2] or "").split(",")]
    if not is_mnemonic(mnemonic):
        raise BlockError(f"{NAME} has no instruction {mnemonic[:20]!r} here")
    statements = respelled(mnemonic, [part for part in written if part])
    return tuple(_instruction(name, operands, compressed) for name, operands in statements)


def read_instruction(text: str, compressed: bool = True) -> RiscvStatement:
    """The only instruction of a statement. Raises `BlockError`.

    >>> read_instruction("mv a0, a1").code().hex(), read_instruction("mv a0, a1", False).code().hex()
    ('2e85', '13850500')
    """
    instructions = read(text, compressed)
    if len(instructions) > 1:
        raise BlockError(f"{text[:40]!r} is {len(instructions)} instructions of {NAME}: write each")
    return instructions[0]


def is_mnemonic(word: str) -> bool:
    """Whether a word is the mnemonic of an instruction with a form here, or of a pseudo-instruction."""
    name = word.lower()
    return name in _forms() or is_pseudo_instruction(name)


def compressed_word(word: int) -> int | None:
    """The 16 bits of an instruction of 32 bits; None where it has no short form.

    >>> f"{compressed_word(0x00B50533):04x}"
    '952e'
    """
    decoded = decode(word)
    form, operands = decoded.form, decoded.operands
    if form is None or (operands and operands[0] == ZERO_PART and form.operands[0].access == "W"):
        return None  # a short form without a result would be a hint
    mnemonic = form.mnemonic
    if mnemonic == "ret":
        mnemonic, operands = "jr", (RegisterPart(GENERAL, RETURN_ADDRESS, 64), 0)
    choices = [operands]
    if mnemonic in _COMMUTATIVE:
        choices.append((operands[0], operands[2], operands[1]))
    words = (short.word(choice) for short in _short_forms().get(mnemonic, ()) for choice in choices)
    return next((short for short in words if short is not None), None)


@cache
def _short_forms() -> Mapping[str, Sequence[WordForm]]:
    """{mnemonic without `c.`: its forms of 16 bits in the order in which GNU's assembler tries them}.

    An addition of -16 to the stack pointer has two, of which the general one is tried first.
    """
    forms: dict[str, list[WordForm]] = {}
    for form in sorted(table().forms, key=lambda form: len(form.form.mnemonic)):
        if form.encoding.bits == 16:
            forms.setdefault(uncompressed(form.form.mnemonic), []).append(form)
    return forms


@cache
def _forms() -> Mapping[str, Sequence[WordForm]]:
    """{mnemonic: its forms, the most special ones first}."""
    forms: dict[str, list[WordForm]] = {}
    for form in table().forms:
        forms.setdefault(form.form.mnemonic, []).append(form)
    return forms


@cache
def _operand_forms() -> Mapping[str, OperandForm]:
    return {**vector.forms().forms, **instruction_set().forms}


class _NoMatchError(Exception):
    """The written operand is none of this form."""


def _instruction(mnemonic: str, written: Sequence[str], compressed: bool) -> RiscvStatement:
    if mnemonic.startswith(_PREFIX):
        written = full_operands(mnemonic, written)
    for form in _forms().get(mnemonic, ()):
        if (instruction := _match_statement(form, written, compressed)) is not None:
            return instruction
    texts = sorted({form.form.text for form in _forms().get(mnemonic, ())}, key=len)
    hint = f": there is {'; '.join(texts[:3])}{' …' if len(texts) > 3 else ''}" if texts else ""
    raise BlockError(f"no {mnemonic} here has the operands {', '.join(written)[:60]!r}{hint}")


def _match_statement(form: WordForm, written: Sequence[str], compressed: bool) -> RiscvStatement | None:
    places = [operand for operand in form.form.operands if not operand.implicit]
    if places and places[-1].name == ROUNDING and len(written) == len(places) - 1:
        written = [*written, ROUNDINGS[DYNAMIC_ROUNDING]]
    if len(places) != len(written):
        return None
    symbols: list[str] = []
    try:
        values = tuple(_value(*part, symbols) for part in zip(places, written, strict=True))
    except _NoMatchError:
        return None
    if form.form.mnemonic == "addi" and symbols:
        values = (*values[:-1], _RELOCATED_ADDITION)
    if form.word(values) is None:
        return None
    target = symbols.pop() if symbols and places[-1].kind == "branch" else ""
    return RiscvStatement(form, values, target, tuple(symbols), compressed)


def _value(operand: Operand, written: str, symbols: list[str]) -> OperandValue:
    """The value of an operand. Raises `_NoMatchError` for a text of another kind."""
    form = _operand_forms()[operand.name]
    if operand.kind == "register":
        return _register(form, written)
    if operand.kind == "memory":
        return _address(operand, form, written, symbols)
    if operand.kind == "branch":
        return _number(written, symbols)
    if operand.name == form.assembly:  # a word that is part of the form
        if written.lower() != operand.name:
            raise _NoMatchError
        return None
    return _immediate(operand.name, written, symbols)


def _immediate(name: str, written: str, symbols: list[str]) -> int:
    names = _NAMES.get(name, {})
    if written.lower() in names:
        return names[written.lower()]
    is_number = integer(written) is not None and (not names or name == "CSR")
    if not is_number and (name not in _RELOCATED or _RELOCATION.fullmatch(written) is None):
        raise _NoMatchError
    return _number(written, symbols)


_RELOCATED = ("IMM[12]", "IMM[20]")
"""Immediates that linkers fill in: `%lo(table)`, `%hi(table)`."""

_NAMES: Mapping[str, Mapping[str, int]] = {
    "CSR": {name: number for number, name in CSRS.items()},
    "IMM[fence]": {name: number for number, name in FENCES.items()},
    ROUNDING: {name: number for number, name in ROUNDINGS.items()},
}
"""{operand: {name: number}}."""


@cache
def _registers() -> Mapping[str, RegisterPart]:
    """{name: register}, of the ABI and by number."""
    names: dict[str, RegisterPart] = {"fp": RegisterPart(GENERAL, 8, 64)}
    for bank, abi_names, letter in (
        (GENERAL, GENERAL_NAMES, "x"),
        (FLOAT, FLOAT_NAMES, "f"),
        (VECTOR, (), "v"),
    ):
        for number in range(32):
            part = RegisterPart(bank, number, 64)
            names |= dict.fromkeys((f"{letter}{number}", *abi_names[number : number + 1]), part)
    return {**names, "zero": ZERO_PART, "x0": ZERO_PART}


def _register(form: OperandForm, written: str) -> RegisterPart:
    name = written.lower()
    if form.registers:
        if name != form.assembly:
            raise _NoMatchError
        return RegisterPart(VECTOR, int(form.registers[0][1:]), form.width)
    part = _registers().get(name)
    if part is None or (part.bank if part is not ZERO_PART else GENERAL) != form.bank:
        raise _NoMatchError
    return part if form.bank == GENERAL else part._replace(bits=form.width, span=form.span)


def _address(operand: Operand, form: OperandForm, written: str, symbols: list[str]) -> InMemory:
    match = _ADDRESS.fullmatch(written)
    base = _registers().get(match[2].lower()) if match else None
    if match is None or base is None or (base.bank != GENERAL and base is not ZERO_PART):
        raise _NoMatchError
    offset = _number(match[1].strip(), symbols) if match[1].strip() else 0
    if offset and "offset" not in form.assembly:
        raise _NoMatchError
    number = 0 if base is ZERO_PART else base.number
    return InMemory(number, displacement=offset, bits=form.width)


def _number(written: str, symbols: list[str]) -> int:
    """A number; a name is taken for 0."""
    if (number := integer(written)) is not None:
        return number
    relocation = _RELOCATION.fullmatch(written)
    name = relocation[1] if relocation else written
    if _SYMBOL.fullmatch(name) is None or name.lower() in _registers():
        raise _NoMatchError
    symbols.append(name)
    return 0
