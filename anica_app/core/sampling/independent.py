"""Operands such that as little as possible in a block waits for something else (Algorithm 3.1).

For predictors that know no dependencies, such as port mappings: registers and memory that are read are never
written, and those that are written take turns. What is left are operands that an instruction both reads and
writes, once per execution of the block, and whatever is fixed: flags, rax of a multiplication.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from iced_x86 import Register

from anica_app.core.domain.places import Address, Part, RegisterSlot, Slots
from anica_app.core.domain.space import SchemeSpace
from anica_app.core.sampling.choosing import ChoiceError
from anica_app.core.sampling.encoding import Filling
from inference.isa.x86.allocation import AllocationError, Allocator
from inference.isa.x86.demands import Demands, demands


class Independent:
    """Chooses operands for blocks of the schemes of a space."""

    def __init__(self, space: SchemeSpace) -> None:
        self._space = space
        self._demands: dict[int, Demands] = {}

    def fillings(self, schemes: Sequence[int]) -> list[Filling]:
        """Registers and addresses for the operands of each instruction. Raises `ChoiceError`."""
        wanted = [self._of(number) for number in schemes]
        try:
            allocator = Allocator(wanted)
        except AllocationError as error:
            raise ChoiceError from error
        return [
            _filling(self._space.slots[number], each, allocator)
            for number, each in zip(schemes, wanted, strict=True)
        ]

    def _of(self, number: int) -> Demands:
        """What a scheme demands, without instructions that break its dependencies: a block has none."""
        if number not in self._demands:
            found = demands(self._space.schemes[number], self._space.forms[number])
            own = tuple(choice for choice in found.choices if choice.part != "breaker")
            self._demands[number] = replace(found, choices=own, breakers=())
        return self._demands[number]


def _filling(slots: Slots, wanted: Demands, allocator: Allocator) -> Filling:
    families = allocator.registers(wanted)
    chosen: dict[tuple[int, Part], int] = {
        (choice.position, choice.part): family
        for choice, family in zip(wanted.choices, families, strict=True)
    }
    base = Register.RSI if wanted.low_base else Register.R14
    return tuple(
        chosen.get((slot.position, slot.part), slot.only)
        if isinstance(slot, RegisterSlot)
        else slot.fixed or Address(base, slot.indices, 1, allocator.slot(wanted.memory or "R") % 2**64)
        for slot in slots.all
    )
