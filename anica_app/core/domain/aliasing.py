"""Which operands of a block are the same and which are not: the aliasing abstraction (thesis §8.1.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from inference.isa.operand_slots import Content, OperandPlace, Slot, Slots, match, overlap

Pair = tuple[OperandPlace, OperandPlace]
"""Two different operands, the smaller one first: aliasing knows no direction."""

Operands = Sequence[tuple[Slots, Sequence[Content]]]
"""Of each instruction of a block, what can alias and what stands there."""


@dataclass(frozen=True)
class Aliasing:
    """Pairs that must alias and pairs that must not; nothing is said of all others (⊤)."""

    must: frozenset[Pair] = frozenset()
    must_not: frozenset[Pair] = frozenset()

    @cached_property
    def pairs(self) -> tuple[tuple[Pair, bool], ...]:
        """All constraints in a fixed order, each with whether the pair must alias."""
        found = [*((pair, True) for pair in self.must), *((pair, False) for pair in self.must_not)]
        return tuple(sorted(found))

    @cached_property
    def value(self) -> Mapping[Pair, bool]:
        """{pair: whether it must alias}."""
        return dict(self.pairs)

    def is_below(self, general: Aliasing) -> bool:
        """⊑: the other one says the same or nothing of every pair."""
        return general.must <= self.must and general.must_not <= self.must_not

    def without(self, pair: Pair) -> Aliasing:
        """Nothing is said of the pair any more."""
        return Aliasing(self.must - {pair}, self.must_not - {pair})

    def holds(self, block: Operands) -> bool:
        """γ: every constraint on operands that exist and match is met."""
        for (one, other), wanted in self.pairs:
            left, right = _at(block, one), _at(block, other)
            if left is None or right is None:
                continue
            if match(left[0], right[0]) and overlap(left[1], right[1]) != wanted:
                return False
        return True


FREE = Aliasing()
"""⊤: no constraint on any pair."""


def represent(block: Operands) -> Aliasing:
    """β: for all pairs of operands that match, whether they alias."""
    there = [
        (place, slot, content)
        for number, (slots, contents) in enumerate(block)
        for place, slot, content in zip(slots.places(number), slots.all, contents, strict=True)
    ]
    must: list[Pair] = []
    must_not: list[Pair] = []
    for (one, left, content), (other, right, standing) in combinations(there, 2):
        if match(left, right):
            pair = (one, other) if one < other else (other, one)
            (must if overlap(content, standing) else must_not).append(pair)
    return Aliasing(frozenset(must), frozenset(must_not))


def _at(block: Operands, place: OperandPlace) -> tuple[Slot, Content] | None:
    slots, contents = block[place.instruction]
    index = slots.index(place.kind, place.number)
    return None if index is None else (slots.all[index], contents[index])
