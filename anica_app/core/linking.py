"""Schemes and operands for blocks in which instructions read what others write."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from anica_app.core.domain.abstract import Aliasing, Pair
from anica_app.core.domain.dependencies import Dependency, SchemeUse, of_kind
from anica_app.core.domain.space import Bits, SchemeSpace
from inference.isa.operand_slots import ChoiceError, OperandPlace

_KEPT = 1 << 10


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
