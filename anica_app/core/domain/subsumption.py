"""Whether an abstract block says less than another, instructions in between and rotation allowed (§8.1.6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from anica_app.core.domain.abstract import AbstractBlock, AbstractInstruction, Pair
from anica_app.core.domain.dependencies import Dependency
from anica_app.core.domain.space import Bits
from inference.isa.operand_slots import OperandPlace


def subsumes(
    general: AbstractBlock, special: AbstractBlock, meaning: Callable[[AbstractInstruction], Bits]
) -> bool:
    """Definition 8.7; `meaning`: the schemes that an abstract instruction represents.

    Exact: the mappings that keep the cyclic order (C1, C4) are those that go on from the place of the first
    instruction, around at most once, so they are tried in this way; a branch ends where an instruction may be
    of a scheme that it must not (C2), or a constraint on operands or a dependency is missing (C3).
    """
    count, places = len(general), len(special)
    if count > places:
        return False
    there_bits = [meaning(one) for one in special.instructions]
    fitting: list[list[int]] = []
    for bits in map(meaning, general.instructions):
        found = [place for place, other in enumerate(there_bits) if not other & ~bits]
        if not found:
            return False
        fitting.append(found)
    constraints: list[list[tuple[Pair, bool]]] = [[] for _ in range(count)]
    for pair, wanted in general.aliasing.pairs:
        constraints[max(place.instruction for place in pair)].append((pair, wanted))
    waiting: list[list[Dependency]] = [[] for _ in range(count)]
    for one in general.dependencies:
        waiting[max(one.writer, one.reader)].append(one)
    there = special.aliasing.value
    mapping: list[int] = []

    def hold(number: int) -> bool:
        return all(
            there.get(_mapped(pair, mapping)) is wanted for pair, wanted in constraints[number]
        ) and all(
            Dependency(mapping[one.writer], mapping[one.reader], one.kind) in special.dependencies
            for one in waiting[number]
        )

    def extended(number: int) -> bool:
        if number == count:
            return True
        for place in fitting[number]:
            if number:
                begun = (mapping[-1] - mapping[0]) % places
                if not begun < (place - mapping[0]) % places <= places - (count - number):
                    continue
            mapping.append(place)
            if hold(number) and extended(number + 1):
                return True
            mapping.pop()
        return False

    return extended(0)


def _mapped(pair: Pair, mapping: Sequence[int]) -> Pair:
    one, other = (OperandPlace(mapping[place.instruction], place.kind, place.number) for place in pair)
    return (one, other) if one < other else (other, one)
