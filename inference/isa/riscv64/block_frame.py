"""Prepares blocks of RISC-V for measurements; see `inference.isa.words.block_frame`."""

from __future__ import annotations

from inference.isa.riscv64.decoding import decode, table
from inference.isa.riscv64.spelling import uncompressed
from inference.isa.words.accesses import DecodedInstruction
from inference.isa.words.block_frame import WordFramer


def _decoded(jump: bytes) -> DecodedInstruction:
    return decode(int.from_bytes(jump, "little"))


def _moved(jump: bytes, distance: int) -> bytes:
    """The jump with 4 bytes, so that its length does not depend on the distance."""
    decoded = _decoded(jump)
    assert decoded.form is not None, "expects a jump"
    mnemonic = uncompressed(decoded.form.mnemonic)
    form = next(form for form in table().forms if form.form.mnemonic == mnemonic)
    word = form.word((*decoded.operands[:-1], distance))
    assert word is not None, "expects a jump that reaches the next line"
    return word.to_bytes(4, "little")


FRAMER = WordFramer((0x0040006F).to_bytes(4, "little"), lambda jump: _decoded(jump).mnemonic, _moved)
