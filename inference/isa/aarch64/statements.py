"""An instruction of AArch64 from text to its word, in the spelling of GNU tools, Apple's, or armasm."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache

from inference.isa.aarch64 import instruction_set
from inference.isa.aarch64.decoding import table
from inference.isa.aarch64.respelling import Rewritten, respelled
from inference.isa.aarch64.spelling import BARRIERS, PREFETCHES, system_register_number
from inference.isa.aarch64.written import (
    CONDITION_NUMBERS,
    Written,
    WrittenAddress,
    WrittenShift,
    WrittenSymbol,
    WrittenVector,
    written_operands,
)
from inference.isa.code.block import BlockError
from inference.isa.document import OperandForm
from inference.isa.scheme import Operand
from inference.isa.words.accesses import (
    GENERAL,
    VECTOR,
    InMemory,
    NamedImmediate,
    OperandValue,
    RegisterPart,
)
from inference.isa.words.statements import ReadInstruction
from inference.isa.words.table import WordForm

MAX_INSTRUCTION_LENGTH = 300  # characters

_STATEMENT = re.compile(r"([A-Za-z][A-Za-z0-9]*(?:\.[A-Za-z0-9]+)?)(?:\s+(.*))?", re.DOTALL)
_ARRANGEMENT = re.compile(r"(\d*[bhsdq])", re.IGNORECASE)
_BRANCH = re.compile(r"b(eq|ne|hs|cs|lo|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le|al)")
_NAMES = {"b.cs": "b.hs", "b.cc": "b.lo"}
_VECTOR_NAME = re.compile(r"VEC(?:x(\d)(e)?)?\[(\w+?)(?:,\d+)?\]|ELEM\[(\w+),\d+(?:,low)?\]")
_LETTERS = {"8": "b", "16": "h", "32": "s", "64": "d"}
_NAMED = re.compile(r"(lsl|lsr|asr|ror|msl|[su]xt[bhwx])(?: \d+)?")
_RELOCATION = re.compile(r"^:\w+:|^=\s*|@\w+$")
_EXTENSIONS = ("uxtw", "sxtw", "sxtx")


class _NoMatchError(Exception):
    """The written operand is none of this form."""


@lru_cache(maxsize=1 << 14)
def read_instruction(text: str) -> ReadInstruction:
    """The instruction of a statement without label and comment. Raises `BlockError`.

    >>> f"{read_instruction('ADD x0, x1, 8').word():08x}"
    '91002020'
    """
    if len(text) > MAX_INSTRUCTION_LENGTH:
        raise BlockError(f"an instruction has at most {MAX_INSTRUCTION_LENGTH} characters")
    match = _STATEMENT.fullmatch(text.strip())
    if match is None:
        raise BlockError(f"{text[:40]!r} is no instruction of AArch64")
    mnemonic, arrangement = _mnemonic(match[1].lower())
    if not arrangement and mnemonic not in _forms() and not respelled(mnemonic, ()):
        raise BlockError(f"AArch64 has no instruction {mnemonic[:20]!r} here")
    written = written_operands(match[2] or "")
    for candidate in _candidates(mnemonic, written):
        for form in _forms().get(candidate.mnemonic, ()):
            if candidate.operand not in form.form.text:
                continue
            if (instruction := _match(form, candidate.operands, arrangement)) is not None:
                return instruction
    raise BlockError(_mismatch(mnemonic, match[2] or ""))


def is_mnemonic(word: str) -> bool:
    """Whether a word is the mnemonic of an instruction with a form here, in any spelling."""
    mnemonic, _ = _mnemonic(word.lower())
    return mnemonic in _forms() or bool(respelled(mnemonic, ()))


def _mnemonic(word: str) -> tuple[str, str]:
    """The mnemonic, and the arrangement behind it in Apple's spelling, `fmla.4s`."""
    if branch := _BRANCH.fullmatch(word):
        word = f"b.{branch[1]}"
    word = _NAMES.get(word, word)
    name, _, suffix = word.partition(".")
    return (name, suffix) if name != "b" and _ARRANGEMENT.fullmatch(suffix) else (word, "")


@cache
def _forms() -> Mapping[str, Sequence[WordForm]]:
    """{mnemonic: its forms, the most special ones first}."""
    forms: dict[str, list[WordForm]] = {}
    for form in table().forms:
        forms.setdefault(form.form.mnemonic, []).append(form)
    return forms


def _candidates(mnemonic: str, written: tuple[Written, ...]) -> Iterator[Rewritten]:
    """The instruction in the spellings of forms, the usual one first."""
    spellings = respelled(mnemonic, written)
    yield from (spelling for spelling in spellings if spelling.first)
    yield Rewritten(mnemonic, written)
    yield from (spelling for spelling in spellings if not spelling.first)


def _match(form: WordForm, written: Sequence[Written], arrangement: str) -> ReadInstruction | None:
    explicit = [operand for operand in form.form.operands if not operand.implicit]
    if len(explicit) != len(written):
        return None
    symbols: list[str] = []
    values: list[OperandValue] = []
    remainder = arrangement
    try:
        for operand, part in zip(explicit, written, strict=True):
            value, remainder = _value(operand, part, remainder, symbols)
            values.append(value)
    except _NoMatchError:
        return None
    if form.word(values) is None or (arrangement and remainder):
        return None
    target = symbols.pop() if symbols and form.encoding.flow != "next" else ""
    return ReadInstruction(form, tuple(values), target, tuple(symbols))


def _value(
    operand: Operand, written: Written, arrangement: str, symbols: list[str]
) -> tuple[OperandValue, str]:
    """The value of an operand, and the arrangement that no operand has had yet.

    Raises:
        _NoMatchError: The written operand is of another kind.
    """
    form = instruction_set().forms[operand.name]
    if operand.kind == "register":
        return _register(operand, form, written, arrangement)
    if operand.kind == "memory" and not form.assembly.startswith("#"):
        return _address(form, written, symbols), arrangement
    if operand.kind in {"memory", "address"}:
        return InMemory(None, displacement=_number(written, symbols), bits=form.width), arrangement
    if operand.kind == "branch":
        return _number(written, symbols), arrangement
    return _immediate(operand, form, written, symbols), arrangement


def _register(
    operand: Operand, form: OperandForm, written: Written, arrangement: str
) -> tuple[RegisterPart, str]:
    match = _VECTOR_NAME.fullmatch(operand.name)
    if match is None:
        if not isinstance(written, RegisterPart) or written.bits != form.width:
            raise _NoMatchError
        if (written.bank == VECTOR) != (form.bank == VECTOR):
            raise _NoMatchError
        return written, arrangement
    if not isinstance(written, WrittenVector) or written.span != int(match[1] or 0):
        raise _NoMatchError
    name = match[4] or match[3]
    letter = _LETTERS.get(name, name.lower())
    has_element = bool(match[4] or match[2])
    if (written.element is not None) != has_element or written.arrangement not in {letter, ""}:
        raise _NoMatchError
    if not written.arrangement:
        # In Apple's spelling the first vector has the arrangement, and the form determines the others.
        if arrangement and arrangement != letter:
            raise _NoMatchError
        arrangement = ""
    return RegisterPart(VECTOR, written.number, form.width, form.span, written.element), arrangement


def _address(form: OperandForm, written: Written, symbols: list[str]) -> InMemory:
    if not isinstance(written, WrittenAddress):
        raise _NoMatchError
    base, *parts = written.parts
    if not isinstance(base, RegisterPart) or base.bank != GENERAL or base.bits != 64:
        raise _NoMatchError
    if parts and isinstance(parts[0], RegisterPart):
        extension = parts[1] if len(parts) > 1 else WrittenShift("lsl", 0)
        if not isinstance(extension, WrittenShift) or parts[0].bank == VECTOR:
            raise _NoMatchError
        if (parts[0].bits == 32) != (extension.word in _EXTENSIONS[:2]):
            raise _NoMatchError
        return InMemory(
            base.number, parts[0], extension.word, extension.amount or 0, 0, form.width, written.moves
        )
    if len(parts) > 1:
        raise _NoMatchError
    displacement = _number(parts[0], symbols) if parts else 0
    return InMemory(base.number, displacement=displacement, bits=form.width, moves=written.moves)


def _immediate(operand: Operand, form: OperandForm, written: Written, symbols: list[str]) -> OperandValue:
    name = operand.name
    if named := _NAMED.fullmatch(name):
        if not isinstance(written, WrittenShift) or written.word != named[1]:
            raise _NoMatchError
        return NamedImmediate(written.word, written.amount or 0)
    if name in _NAMES_OF_NUMBERS:
        number = _NAMES_OF_NUMBERS[name](written.name) if isinstance(written, WrittenSymbol) else None
        if number is None:
            raise _NoMatchError
        return NamedImmediate("", number) if name == "COND" else number
    if isinstance(written, WrittenSymbol) and written.name.lower() in _OPERATIONS:
        return _OPERATIONS[written.name.lower()]
    if isinstance(written, WrittenSymbol) and written.name.lower() == name:
        return None
    if name == "IMM[float]" or not name.startswith("IMM"):
        if not isinstance(written, (int, float)):
            raise _NoMatchError
        if name != "IMM[float]" and float(written) != float(name):
            raise _NoMatchError
        return NamedImmediate("", float(written)) if name == "IMM[float]" else None
    if isinstance(written, WrittenSymbol) and name not in _RELOCATED:
        raise _NoMatchError
    value = _number(written, symbols)
    return value & (1 << form.width) - 1 if name.startswith(("IMM[mask", "IMM[bytes")) else value


_RELOCATED = ("IMM[12]", "IMM[16]")
"""Immediates that linkers fill in: `#:lo12:table`, `#:abs_g0:table`."""

_NAMES_OF_NUMBERS: Mapping[str, Callable[[str], int | None]] = {
    "COND": lambda name: CONDITION_NUMBERS.get(name.lower()),
    "sysreg": system_register_number,
}
_OPERATIONS = {name: number for names in (BARRIERS, PREFETCHES) for number, name in names.items()}


def _number(written: Written, symbols: list[str]) -> int:
    """A number; a name is taken for 0."""
    if isinstance(written, WrittenSymbol):
        symbols.append(_RELOCATION.sub("", written.name))
        return 0
    if isinstance(written, int):
        return written
    raise _NoMatchError


def _mismatch(mnemonic: str, operands: str) -> str:
    texts = [form.form.text for form in _forms().get(mnemonic, ()) if form.scheme]
    examples = "; ".join(sorted(texts, key=len)[:3])
    hint = f": there is {examples}{' …' if len(texts) > 3 else ''}" if texts else ""
    return f"no {mnemonic} here has the operands {operands[:60]!r}{hint}"
