"""Abstract instructions, abstract blocks, and what makes them more general (thesis §8.1.4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from anica_app.core.domain.aliasing import FREE, Aliasing, Pair
from anica_app.core.domain.dependencies import Dependency

Values = tuple[Any, ...]
"""An abstract value per feature of a domain, in the domain's order; None is ⊤ (see `abstractions`)."""


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
        """The same with another value of one feature."""
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
    """Relaxes what one instruction, from 0, says of one feature by a step of the feature's abstraction.

    It is the same expansion wherever it applies, whatever value it leads to: dropping an element of a set is
    one partial function. `value`, what it leads to where it was offered, is for the reader.
    """

    instruction: int
    feature: str
    step: str
    value: Any = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class AliasExpansion:
    """Says nothing of a pair of operands any more."""

    pair: Pair


@dataclass(frozen=True, slots=True)
class DependencyExpansion:
    """Does not ask for a dependency any more."""

    dependency: Dependency


Expansion = FeatureExpansion | AliasExpansion | DependencyExpansion
