"""Abstract instructions and blocks, their expansions, and which block includes which (§8.1.4, §8.1.6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

from anica_app.core.domain.space import Bits, Dependency
from inference.isa.operand_slots import Content, OperandPlace, Slot, Slots, match, overlap

Pair = tuple[OperandPlace, OperandPlace]
"""Two different operands, the smaller one first: aliasing is symmetric."""

Operands = Sequence[tuple[Slots, Sequence[Content]]]
"""For each instruction of a block its operands that can alias, and what each of them contains."""


@dataclass(frozen=True)
class Aliasing:
    """Pairs that must alias and pairs that must not; all other pairs are unconstrained (⊤)."""

    must: frozenset[Pair] = frozenset()
    must_not: frozenset[Pair] = frozenset()

    @cached_property
    def pairs(self) -> tuple[tuple[Pair, bool], ...]:
        """All constraints in a fixed order, each with whether the pair must alias."""
        constraints = [*((pair, True) for pair in self.must), *((pair, False) for pair in self.must_not)]
        return tuple(sorted(constraints))

    @cached_property
    def value(self) -> Mapping[Pair, bool]:
        """{pair: whether it must alias}."""
        return dict(self.pairs)

    def is_below(self, general: Aliasing) -> bool:
        """⊑: every pair that `general` constrains has the same constraint here."""
        return general.must <= self.must and general.must_not <= self.must_not

    def without(self, pair: Pair) -> Aliasing:
        """A copy without the constraint on a pair."""
        return Aliasing(self.must - {pair}, self.must_not - {pair})

    def holds(self, block: Operands) -> bool:
        """γ: whether every constraint holds on operands that exist and match."""
        for (first, second), must_alias in self.pairs:
            left, right = _at(block, first), _at(block, second)
            if left is None or right is None:
                continue
            if match(left[0], right[0]) and overlap(left[1], right[1]) != must_alias:
                return False
        return True


FREE = Aliasing()
"""⊤: no constraint on any pair."""


def represent(block: Operands) -> Aliasing:
    """β: for all pairs of operands that match, whether they alias."""
    operands = [
        (place, slot, content)
        for number, (slots, contents) in enumerate(block)
        for place, slot, content in zip(slots.places(number), slots.all, contents, strict=True)
    ]
    must: list[Pair] = []
    must_not: list[Pair] = []
    for (first, slot_a, left), (second, slot_b, right) in combinations(operands, 2):
        if match(slot_a, slot_b):
            pair = (first, second) if first < second else (second, first)
            (must if overlap(left, right) else must_not).append(pair)
    return Aliasing(frozenset(must), frozenset(must_not))


def _at(block: Operands, place: OperandPlace) -> tuple[Slot, Content] | None:
    slots, contents = block[place.instruction]
    index = slots.index(place.kind, place.number)
    return None if index is None else (slots.all[index], contents[index])


Values = tuple[Any, ...]
"""An abstract value per feature, in the order of the domain's features; None is ⊤ (see `abstractions`)."""


class AbstractInstruction:
    """Constraints on the features of one instruction; compares by value."""

    __slots__ = ("_hash", "values")

    def __init__(self, values: Values) -> None:
        self.values = values
        self._hash = hash(values)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, AbstractInstruction):
            return NotImplemented
        return self._hash == other._hash and self.values == other.values

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"AbstractInstruction({self.values!r})"

    def replaced(self, position: int, value: Any) -> AbstractInstruction:
        return AbstractInstruction((*self.values[:position], value, *self.values[position + 1 :]))


@dataclass(frozen=True)
class AbstractBlock:
    """A set of basic blocks of one length: a constraint per instruction, and constraints among operands.

    Every block has at least these `dependencies`.
    """

    instructions: tuple[AbstractInstruction, ...]
    aliasing: Aliasing = FREE
    dependencies: frozenset[Dependency] = frozenset()

    def __len__(self) -> int:
        return len(self.instructions)


@dataclass(frozen=True, slots=True)
class FeatureExpansion:
    """Relaxes the constraint of one instruction on one feature by one step of its abstraction.

    Instructions are counted from 0.

    Two expansions with the same step are equal wherever they apply, since a step is one partial function.
    `value`, the relaxed constraint where the expansion was offered, is for display and does not count.
    """

    instruction: int
    feature: str
    step: str
    value: Any = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class AliasExpansion:
    pair: Pair


@dataclass(frozen=True, slots=True)
class DependencyExpansion:
    dependency: Dependency


Expansion = FeatureExpansion | AliasExpansion | DependencyExpansion


def subsumes(
    general: AbstractBlock, special: AbstractBlock, meaning: Callable[[AbstractInstruction], Bits]
) -> bool:
    """Definition 8.7: whether `general` subsumes `special`.

    Exact by backtracking: a mapping that keeps the cyclic order (C1, C4) continues from the place of the
    first instruction, once around at most. A branch ends where an instruction may have a scheme that it must
    not (C2), or where a constraint on operands or a dependency is missing (C3).

    Args:
        general: The block that may subsume.
        special: The block that may be subsumed.
        meaning: The schemes that an abstract instruction represents.
    """
    count, places = len(general), len(special)
    if count > places:
        return False
    special_bits = [meaning(instruction) for instruction in special.instructions]
    candidates: list[list[int]] = []
    for bits in map(meaning, general.instructions):
        matches = [place for place, bits_there in enumerate(special_bits) if not bits_there & ~bits]
        if not matches:
            return False
        candidates.append(matches)
    constraints: list[list[tuple[Pair, bool]]] = [[] for _ in range(count)]
    for pair, alias in general.aliasing.pairs:
        constraints[max(place.instruction for place in pair)].append((pair, alias))
    ending_at: list[list[Dependency]] = [[] for _ in range(count)]
    for link in general.dependencies:
        ending_at[max(link.writer, link.reader)].append(link)
    aliasing = special.aliasing.value
    mapping: list[int] = []

    def constraints_hold(number: int) -> bool:
        return all(
            aliasing.get(_map_pair(pair, mapping)) is alias for pair, alias in constraints[number]
        ) and all(
            Dependency(mapping[link.writer], mapping[link.reader], link.kind) in special.dependencies
            for link in ending_at[number]
        )

    def can_extend(number: int) -> bool:
        if number == count:
            return True
        for place in candidates[number]:
            if number:
                span = (mapping[-1] - mapping[0]) % places
                if not span < (place - mapping[0]) % places <= places - (count - number):
                    continue
            mapping.append(place)
            if constraints_hold(number) and can_extend(number + 1):
                return True
            mapping.pop()
        return False

    return can_extend(0)


def _map_pair(pair: Pair, mapping: Sequence[int]) -> Pair:
    first, second = (OperandPlace(mapping[place.instruction], place.kind, place.number) for place in pair)
    return (first, second) if first < second else (second, first)
