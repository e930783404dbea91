"""Instructions of machine code with what stands in the operands that can alias."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from iced_x86 import Decoder, Instruction

from inference.isa.operand_slots import DecodedOperands, Slots
from inference.isa.x86.blocks.recognising import scheme_of
from inference.isa.x86.sampling.slots import EncodedSlots

_ANY_BYTE, _ZERO = "IMM[8]:R", "0x0"


def decoded(code: bytes, slots: Mapping[str, Slots]) -> Iterator[DecodedOperands | None]:
    for instruction in Decoder(64, code):
        text = _scheme_among(instruction, slots)
        if text is None:
            yield None
            continue
        own, begin = slots[text], instruction.ip
        assert isinstance(own, EncodedSlots), "slots of another instruction set"
        yield text, own.contents(instruction), code[begin : begin + instruction.len]


def _scheme_among(instruction: Instruction, texts: Collection[str]) -> str | None:
    """The scheme with an immediate of 0, where these have it, goes before the one with any."""
    text = None if instruction.is_invalid else scheme_of(instruction)
    if text is None:
        return None
    if text.endswith(_ANY_BYTE) and instruction.immediate(instruction.op_count - 1) == 0:
        special = text.removesuffix(_ANY_BYTE) + _ZERO
        return special if special in texts else text if text in texts else None
    return text if text in texts else None
