"""Schemes and operands for blocks in which instructions read what others write (`domain.dependencies`)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import Any

from anica_app.core.domain.aliasing import Aliasing, Pair
from anica_app.core.domain.dependencies import Dependency, SchemeUse, through
from anica_app.core.domain.places import OperandPlace
from anica_app.core.domain.space import Bits, SchemeSpace


class ChoiceError(Exception):
    """No scheme, register or address is left: this attempt failed, another may succeed."""


# Schemes between which dependencies are possible.


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
                    left &= self._writing(through(one.carrier, before))
                elif one.reader == number:
                    before = self._space.uses[found[one.writer]].could_write if one.writer < number else -1
                    left &= self._reading(through(one.carrier, before))
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


# Registers that carry dependencies.


@dataclass(frozen=True)
class Links:
    """What has to be so that some dependencies are there, besides other constraints on operands.

    `pairs` of operands are the same register. `kept`: operands, each with units that it must overlap with.
    """

    pairs: set[Pair] = field(default_factory=set)
    kept: set[tuple[OperandPlace, int]] = field(default_factory=set)

    def added_to(self, aliasing: Aliasing) -> Aliasing:
        """The constraints on operands, and those of the links."""
        return Aliasing(aliasing.must | self.pairs, aliasing.must_not) if self.pairs else aliasing


NO_LINKS = Links()


def links(
    uses: Sequence[SchemeUse], wanted: Collection[Dependency], aliasing: Aliasing, random: Random
) -> Links:
    """A random way to have the dependencies, for instructions that use this. Raises `ChoiceError`.

    Nothing is to be done where flags carry them, registers without a choice, or operands that `aliasing` has
    the same.
    """
    found = Links()
    for one in sorted(wanted):
        writer, reader = uses[one.writer], uses[one.reader]
        if through(one.carrier, writer.written & reader.read):
            continue
        ways = list(_ways(one, writer, reader)) if one.carrier == "register" else []
        if any(aliasing.value.get(_pair(*way)) for way in ways):
            continue
        ways = [way for way in ways if _pair(*way) not in aliasing.must_not]
        if not ways:
            raise ChoiceError
        place, other = ways[int(random.random() * len(ways))]
        if isinstance(other, int):
            found.kept.add((place, other))
        else:
            found.pairs.add(_pair(place, other))
    return found


def _pair(place: OperandPlace, other: OperandPlace | int) -> Any:
    """As a key of aliasing, which has none of units."""
    return (other, place) if isinstance(other, OperandPlace) and other < place else (place, other)


def _ways(
    one: Dependency, writer: SchemeUse, reader: SchemeUse
) -> Iterator[tuple[OperandPlace, OperandPlace | int]]:
    """Operands that one register may stand in, or one of them and the units of registers without a choice."""
    for number in writer.writes:
        written, slot = OperandPlace(one.writer, "register", number), writer.slots.registers[number]
        if slot.fitting(reader.read):
            yield written, reader.read
        for other in reader.reads:
            read = reader.slots.registers[other]
            if slot.possible & read.possible and slot.choices & read.choices:
                yield written, OperandPlace(one.reader, "register", other)
    for other in reader.reads:
        if reader.slots.registers[other].fitting(writer.written):
            yield OperandPlace(one.reader, "register", other), writer.written
