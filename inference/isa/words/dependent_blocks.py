"""Short blocks of dependent instructions of words, as in compiled code but not in loop bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from inference.isa.machine_bodies import CannotMeasureError
from inference.isa.words.allocation import (
    LOAD_BASE,
    STORE_BASE,
    OperandDemands,
    Role,
    WordAllocationError,
    WordAllocator,
)
from inference.isa.words.assembling import BodyLanguage, line_of, plan_of

_POOL = 3, 6
"""Registers of a bank that the instructions of a block share: the fewest, and the most."""


class _SharedRegisters:
    """Random registers of few in each bank, for what is read and written alike; bases are the allocator's."""

    def __init__(self, allocator: WordAllocator, dice: Random) -> None:
        self._allocator = allocator
        self._dice = dice
        self._pools: dict[str, list[int]] = {}

    def registers(self, scheme: OperandDemands) -> list[int]:
        """As of the allocator; the operands of an instruction have different registers."""
        registers = self._allocator.registers(scheme)
        used: set[tuple[str, int]] = set()
        for place, choice in enumerate(scheme.choices):
            if choice.bank in (LOAD_BASE, STORE_BASE) or choice.span > 1:
                continue
            pool = self._pool(choice.bank)
            free = [number for number in pool if number < choice.below and (choice.bank, number) not in used]
            if not free:
                raise WordAllocationError("the registers do not suffice")
            registers[place] = self._dice.choice(free)
            used.add((choice.bank, registers[place]))
        return registers

    def slot(self, scheme: OperandDemands) -> int:
        return self._allocator.slot(scheme)

    def _pool(self, bank: str) -> list[int]:
        if bank not in self._pools:
            roles: tuple[Role, ...] = ("R", "W", "RW")
            numbers = sorted({number for role in roles for number in self._allocator.families(bank, role)})
            self._pools[bank] = self._dice.sample(numbers, min(len(numbers), self._dice.randint(*_POOL)))
        return self._pools[bank]


class DependentBlocks:
    """Short blocks of dependent instructions (`inference.isa.block_facets.DependentBlockMaker`).

    `encode`: machine code of a line.
    """

    def __init__(self, language: BodyLanguage, encode: Callable[[str], bytes]) -> None:
        self._language = language
        self._encode = encode

    def dependent_block(self, schemes: Sequence[str], dice: Random) -> bytes:
        """Machine code of the schemes in this order. Raises `CannotMeasureError`."""
        plans = [plan_of(self._language, text) for text in schemes]
        try:
            allocator = self._language.allocator([plan.demands for plan in plans])
            shared = _SharedRegisters(allocator, dice)
            lines = [line_of(self._language, plan, shared) for plan in plans]
        except WordAllocationError as error:
            raise CannotMeasureError("; ".join(schemes), str(error)) from None
        return b"".join(map(self._encode, lines))
