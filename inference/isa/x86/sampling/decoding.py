"""Decodes instructions together with the contents of operands that can alias."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from iced_x86 import Decoder, Instruction

from inference.isa.operand_slots import DecodedOperands, Slots
from inference.isa.x86.blocks.scheme_lookup import scheme_of
from inference.isa.x86.sampling.slots import EncodedSlots

_ANY_BYTE, _ZERO = "IMM[8]:R", "0x0"


def decode_operands(code: bytes, slots: Mapping[str, Slots]) -> Iterator[DecodedOperands | None]:
    for instruction in Decoder(64, code):
        text = _scheme_among(instruction, slots)
        if text is None:
            yield None
            continue
        encoded, start = slots[text], instruction.ip
        assert isinstance(encoded, EncodedSlots), "slots of another instruction set"
        yield text, encoded.contents(instruction), code[start : start + instruction.len]


def _scheme_among(instruction: Instruction, texts: Collection[str]) -> str | None:
    """The instruction's scheme; one with an immediate of 0, if given, precedes the general one."""
    text = None if instruction.is_invalid else scheme_of(instruction)
    if text is None:
        return None
    if text.endswith(_ANY_BYTE) and instruction.immediate(instruction.op_count - 1) == 0:
        special = text.removesuffix(_ANY_BYTE) + _ZERO
        return special if special in texts else text if text in texts else None
    return text if text in texts else None
