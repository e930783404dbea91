"""The features of all schemes of a space, and which schemes an abstract instruction stands for (γ, β)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from anica_app.core.domain.abstract import AbstractInstruction
from anica_app.core.domain.features import Vocabulary, value
from anica_app.core.domain.settings import DomainSettings
from anica_app.core.domain.space import Bits, SchemeSpace

_KEPT = 1 << 16
"""So many abstract instructions are remembered with their schemes; a long search goes through many more."""


class FeatureTable:
    """The features of a domain with their abstractions, over the schemes of a space.

    The feature `uops` is left out where the space knows no number of µops.
    """

    def __init__(self, space: SchemeSpace, settings: DomainSettings) -> None:
        self.space = space
        names = [name for name in settings.feature_names if name != "uops" or space.uops]
        self.vocabulary = Vocabulary(names, settings, space.operands.names)
        self._bits: list[dict[Any, Bits]] = [{} for _ in names]
        self._meanings: dict[AbstractInstruction, Bits] = {}

    @cached_property
    def rows(self) -> tuple[tuple[Any, ...], ...]:
        """Of each scheme, its values of the features."""
        return tuple(
            tuple(value(name, member, self.space.uops) for name in self.vocabulary.names)
            for member in self.space.members
        )

    @cached_property
    def _having(self) -> tuple[Mapping[Any, Bits], ...]:
        """Of each feature, {value: the schemes that have it}."""
        found: list[dict[Any, Bits]] = []
        for position in range(len(self.vocabulary.names)):
            numbers = defaultdict(list)
            for number, row in enumerate(self.rows):
                numbers[row[position]].append(number)
            found.append({value: sum(1 << number for number in some) for value, some in numbers.items()})
        return tuple(found)

    @cached_property
    def representing(self) -> tuple[AbstractInstruction, ...]:
        abstractions = self.vocabulary.abstractions
        return tuple(
            AbstractInstruction(
                tuple(each.represent(value) for each, value in zip(abstractions, row, strict=True))
            )
            for row in self.rows
        )

    def meaning(self, instruction: AbstractInstruction) -> Bits:
        """γ: the schemes that it represents."""
        found = self._meanings.get(instruction)
        if found is None:
            found = self.space.all
            for position, value in enumerate(instruction.values):
                if value is not None:
                    found &= self._schemes(position, value)
            if len(self._meanings) >= _KEPT:
                self._meanings.clear()
            self._meanings[instruction] = found
        return found

    def _schemes(self, position: int, value: Any) -> Bits:
        """γ of a feature's abstract value."""
        known = self._bits[position]
        if value not in known:
            represents = self.vocabulary.abstractions[position].represents
            found = 0
            for concrete, bits in self._having[position].items():
                if represents(value, concrete):
                    found |= bits
            known[value] = found
        return known[value]
