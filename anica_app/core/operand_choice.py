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

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from random import Random

from anica_app.core.domain.abstract import Aliasing, Pair
from anica_app.core.domain.space import Bits, Dependency, SchemeSpace, SchemeUse, of_kind
from inference.isa.operand_facet import ChoiceError
from inference.isa.operand_slots import (
    Address,
    Filling,
    MemorySlot,
    OperandPlace,
    RegisterSlot,
    Slot,
    Slots,
    match,
)

_KEPT = 1 << 10
USUAL_LINES = 6
"""A block has so many addresses to choose from, as in the published sampler, unless it needs more."""
LINE = 64
"""Bytes of a cache line, or of half of one."""
MOST_LINES = 4096 // 2 // LINE - 1
"""As many as lie within half a page, without the first."""


class LinkedSchemes:
    """Draws schemes of a space for the instructions of a block, one after the other."""

    def __init__(self, space: SchemeSpace) -> None:
        self._space = space
        self._writing = lru_cache(maxsize=_KEPT)(self._that_may_write)
        self._reading = lru_cache(maxsize=_KEPT)(self._that_may_read)

    def draw(self, allowed: Sequence[Bits], wanted: Collection[Dependency], random: Random) -> list[int]:
        """A scheme for each instruction, of those that it allows. Raises `ChoiceError` where none is left.

        All are equally likely but for those between which and the ones before a dependency is impossible.
        """
        found: list[int] = []
        for number, bits in enumerate(allowed):
            left = bits
            for one in wanted:
                if one.writer == number:
                    before = self._space.uses[found[one.reader]].could_read if one.reader < number else -1
                    left &= self._writing(of_kind(one.kind, before))
                elif one.reader == number:
                    before = self._space.uses[found[one.writer]].could_write if one.writer < number else -1
                    left &= self._reading(of_kind(one.kind, before))
            numbers = self._space.numbers(left)
            if not numbers:
                raise ChoiceError
            found.append(numbers[int(random.random() * len(numbers))])
        return found

    def _that_may_write(self, units: int) -> Bits:
        return _bits(use.could_write & units for use in self._space.uses)

    def _that_may_read(self, units: int) -> Bits:
        return _bits(use.could_read & units for use in self._space.uses)


def _bits(units: Iterator[int]) -> Bits:
    return sum(1 << number for number, some in enumerate(units) if some)


@dataclass(frozen=True)
class Links:
    """What has to be so that some dependencies are there, besides other constraints on operands.

    `pairs` of operands are the same register. `kept`: operands, each with units that it must overlap with.
    """

    pairs: frozenset[Pair] = frozenset()
    kept: frozenset[tuple[OperandPlace, int]] = frozenset()

    def added_to(self, aliasing: Aliasing) -> Aliasing:
        """The constraints on operands, and those of the links."""
        return Aliasing(aliasing.must | self.pairs, aliasing.must_not) if self.pairs else aliasing


NO_LINKS = Links()


def links(
    uses: Sequence[SchemeUse],
    wanted: Collection[Dependency],
    aliasing: Aliasing,
    random: Random,
    *,
    always: bool = False,
) -> Links:
    """A random way to have the dependencies, for instructions that use this. Raises `ChoiceError`.

    Nothing is to be done where operands that `aliasing` has the same carry one, nor where flags or registers
    without a choice do, unless `always`: somebody in between may overwrite these.
    """
    pairs: set[Pair] = set()
    kept: set[tuple[OperandPlace, int]] = set()
    for one in sorted(wanted):
        writer, reader = uses[one.writer], uses[one.reader]
        fixed = bool(of_kind(one.kind, writer.slots.written & reader.slots.read))
        if one.kind == "flag" or (fixed and not always):
            if not fixed:
                raise ChoiceError
            continue
        same = list(_same_operands(one, writer, reader))
        if any(aliasing.value.get(pair) for pair in same):
            continue
        same = [pair for pair in same if pair not in aliasing.must_not]
        fitting = list(_fitting_operands(one, writer, reader))
        number = int(random.random() * (len(same) + len(fitting) + fixed))
        if number < len(same):
            pairs.add(same[number])
        elif number < len(same) + len(fitting):
            kept.add(fitting[number - len(same)])
        elif not fixed:
            raise ChoiceError
    return Links(frozenset(pairs), frozenset(kept))


def _same_operands(one: Dependency, writer: SchemeUse, reader: SchemeUse) -> Iterator[Pair]:
    """An operand that is written and one that is read, which one register may stand in."""
    for number in writer.writes:
        written = OperandPlace(one.writer, "register", number)
        slot = writer.slots.registers[number]
        for other in reader.reads:
            read = OperandPlace(one.reader, "register", other)
            there = reader.slots.registers[other]
            if slot.possible & there.possible and slot.choices & there.choices:
                yield (written, read) if written < read else (read, written)


def _fitting_operands(
    one: Dependency, writer: SchemeUse, reader: SchemeUse
) -> Iterator[tuple[OperandPlace, int]]:
    """Operands of the one that may be a register without a choice of the other, with its units."""
    for number in writer.writes:
        if writer.slots.registers[number].fitting(reader.slots.read):
            yield OperandPlace(one.writer, "register", number), reader.slots.read
    for number in reader.reads:
        if reader.slots.registers[number].fitting(writer.slots.written):
            yield OperandPlace(one.reader, "register", number), writer.slots.written


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
