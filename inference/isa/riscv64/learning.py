"""Learns the encodings of `schemes.json` from llvm-mc: what varies in the operands of RISC-V.

A compressed form has the operands of the form that it abbreviates, though fewer are written: `c.add a0, a1`
is `add a0, a0, a1`. `_COMPRESSED` says which operands an assembler reads, which ones are equal, and which
ones are fixed.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence

from inference.isa.document import OperandForm
from inference.isa.encodings import ZERO_REGISTER, Field, LearntDocument
from inference.isa.riscv64 import DOCUMENT, instruction_set
from inference.isa.riscv64.codecs import RISCV_CODECS
from inference.isa.riscv64.spelling import FENCES, OTHER_OPERAND, ROUNDINGS, WRITTEN_OPERANDS
from inference.isa.scheme import Scheme
from inference.isa.words import learning
from inference.isa.words.accesses import FLOAT
from inference.isa.words.learning import Slot, Template

TRIPLE, CPU = "riscv64", "generic-rv64"
_FEATURES = "+m,+a,+f,+d,+zba,+zbb,+zbs,+zicond,+zfh,+zihintpause"
_PREFIX, _TRUNCATION = "c.", "rtz"

_POWERS = [1 << bit for bit in range(21)]
_REGISTERS = 32

_NEVER_ZERO = ("mv", 2)
"""The mnemonic and place of a register that is not x0: a move of it is `li`."""

_OPERANDS = re.compile(r"\{(\d)(?: (\w+))?\}")

_GENERAL_CODECS = ["named 5", "short 3", "general 5"]
_FLOAT_CODECS = _BASE_CODECS = ["short 3", "register 5"]
_OFFSETS = [
    "signed 12",
    *(f"unsigned {bits} {scale}" for scale in (4, 8) for bits in (5, 6)),
]


def _distances(bits: int) -> list[int]:
    values = [8, *(2 * sign * power for power in _POWERS[: bits - 1] for sign in (1, -1)), 22, -(1 << bits)]
    return list(dict.fromkeys(values))


_NUMBERS: Mapping[str, tuple[Sequence[int], Sequence[str]]] = {
    "IMM[12]": (
        [16, *range(-32, 32), *range(32, 1024, 4), *_POWERS[:11], *(-power for power in _POWERS[:12]), 2047],
        ["signed 12", "signed 6", "nonzero 6", "nonzero 6 16", "positive 8 4"],
    ),
    "IMM[6]": ([5, *range(64)], ["positive 6", "unsigned 6"]),
    "IMM[5]": ([7, *range(32)], ["unsigned 5"]),
    "IMM[20]": ([5, *range(32), *_POWERS[:20], *range(0xFFFE0, 0x100000)], ["unsigned 20", "wrapped 6 20"]),
    "CSR": ([0x345, *_POWERS[:12], 0xFFF], ["unsigned 12"]),
    "REL[13]": (_distances(12), ["signed 12 2", "signed 8 2"]),
    "REL[21]": (_distances(20), ["signed 20 2", "signed 11 2"]),
}
"""{immediate: (samples, codecs)}."""

_NAMED_NUMBERS: Mapping[str, tuple[Mapping[int, str], str]] = {
    "IMM[fence]": (FENCES, "unsigned 4"),
    "IMM[rounding]": (ROUNDINGS, "rounding"),
}
"""{immediate: (names of numbers, codec)}."""


def templates(forms: Sequence[Scheme], operands: Mapping[str, OperandForm]) -> dict[str, Template]:
    """{text of a form: its template}."""
    return {form.text: _template(form, operands) for form in forms}


def _template(form: Scheme, operands: Mapping[str, OperandForm]) -> Template:
    slots: list[Slot] = []

    def slot_of(match: re.Match[str]) -> str:
        place, part = int(match[1]), match[2] or ""
        samples, codecs = _samples(form.operands[place - 1].name, operands, part, len(slots))
        if (form.mnemonic, place) == _NEVER_ZERO:
            del samples[ZERO_REGISTER]
        slots.append(Slot(f"{place} {part}".rstrip(), samples, codecs))
        return f"{{{len(slots) - 1}}}"

    line = _OPERANDS.sub(slot_of, _line(form, operands).partition(" | ")[0])
    bits = 16 if form.mnemonic.startswith(_PREFIX) else 32
    return Template(f"{form.mnemonic} {line}".rstrip(), slots, bits)


def _line(form: Scheme, operands: Mapping[str, OperandForm]) -> str:
    if form.mnemonic in WRITTEN_OPERANDS:
        return WRITTEN_OPERANDS[form.mnemonic]
    parts = []
    for place, operand in enumerate(form.operands, start=1):
        kind = operands[operand.name]
        if operand.kind == "memory":
            offset = f"{{{place} offset}}" if "offset" in kind.assembly else ""
            parts.append(f"{offset}({{{place} base}})")
        else:
            parts.append(kind.assembly if operand.name == _TRUNCATION else f"{{{place}}}")
    return ", ".join(parts)


def _samples(
    name: str, operands: Mapping[str, OperandForm], part: str, slots: int
) -> tuple[dict[Hashable, str], Sequence[str]]:
    """The samples of an operand or its part, and codecs; `slots`: before it, so that registers differ."""
    if part == "offset":
        values = [64, *range(0, 512, 4), *_POWERS[:11], *(-power for power in _POWERS[:12])]
        return {value: str(value) for value in values}, _OFFSETS
    if name in _NAMED_NUMBERS:
        names, codec = _NAMED_NUMBERS[name]
        return dict(names.items()), [codec]
    if name in _NUMBERS:
        numbers, codecs = _NUMBERS[name]
        return {number: str(number) for number in numbers}, codecs
    first = 9 + slots
    registers = [(first + k) % _REGISTERS for k in range(_REGISTERS)]
    if part == "base":
        return {register: f"x{register}" for register in registers}, _BASE_CODECS
    form = operands[name]
    if form.bank == FLOAT:
        return {register: f"f{register}" for register in registers}, _FLOAT_CODECS
    return {register or ZERO_REGISTER: f"x{register}" for register in registers}, _GENERAL_CODECS


def _further_fields(form: Scheme, encoding: Mapping[str, Field]) -> list[Field]:
    """The fields of operands that are not written, by those that are."""
    unwritten = WRITTEN_OPERANDS.get(form.mnemonic, "").partition(" | ")[2]
    return [
        encoding[other]._replace(place=place) if other in encoding else Field(place, other, ())
        for place, other in OTHER_OPERAND.findall(unwritten)
    ]


def learn_document() -> LearntDocument:
    """The document with the encodings that llvm-mc uses. Raises `AssemblerError`."""
    instructions = instruction_set()
    forms = [*instructions.schemes, *(extra.form for extra in instructions.further)]

    def further_fields(text: str, fields: Sequence[Field]) -> list[Field]:
        return _further_fields(by_text[text], {field.place: field for field in fields})

    by_text = {form.text: form for form in forms}
    return learning.learn_document(
        DOCUMENT, templates(forms, instructions.forms), _assemble, RISCV_CODECS, further_fields
    )


def _assemble(lines: Sequence[str]) -> list[int | None]:
    """The code of each line, None for a refused one; only compressed forms are assembled with C."""
    codes: dict[int, int | None] = {}
    for size, features in ((2, f"{_FEATURES},+c"), (4, _FEATURES)):
        numbers = [number for number, line in enumerate(lines) if line.startswith(_PREFIX) == (size == 2)]
        words = learning.assembled_words([lines[number] for number in numbers], TRIPLE, CPU, features, size)
        codes.update(zip(numbers, words, strict=True))
    return [codes[number] for number in range(len(lines))]
