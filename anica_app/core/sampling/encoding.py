"""Machine code of instructions whose operands are chosen: a pattern per scheme, filled in and encoded."""

from __future__ import annotations

from iced_x86 import Encoder, Instruction

from anica_app.core.domain.blocks import BlockInstruction
from anica_app.core.domain.places import Address, Content, RegisterSlot
from anica_app.core.domain.space import SchemeSpace
from inference.isa.x86.assembling import pattern, put_register
from inference.isa.x86.instances import ADDRESS_OF_CODE

Filling = tuple[int | Address, ...]
"""For each operand that can alias, the family of its register, or its address."""

_SMALLEST_BYTE, _LARGEST_BYTE = -128, 127
_KEPT = 1 << 16
"""So many instructions are remembered: random blocks repeat themselves, above all those of few schemes."""


class Filler:
    """Makes instructions of the schemes of a space."""

    def __init__(self, space: SchemeSpace) -> None:
        self._space = space
        self._patterns: dict[int, Instruction] = {}
        self._encoder = Encoder(64)
        self._made: dict[tuple[int, Filling], BlockInstruction] = {}

    def instruction(self, scheme: int, filling: Filling) -> BlockInstruction:
        """The instruction of this scheme with these operands."""
        key = scheme, filling
        found = self._made.get(key)
        if found is None:
            if len(self._made) >= _KEPT:
                self._made.clear()
            found = self._made[key] = self._fill(scheme, filling)
        return found

    def _fill(self, scheme: int, filling: Filling) -> BlockInstruction:
        if scheme not in self._patterns:
            self._patterns[scheme] = pattern(self._space.forms[scheme])
        instruction = self._patterns[scheme].copy()
        contents: list[Content] = []
        for slot, chosen in zip(self._space.slots[scheme].all, filling, strict=True):
            if isinstance(slot, RegisterSlot):
                assert isinstance(chosen, int), "registers are chosen by family"
                put_register(instruction, slot.part, slot.position, slot.families[chosen])
                contents.append(slot.units[chosen])
            else:
                assert isinstance(chosen, Address), "memory is chosen by address"
                if slot.fixed is None:
                    _point(instruction, chosen)
                contents.append(chosen)
        try:
            self._encoder.encode(instruction, ADDRESS_OF_CODE)
        finally:
            code = self._encoder.take_buffer()
        return BlockInstruction(scheme, tuple(contents), code)


def _point(instruction: Instruction, address: Address) -> None:
    signed = address.displacement - 2**64 * (address.displacement >> 63)
    instruction.memory_base = address.base
    instruction.memory_index = address.index_register
    instruction.memory_displacement = address.displacement
    if not signed:
        instruction.memory_displ_size = 0
    else:
        instruction.memory_displ_size = 1 if _SMALLEST_BYTE <= signed <= _LARGEST_BYTE else 8
