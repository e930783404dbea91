"""Recognises code of x86-64 in lines that are not part of a listing."""

from __future__ import annotations

import re

from inference.isa.code.block import BlockError
from inference.isa.code.skipped_lines import MAX_LENGTH, LineKinds
from inference.isa.x86.assembly.layout import content_of
from inference.isa.x86.assembly.operands import SIZES, TargetOperand, registers
from inference.isa.x86.assembly.statements import begins_instruction, read_statement, visible_syntax

_REGISTER = re.compile(
    r"\b(?:[re](?:[abcd]x|[sd]i|[sbi]p)|r(?:8|9|1[0-5])[dwb]?|[xyz]mm\d{1,2})\b", re.IGNORECASE
)
RELOCATION = re.compile(r"^\s*(?:R_X86_64_|IMAGE_REL_|X86_64_RELOC_)")
"""Of ELF, COFF and Mach-O, between the instructions."""

_ENDS_OPERAND = re.compile(r"[\s,]")


def is_instruction(text: str) -> bool:
    """Whether a text without address and bytes is an instruction, not a sentence with such a first word."""
    if len(text) > MAX_LENGTH or not begins_instruction(text):
        return False
    code = text.partition(";")[0].partition("#")[0].strip()
    try:
        written = read_statement(code, visible_syntax(code) or "intel", {})
        targets = [operand.label for operand in written.operands if isinstance(operand, TargetOperand)]
        if targets or not written.mnemonic:  # a prefix on a line of its own
            return not any(" " in label for label in targets)
        content_of(written)
    except BlockError:
        return _has_register_first(code)
    return True


def _has_register_first(code: str) -> bool:
    """Whether a register or memory follows the mnemonic, unlike in a sentence."""
    operand = _ENDS_OPERAND.split((*code.split(None, 1), "")[1], maxsplit=1)[0].lower()
    return operand.lstrip("%") in registers() or operand in SIZES or operand.startswith(("[", "$", "(%", "%"))


def _shows_syntax(text: str) -> bool:
    return bool(visible_syntax(text))


classify = LineKinds(begins_instruction, is_instruction, _shows_syntax, _REGISTER, RELOCATION).classify
