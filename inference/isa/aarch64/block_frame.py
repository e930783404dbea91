"""Prepares blocks of AArch64 for measurements; see `inference.isa.words.block_frame`."""

from __future__ import annotations

from inference.isa.aarch64.decoding import WORD_BYTES, decode, table
from inference.isa.words.block_frame import WordFramer


def _mnemonic_of(jump: bytes) -> str:
    return decode(int.from_bytes(jump, "little")).mnemonic


def _move_code(jump: bytes, distance: int) -> bytes:
    decoded = table().decode(int.from_bytes(jump, "little"))
    assert decoded is not None, "expects a jump"
    form, operands = decoded
    word = form.word([*operands[:-1], distance])
    assert word is not None, "expects a jump that reaches the next line"
    return word.to_bytes(WORD_BYTES, "little")


FRAMER = WordFramer((0x14000001).to_bytes(WORD_BYTES, "little"), _mnemonic_of, _move_code)
