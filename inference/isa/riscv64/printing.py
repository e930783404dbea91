"""Instructions of RISC-V as text, as GNU tools and LLVM print them: pseudo-instructions, names of the ABI."""

from __future__ import annotations

import re

from inference.isa.riscv64.spelling import (
    CSRS,
    DYNAMIC_ROUNDING,
    FENCES,
    GENERAL_NAMES,
    ROUNDING,
    ROUNDINGS,
    register_name,
    spelled,
    vtype_text,
)
from inference.isa.words.accesses import DecodedInstruction, InMemory, OperandValue, RegisterPart


def text_of(instruction: DecodedInstruction, target: str = "") -> str:
    """One line of text; `target`: a label for the target of a jump, else its distance stands there.

    An unknown word is a directive with its number.

    >>> from inference.isa.riscv64.decoding import decode
    >>> text_of(decode(0x852E)), text_of(decode(0xFE0518E3), ".loop")
    ('mv a0, a1', 'bnez a0, .loop')
    """
    form = instruction.form
    if form is None:
        return word_directive(instruction)
    mnemonic, places = spelled(form, instruction.operands)
    texts = [_operand_text(form.operands[place].name, instruction.operands[place]) for place in places]
    if mnemonic in _JUMPS_TO_REGISTERS and texts[-1].lstrip("-").isdecimal():
        texts[-2:] = [f"{texts[-1]}({texts[-2]})"]
    if target and instruction.distance is not None:
        texts[-1] = target
    return f"{mnemonic} {', '.join(filter(None, texts))}".rstrip()


_JUMPS_TO_REGISTERS = ("jr", "jalr")


def word_directive(instruction: DecodedInstruction) -> str:
    """The number of an instruction for an assembler."""
    return f".{instruction.size}byte {instruction.word:#0{2 + 2 * instruction.size}x}"


def _operand_text(name: str, operand: OperandValue) -> str:
    if isinstance(operand, RegisterPart) and name != _MASK:
        return register_name(operand)
    if isinstance(operand, InMemory):
        offset = operand.displacement if _DISPLACED.fullmatch(name) else ""
        return f"{offset}({GENERAL_NAMES[operand.base or 0]})"
    if not isinstance(operand, int):
        return name
    if name == ROUNDING:
        return "" if operand == DYNAMIC_ROUNDING else ROUNDINGS[operand]
    if name.startswith("VTYPE"):
        return vtype_text(operand)
    names = CSRS if name == "CSR" else FENCES if name == "IMM[fence]" else {}
    return names.get(operand) or (hex(operand) if name in _HEXADECIMAL else str(operand))


_MASK = "v0.t"
_DISPLACED = re.compile(r"MEM\[\d+\]")
_HEXADECIMAL = ("CSR", "IMM[20]")
