"""Instructions of machine code with what stands in the operands that can alias."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iced_x86 import Decoder, Instruction

from inference.isa.operand_slots import Content, Slots
from inference.isa.x86.blocks.recognising import scheme_of
from inference.isa.x86.sampling.slots import EncodedSlots

_ANY_BYTE, _ZERO = "IMM[8]:R", "0x0"


class X86DecodedOperands:
    """A decoded instruction and its bytes."""

    __slots__ = ("_instruction", "code")

    def __init__(self, code: bytes, instruction: Instruction) -> None:
        self.code = code
        self._instruction = instruction

    @property
    def schemes(self) -> Sequence[str]:
        """The scheme with an immediate of 0, should there be one, before the one with any."""
        instruction = self._instruction
        text = None if instruction.is_invalid else scheme_of(instruction)
        if text is None:
            return ()
        if text.endswith(_ANY_BYTE) and instruction.immediate(instruction.op_count - 1) == 0:
            return (text.removesuffix(_ANY_BYTE) + _ZERO, text)
        return (text,)

    def contents(self, slots: Slots) -> tuple[Content, ...]:
        """What stands in the slots of its scheme."""
        assert isinstance(slots, EncodedSlots), "slots of another instruction set"
        return slots.contents(self._instruction)


def decoded(code: bytes) -> Iterator[X86DecodedOperands]:
    """The instructions of machine code, what is none included."""
    for instruction in Decoder(64, code):
        begin = instruction.ip
        yield X86DecodedOperands(code[begin : begin + instruction.len], instruction)
