"""Blocks of RISC-V: what `inference.isa.words.blocks` needs of it."""

from __future__ import annotations

from inference.isa.riscv64 import NAME, catalogue
from inference.isa.riscv64.decoding import decode, table, words_of
from inference.isa.riscv64.printing import text_of, word_directive
from inference.isa.riscv64.spelling import GENERAL_NAMES, uncompressed
from inference.isa.riscv64.statements import compressed_word, read_instruction
from inference.isa.riscv64.vector.blocks import in_modes
from inference.isa.words.accesses import DecodedInstruction
from inference.isa.words.assembly import LONG_FORM
from inference.isa.words.block_frame import WordFramer
from inference.isa.words.blocks import BlockSyntax, WordBlockInstruction, WordBlocks

_MACHINE = 243  # RISC-V in ELF files
_COMPRESSED, _DOUBLE_FLOATS = 1, 4  # flags of ELF files
_LONG = f"  # {LONG_FORM}"
_COUNTERS = (
    *(f"t{number}" for number in range(6, -1, -1)),
    *(f"a{number}" for number in range(7, -1, -1)),
    *(f"s{number}" for number in range(11, -1, -1)),
    "ra",
)
"""The best first; `gp` and `tp` belong to the linker and the operating system."""


class RiscvInstruction(WordBlockInstruction):
    """One instruction of RISC-V. Its text is in GNU's spelling."""

    isa = NAME
    counters = _COUNTERS


def _text(instruction: DecodedInstruction, target: str) -> str:
    """The usual text; of an instruction that an assembler would compress, with a comment on its length."""
    is_long = instruction.size == 4 and compressed_word(instruction.word) is not None
    return f"{text_of(instruction, target)}{_LONG if is_long else ''}"


def _code_of_text(text: str) -> bytes | None:
    return read_instruction(text.removesuffix(_LONG), not text.endswith(_LONG)).code()


def _long_jump(jump: DecodedInstruction, distance: int) -> int | None:
    """The jump with 4 bytes over another distance; None where it cannot reach so far."""
    if jump.form is None:
        return None
    mnemonic = uncompressed(jump.form.mnemonic)
    form = next(form for form in table().forms if form.form.mnemonic == mnemonic)
    return form.word((*jump.operands[:-1], distance))


def _jump_by(jump: DecodedInstruction, distance: int) -> bytes | None:
    """A short jump where there is one that reaches so far."""
    word = _long_jump(jump, distance)
    short = None if word is None else compressed_word(word)
    if word is None or short is None:
        return None if word is None else word.to_bytes(4, "little")
    return short.to_bytes(2, "little")


def _loop_end(counter: int, size: int) -> bytes:
    """`addi` and `bnez`; 500 instructions are no farther than the latter reaches."""
    decrement = read_instruction(f"addi x{counter}, x{counter}, -1").code()
    assert decrement is not None
    branch = read_instruction(f"bnez x{counter}, -{size + len(decrement)}").code()
    assert branch is not None
    return decrement + branch


SYNTAX = BlockSyntax(
    name=NAME,
    writer=f"{NAME}, {catalogue.version()}",
    general=list(GENERAL_NAMES),
    machine=(_MACHINE, _COMPRESSED | _DOUBLE_FLOATS),
    sizes="two or four",
    alignment=2,
    words_of=words_of,
    decode=decode,
    text_of=_text,
    directive=word_directive,
    comment="#",
    code_of_text=_code_of_text,
    jump_by=_jump_by,
    loop_end=_loop_end,
    no_operation=bytes.fromhex("13000000"),
    in_context=in_modes,
)
BLOCKS = WordBlocks(SYNTAX, RiscvInstruction)


def _decoded_jump(jump: bytes) -> DecodedInstruction:
    return decode(int.from_bytes(jump, "little"))


def _move(jump: bytes, distance: int) -> bytes:
    word = _long_jump(_decoded_jump(jump), distance)
    assert word is not None, "expects a jump that reaches the next line"
    return word.to_bytes(4, "little")


FRAMER = WordFramer((0x0040006F).to_bytes(4, "little"), lambda jump: _decoded_jump(jump).mnemonic, _move)
"""Prepares blocks for measurements: its jumps have 4 bytes, so that lengths do not depend on distances."""
