"""Blocks of AArch64: what `inference.isa.words.blocks` needs of it."""

from __future__ import annotations

from inference.isa.aarch64 import NAME, catalogue
from inference.isa.aarch64.decoding import decode, table, words_of
from inference.isa.aarch64.printing import text_of, word_directive
from inference.isa.aarch64.statements import read_instruction
from inference.isa.words.accesses import GENERAL, DecodedInstruction, RegisterPart
from inference.isa.words.blocks import BlockSyntax, WordBlockInstruction, WordBlocks

_COUNTERS = tuple(f"x{number}" for number in (*range(17, -1, -1), *range(28, 18, -1), 29, 30))
"""The best first; x18 is the platform's."""

_MACHINE = 183  # AArch64 in ELF files
_DECREMENT, _BRANCH = "sub GPR[64]:W, GPR[64]:R, IMM[12]:R", "cbnz GPR[64]:R, REL[21]"


class AArch64Instruction(WordBlockInstruction):
    """One instruction of AArch64. Its text is in GNU's spelling."""

    isa = NAME
    counters = _COUNTERS


def _encode(scheme: str, *operands: RegisterPart | int) -> bytes:
    word = table().by_text[scheme].word(operands)
    assert word is not None
    return word.to_bytes(4, "little")


def _loop_end(counter: int, size: int) -> bytes:
    """`sub` and `cbnz`, which keep the flags."""
    register = RegisterPart(GENERAL, counter, 64)
    return _encode(_DECREMENT, register, register, 1) + _encode(_BRANCH, register, -size - 4)


def _jump_by(jump: DecodedInstruction, distance: int) -> bytes | None:
    if jump.form is None:
        return None
    word = table().by_text[jump.form.text].word([*jump.operands[:-1], distance])
    return None if word is None else word.to_bytes(4, "little")


SYNTAX = BlockSyntax(
    name=NAME,
    writer=f"{NAME}, {catalogue.version()}",
    general=[*(f"x{number}" for number in range(31)), "sp"],
    machine=(_MACHINE, 0),
    sizes="four",
    alignment=4,
    words_of=words_of,
    decode=decode,
    text_of=lambda instruction, target: text_of(instruction, target=target),
    directive=lambda instruction: word_directive(instruction.word),
    comment="//",
    code_of_text=lambda text: read_instruction(text).code(),
    jump_by=_jump_by,
    loop_end=_loop_end,
    no_operation=bytes.fromhex("1f2003d5"),
)
BLOCKS = WordBlocks(SYNTAX, AArch64Instruction)
