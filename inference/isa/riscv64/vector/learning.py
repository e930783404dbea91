"""Learns the encodings of `forms.json` from llvm-mc: what varies in the operands of V."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

from inference.isa.document import InstructionSet, OperandForm
from inference.isa.encodings import ZERO_REGISTER, LearntDocument
from inference.isa.riscv64.codecs import RISCV_CODECS
from inference.isa.riscv64.vector import DOCUMENT, forms
from inference.isa.scheme import Scheme
from inference.isa.words.accesses import GENERAL
from inference.isa.words.learning import Slot, Template, assembled_words, learn_document

_TRIPLE, _CPU, _FEATURES = "riscv64", "generic-rv64", "+m,+a,+f,+d,+v"
_REGISTERS = 32
_REGISTER, _GENERAL = "register 5", "general 5"
_GROUPS = {"VG2": (2, "unsigned 4 2"), "VG4": (4, "unsigned 3 4"), "VG8": (8, "unsigned 2 8")}
"""{operand: (registers in a group, codec of its first one)}, where an assembler refuses other ones."""

_NUMBERS: Mapping[str, tuple[Sequence[int], str]] = {
    "IMM[5]": (range(-16, 16), "signed 5"),
    "IMM[u5]": (range(32), "unsigned 5"),
    "VTYPE": ([0xD0, *(1 << bit for bit in range(11)), 0x7FF], "unsigned 11"),
    "VTYPE[u5]": ([0xD0, *(1 << bit for bit in range(10)), 0x3FF], "unsigned 10"),
}
"""{immediate: (samples, codec)}."""


def learn_forms() -> LearntDocument:
    """The document with the encodings that llvm-mc uses. Raises `AssemblerError`."""
    instructions = forms()
    templates = {scheme.text: _template(scheme, instructions) for scheme in instructions.schemes}
    return learn_document(DOCUMENT, templates, _assemble, RISCV_CODECS)


def _template(scheme: Scheme, instructions: InstructionSet) -> Template:
    slots: list[Slot] = []
    parts: list[str] = []
    for place, operand in enumerate(scheme.operands, start=1):
        form = instructions.forms[operand.name]
        part, samples, codec = _vary_operand(operand.name, form, len(slots))
        if samples:
            name = f"{place} base" if form.kind == "memory" else f"{place}"
            slots.append(Slot(name, samples, [codec]))
            part = part.replace("{}", f"{{{len(slots) - 1}}}")
        parts.append(part)
    return Template(f"{scheme.mnemonic} {', '.join(parts)}".rstrip(), slots)


def _vary_operand(name: str, form: OperandForm, number: int) -> tuple[str, dict[Hashable, str], str]:
    """The text of an operand with a hole, its samples, and their codec; `number`: of operands before."""
    if name in _NUMBERS:
        values, codec = _NUMBERS[name]
        return "{}", {value: str(value) for value in values}, codec
    if form.kind == "memory":
        return "({})", {value: f"x{value}" for value in _registers(10, 1)}, _REGISTER
    if not form.bank:
        return form.assembly, {}, ""
    if form.bank == GENERAL:
        names: dict[Hashable, str] = {
            value or ZERO_REGISTER: f"x{value}" for value in _registers(10 + number, 1)
        }
        return "{}", names, _GENERAL
    multiple, codec = _GROUPS.get(name, (1, _REGISTER))
    # The first sample of each operand is a register that no group of another one overlaps.
    first = 8 * (number + 1)
    return "{}", {value: form.assembly.format(value) for value in _registers(first, multiple)}, codec


def _registers(first: int, multiple: int) -> Iterator[int]:
    for number in range(_REGISTERS):
        if (register := (first + number) % _REGISTERS) % multiple == 0:
            yield register


def _assemble(lines: Sequence[str]) -> list[int | None]:
    return assembled_words(lines, _TRIPLE, _CPU, _FEATURES)
