"""Which registers and addresses the operands of a random block have (thesis §8.1.5).

Greedy, as in the thesis: operands that must alias are chosen together, those that leave the least choice
first, hence fixed ones before all others; each at random among what is not forbidden.

A block sees few addresses, so that its memory operands often happen to be the same one, as registers do.
Nothing that is written is chosen to be a register that another instruction addresses memory through without
a choice, as string instructions do.

Each address has a cache line of its own within half a page from where the base registers point: two that
are written differently do not overlap even where all base registers hold the same value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations
from random import Random

from anica_app.core.domain.abstract import Aliasing
from anica_app.core.linking import NO_LINKS, Links
from inference.isa.operand_slots import (
    Address,
    ChoiceError,
    Filling,
    MemorySlot,
    OperandPlace,
    RegisterSlot,
    Slot,
    Slots,
    match,
)

USUAL_LINES = 6
"""A block has so many addresses to choose from, as in the published sampler, unless it needs more."""
LINE = 64
"""Bytes of a cache line, or of half of one."""
MOST_LINES = 4096 // 2 // LINE - 1
"""As many as lie within half a page, without the first."""


def fillings(
    block: Sequence[Slots], aliasing: Aliasing, random: Random, linked: Links = NO_LINKS
) -> list[Filling]:
    """Registers and addresses for the operands of each instruction. Raises `ChoiceError`."""
    classes = _Classes(block, linked.added_to(aliasing), linked.kept)
    for one in sorted(classes.registers, key=classes.freedom):
        left = classes.families[one]
        for other in classes.apart[one]:
            if (chosen := classes.chosen[other]) is not None:
                assert isinstance(chosen, int), "what matches a register is one"
                left &= ~(1 << chosen)
        if not left:
            raise ChoiceError
        families = _members(left)
        classes.chosen[one] = families[int(random.random() * len(families))]
    if classes.memories:
        addresses = _Addresses(bases_of(block), random)
        for one in classes.memories:
            forbidden = [classes.chosen[other] for other in classes.apart[one]]
            classes.chosen[one] = addresses.choose(forbidden, classes.indices[one])
    return classes.fillings()


class _Classes:
    """The operands of a block, those that must be the same put together; each class goes by its first one.

    Fixed addresses are chosen already; `families` has the registers that fit all members of a class.
    """

    def __init__(
        self, block: Sequence[Slots], aliasing: Aliasing, kept: Iterable[tuple[OperandPlace, int]]
    ) -> None:
        self._block = block
        self._starts = [0]
        unequal: list[tuple[int, int]] = []
        pointing = 0
        for each in block:
            begin = self._starts[-1]
            self._starts.append(begin + len(each.all))
            pointing |= each.pointing
            if each.distinct:
                unequal += combinations((begin + number for number in each.distinct), 2)
        self._slots: list[Slot] = [slot for each in block for slot in each.all]
        self._of = list(range(len(self._slots)))
        self.apart: list[list[int]] = [[] for _ in self._slots]
        unequal += self._joined(aliasing) if aliasing.pairs else []
        self.chosen: list[int | Address | None] = [None] * len(self._slots)
        self.families: dict[int, int] = {}
        self.indices: dict[int, int] = {}
        self.memories: list[int] = []
        for number, slot in enumerate(self._slots):
            one = self._first(number)
            self._of[number] = one
            if isinstance(slot, RegisterSlot):
                choices = slot.choices & ~pointing if pointing and slot.avoids_pointers else slot.choices
                self.families[one] = self.families.get(one, -1) & choices
            else:
                self._add(one, slot)
        for place, units in kept:
            number = self._starts[place.instruction] + place.number
            self.families[self._of[number]] &= block[place.instruction].registers[place.number].fitting(units)
        for left, right in unequal:
            one, other = self._of[left], self._of[right]
            if one == other or self._equal(one, other):
                raise ChoiceError
            self.apart[one].append(other)
            self.apart[other].append(one)
        self.registers = list(self.families)

    def freedom(self, one: int) -> int:
        """How many registers fit; those of which there is one, such as fixed ones, have to come first."""
        return self.families[one].bit_count()

    def fillings(self) -> list[Filling]:
        """What is chosen, by instruction."""
        everything = [self.chosen[one] for one in self._of]
        spans = zip(self._starts, self._starts[1:], strict=False)
        return [tuple(one for one in everything[begin:end] if one is not None) for begin, end in spans]

    def _joined(self, aliasing: Aliasing) -> list[tuple[int, int]]:
        """Put together what must be the same; the pairs that must not."""
        unequal = []
        for (one, other), wanted in aliasing.pairs:
            left, right = self._find(one), self._find(other)
            if left is None or right is None or not match(self._slots[left], self._slots[right]):
                continue
            if wanted:
                first, second = sorted((self._first(left), self._first(right)))
                self._of[second] = first
            else:
                unequal.append((left, right))
        return unequal

    def _find(self, place: OperandPlace) -> int | None:
        index = self._block[place.instruction].index(place.kind, place.number)
        return None if index is None else self._starts[place.instruction] + index

    def _first(self, number: int) -> int:
        while self._of[number] != number:
            number = self._of[number]
        return number

    def _add(self, one: int, slot: MemorySlot) -> None:
        if one not in self.indices:
            self.indices[one] = slot.indices
            self.memories.append(one)
        if slot.fixed is not None:
            if self.chosen[one] not in (None, slot.fixed):
                raise ChoiceError
            self.chosen[one] = slot.fixed
            if one in self.memories:
                self.memories.remove(one)

    def _equal(self, one: int, other: int) -> bool:
        return self.chosen[one] is not None and self.chosen[one] == self.chosen[other]


class _Addresses:
    """The addresses of one block, by cache line."""

    def __init__(self, bases: Sequence[int], random: Random) -> None:
        self._possible_bases = bases
        self._random = random
        self._bases: dict[int, int] = {}

    def choose(self, forbidden: Sequence[int | Address | None], indices: int) -> Address:
        """One that is not among the forbidden ones. Raises `ChoiceError`."""
        taken = {one.displacement // LINE for one in forbidden if isinstance(one, Address)}
        free = [line for line in range(1, USUAL_LINES + 1) if line not in taken]
        free = free or [line for line in range(USUAL_LINES + 1, MOST_LINES + 1) if line not in taken][:1]
        if not free:
            raise ChoiceError
        line = free[int(self._random.random() * len(free))]
        if line not in self._bases:
            bases = self._possible_bases
            self._bases[line] = bases[int(self._random.random() * len(bases))]
        return Address(self._bases[line], indices, 1, line * LINE)


def bases_of(block: Sequence[Slots]) -> Sequence[int]:
    """Registers that all instructions can address memory through: they may have to share an address."""
    bases, *others = (slots.bases for slots in block if slots.memories)
    for other in others:
        if other != bases:
            bases = tuple(base for base in bases if base in other)
    return bases


@lru_cache(maxsize=1 << 14)
def _members(bits: int) -> tuple[int, ...]:
    return tuple(number for number in range(bits.bit_length()) if bits >> number & 1)
