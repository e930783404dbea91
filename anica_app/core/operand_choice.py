"""Which registers and addresses the operands of a random block have (thesis §8.1.5).

Greedy, as in the thesis: operands that must alias are chosen together, those that leave the least choice
first, hence fixed ones before all others; each at random among what is not forbidden.

A block sees few addresses, so that its memory operands often happen to be the same one, as registers do.
Nothing that is written is chosen to be a register that another instruction addresses memory through without
a choice, as string instructions do.

Each address has a cache line of its own within half a page from where the base registers point: two that
are written differently do not overlap even where all base registers hold the same value. Addresses without
displacement have base registers of their own, which must differ in their values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from random import Random

from anica_app.core.domain.abstract import Aliasing, Pair
from anica_app.core.domain.space import Bits, Dependency, SchemeSpace, SchemeUse, of_kind
from inference.isa.operand_slots import (
    LINE,
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

_CACHE_SIZE = 1 << 10  # sets of registers
USUAL_LINES = 6
"""Addresses per block, as in the published sampler; a block that needs more gets more."""


class DependentSchemes:
    """Chooses schemes for the instructions of a block one after the other, as dependencies demand."""

    def __init__(self, space: SchemeSpace) -> None:
        self._space = space
        self._writing = lru_cache(maxsize=_CACHE_SIZE)(self._that_may_write)
        self._reading = lru_cache(maxsize=_CACHE_SIZE)(self._that_may_read)

    def choose_schemes(
        self, allowed: Sequence[Bits], dependencies: Collection[Dependency], random: Random
    ) -> list[int]:
        """A random scheme for each instruction, out of its allowed ones.

        All are equally likely, except those that rule out a dependency on an instruction chosen before.

        Raises:
            ChoiceError: No scheme is left for an instruction.
        """
        schemes: list[int] = []
        uses = self._space.uses
        for number, bits in enumerate(allowed):
            possible = bits
            for link in dependencies:
                if link.writer == number:
                    before = uses[schemes[link.reader]].could_read if link.reader < number else -1
                    possible &= self._writing(of_kind(link.kind, before))
                elif link.reader == number:
                    before = uses[schemes[link.writer]].could_write if link.writer < number else -1
                    possible &= self._reading(of_kind(link.kind, before))
            numbers = self._space.numbers(possible)
            if not numbers:
                raise ChoiceError
            schemes.append(numbers[int(random.random() * len(numbers))])
        return schemes

    def _that_may_write(self, units: int) -> Bits:
        return _bits(use.could_write & units for use in self._space.uses)

    def _that_may_read(self, units: int) -> Bits:
        return _bits(use.could_read & units for use in self._space.uses)


def _bits(units: Iterator[int]) -> Bits:
    return sum(1 << number for number, bits in enumerate(units) if bits)


@dataclass(frozen=True)
class DependencyLinks:
    """Constraints on operands that create dependencies.

    `pairs` of operands are the same register. `overlaps`: operands, each with units that it must overlap.
    """

    pairs: frozenset[Pair] = frozenset()
    overlaps: frozenset[tuple[OperandPlace, int]] = frozenset()

    def combined_with(self, aliasing: Aliasing) -> Aliasing:
        """The constraints on operands, and those of the links."""
        return Aliasing(aliasing.must | self.pairs, aliasing.must_not) if self.pairs else aliasing


NO_LINKS = DependencyLinks()


def links(
    uses: Sequence[SchemeUse],
    dependencies: Collection[Dependency],
    aliasing: Aliasing,
    random: Random,
    *,
    always: bool = False,
) -> DependencyLinks:
    """Constraints that create the dependencies, chosen at random among the possible ones.

    None are needed where equal operands, flags or fixed registers carry a dependency already; with `always`,
    fixed registers do not count: an instruction in between may overwrite them.

    Args:
        uses: What the schemes of the block read and write.
        dependencies: The dependencies to create.
        aliasing: Constraints on operands that hold anyway.
        random: Source of the choice.
        always: Constrain operands even where fixed registers carry a dependency.

    Raises:
        ChoiceError: A dependency cannot be created.
    """
    pairs: set[Pair] = set()
    overlaps: set[tuple[OperandPlace, int]] = set()
    for dependency in sorted(dependencies):
        writer, reader = uses[dependency.writer], uses[dependency.reader]
        fixed = bool(of_kind(dependency.kind, writer.slots.written & reader.slots.read))
        if dependency.kind == "flag" or (fixed and not always):
            if not fixed:
                raise ChoiceError
            continue
        equal_pairs = list(_same_operands(dependency, writer, reader))
        if any(aliasing.value.get(pair) for pair in equal_pairs):
            continue
        equal_pairs = [pair for pair in equal_pairs if pair not in aliasing.must_not]
        fitting = list(_fitting_operands(dependency, writer, reader))
        number = int(random.random() * (len(equal_pairs) + len(fitting) + fixed))
        if number < len(equal_pairs):
            pairs.add(equal_pairs[number])
        elif number < len(equal_pairs) + len(fitting):
            overlaps.add(fitting[number - len(equal_pairs)])
        elif not fixed:
            raise ChoiceError
    return DependencyLinks(frozenset(pairs), frozenset(overlaps))


def _same_operands(dependency: Dependency, writer: SchemeUse, reader: SchemeUse) -> Iterator[Pair]:
    """An operand that is written and one that is read, which one register may stand in."""
    for number in writer.writes:
        written = OperandPlace(dependency.writer, "register", number)
        slot = writer.slots.registers[number]
        for other in reader.reads:
            read = OperandPlace(dependency.reader, "register", other)
            other_slot = reader.slots.registers[other]
            if slot.possible & other_slot.possible and slot.choices & other_slot.choices:
                yield (written, read) if written < read else (read, written)


def _fitting_operands(
    dependency: Dependency, writer: SchemeUse, reader: SchemeUse
) -> Iterator[tuple[OperandPlace, int]]:
    """Operands of one instruction that can be a fixed register of the other, each with the units of that."""
    for number in writer.writes:
        if writer.slots.registers[number].fitting(reader.slots.read):
            yield OperandPlace(dependency.writer, "register", number), reader.slots.read
    for number in reader.reads:
        if reader.slots.registers[number].fitting(writer.slots.written):
            yield OperandPlace(dependency.reader, "register", number), writer.slots.written


def fillings(
    block: Sequence[Slots], aliasing: Aliasing, random: Random, linked: DependencyLinks = NO_LINKS
) -> list[Filling]:
    """Registers and addresses for the operands of each instruction. Raises `ChoiceError`."""
    classes = _Classes(block, linked.combined_with(aliasing), linked.overlaps)
    for operand in sorted(classes.registers, key=classes.freedom):
        choices = classes.families[operand]
        for other in classes.apart[operand]:
            if (chosen_operand := classes.chosen[other]) is not None:
                assert isinstance(chosen_operand, int), "what matches a register is one"
                choices &= ~classes.overlapping(operand, other, chosen_operand)
        if not choices:
            raise ChoiceError
        families = _members(choices)
        classes.chosen[operand] = families[int(random.random() * len(families))]
    if classes.memories:
        addresses = _Addresses(bases_of(block), plain_bases_of(block), random)
        for operand in classes.memories:
            forbidden = [classes.chosen[other] for other in classes.apart[operand]]
            classes.chosen[operand] = addresses.choose(
                forbidden, classes.indices[operand], classes.reaches[operand]
            )
    return classes.fillings()


class _Classes:
    """Operands of a block in classes of equal ones; a class is named by its first operand.

    Fixed addresses are chosen already; `families` has the registers that fit all members of a class.
    """

    def __init__(
        self, block: Sequence[Slots], aliasing: Aliasing, overlaps: Iterable[tuple[OperandPlace, int]]
    ) -> None:
        self._block = block
        self._starts = [0]
        unequal: list[tuple[int, int]] = []
        pointing = 0
        for slots in block:
            begin = self._starts[-1]
            self._starts.append(begin + len(slots.all))
            pointing |= slots.pointing
            if slots.distinct:
                unequal += combinations((begin + number for number in slots.distinct), 2)
        self._slots: list[Slot] = [slot for slots in block for slot in slots.all]
        self._first_of = list(range(len(self._slots)))
        self.apart: list[list[int]] = [[] for _ in self._slots]
        unequal += self._join(aliasing) if aliasing.pairs else []
        self.chosen: list[int | Address | None] = [None] * len(self._slots)
        self.families: dict[int, int] = {}
        self.indices: dict[int, int] = {}
        self.reaches: dict[int, int] = {}
        self._lists: dict[int, list[RegisterSlot]] = {}
        has_lists = any(isinstance(slot, RegisterSlot) and slot.count > 1 for slot in self._slots)
        self.memories: list[int] = []
        for number, slot in enumerate(self._slots):
            first = self._representative(number)
            self._first_of[number] = first
            if isinstance(slot, RegisterSlot):
                choices = slot.choices & ~pointing if pointing and slot.avoids_pointers else slot.choices
                self.families[first] = self.families.get(first, -1) & choices
                if has_lists:
                    self._lists.setdefault(first, []).append(slot)
            else:
                self._add_memory(first, slot)
        for place, units in overlaps:
            number = self._starts[place.instruction] + place.number
            register = block[place.instruction].registers[place.number]
            self.families[self._first_of[number]] &= register.fitting(units)
        for left, right in unequal:
            first, other = self._first_of[left], self._first_of[right]
            if first == other or self._have_same_choice(first, other):
                raise ChoiceError
            self.apart[first].append(other)
            self.apart[other].append(first)
        self.registers = list(self.families)

    def freedom(self, operand: int) -> int:
        """The number of registers that fit; operands with one choice, such as fixed ones, come first."""
        return self.families[operand].bit_count()

    def overlapping(self, operand: int, other: int, family: int) -> int:
        """The families of a class, as bits, that overlap another class of this family."""
        if not self._lists:
            return 1 << family
        units = 0
        for slot in self._lists[other]:
            units |= slot.units.get(family, 0)
        return sum(
            1 << register
            for register in _members(self.families[operand])
            if any(units & slot.units.get(register, 0) for slot in self._lists[operand])
        )

    def fillings(self) -> list[Filling]:
        """What is chosen, by instruction."""
        contents = [self.chosen[operand] for operand in self._first_of]
        spans = zip(self._starts, self._starts[1:], strict=False)
        return [tuple(part for part in contents[begin:end] if part is not None) for begin, end in spans]

    def _join(self, aliasing: Aliasing) -> list[tuple[int, int]]:
        """Merge operands that must be equal; return the pairs that must differ."""
        unequal = []
        for (first_place, second_place), must_alias in aliasing.pairs:
            left, right = self._operand_index(first_place), self._operand_index(second_place)
            if left is None or right is None or not match(self._slots[left], self._slots[right]):
                continue
            if must_alias:
                first, second = sorted((self._representative(left), self._representative(right)))
                self._first_of[second] = first
            else:
                unequal.append((left, right))
        return unequal

    def _operand_index(self, place: OperandPlace) -> int | None:
        index = self._block[place.instruction].index(place.kind, place.number)
        return None if index is None else self._starts[place.instruction] + index

    def _representative(self, number: int) -> int:
        while self._first_of[number] != number:
            number = self._first_of[number]
        return number

    def _add_memory(self, operand: int, slot: MemorySlot) -> None:
        self.reaches[operand] = min(slot.reach, self.reaches.get(operand, slot.reach))
        if operand not in self.indices:
            self.indices[operand] = slot.indices
            self.memories.append(operand)
        if slot.fixed is not None:
            if self.chosen[operand] not in (None, slot.fixed):
                raise ChoiceError
            self.chosen[operand] = slot.fixed
            if operand in self.memories:
                self.memories.remove(operand)

    def _have_same_choice(self, left: int, right: int) -> bool:
        return self.chosen[left] is not None and self.chosen[left] == self.chosen[right]


class _Addresses:
    """The addresses of one block, by cache line."""

    def __init__(self, bases: Sequence[int], plain_bases: Sequence[int], random: Random) -> None:
        self._possible_bases = bases
        self._plain_bases = plain_bases
        self._random = random
        self._bases: dict[int, int] = {}

    def choose(self, forbidden: Sequence[int | Address | None], indices: int, reach: int) -> Address:
        """One that is not among the forbidden ones; `reach`: see `MemorySlot`. Raises `ChoiceError`."""
        if not reach:
            return self._choose_plain(forbidden, indices)
        used_lines = {address.displacement // LINE for address in forbidden if isinstance(address, Address)}
        usual = min(USUAL_LINES, reach)
        free = [line for line in range(1, usual + 1) if line not in used_lines]
        free = free or [line for line in range(usual + 1, reach + 1) if line not in used_lines][:1]
        if not free:
            raise ChoiceError
        line = free[int(self._random.random() * len(free))]
        if line not in self._bases:
            bases = self._possible_bases
            self._bases[line] = bases[int(self._random.random() * len(bases))]
        return Address(self._bases[line], indices, 1, line * LINE)

    def _choose_plain(self, forbidden: Sequence[int | Address | None], indices: int) -> Address:
        addresses = [Address(base, indices) for base in self._plain_bases]
        free = [address for address in addresses if address not in forbidden]
        if not free:
            raise ChoiceError
        return free[int(self._random.random() * len(free))]


def plain_bases_of(block: Sequence[Slots]) -> Sequence[int]:
    """Registers for addresses without displacement: the same ones for all schemes of an instruction set."""
    return next((slots.plain_bases for slots in block if slots.plain_bases), ())


def bases_of(block: Sequence[Slots]) -> Sequence[int]:
    """Registers that all instructions can address memory through: they may have to share an address."""
    bases, *other_bases = (slots.bases for slots in block if slots.memories)
    for other in other_bases:
        if other != bases:
            bases = tuple(base for base in bases if base in other)
    return bases


@lru_cache(maxsize=1 << 14)
def _members(bits: int) -> tuple[int, ...]:
    return tuple(number for number in range(bits.bit_length()) if bits >> number & 1)
