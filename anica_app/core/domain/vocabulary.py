"""What abstract instructions can say: features with their abstractions, whatever schemes there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from anica_app.core.domain.abstract import AbstractInstruction, FeatureExpansion
from anica_app.core.domain.abstractions import Abstraction
from anica_app.core.domain.features import abstraction
from anica_app.core.domain.settings import FEATURES, MOST_EDITS, MOST_LOG, DomainSettings


class Vocabulary:
    """Features in a fixed order, and the abstraction of each. `free` is ⊤ of abstract instructions."""

    def __init__(self, names: Sequence[str], settings: DomainSettings) -> None:
        self.names = tuple(names)
        self.abstractions: tuple[Abstraction[Any, Any], ...] = tuple(
            abstraction(name, settings) for name in self.names
        )
        self.free = AbstractInstruction((None,) * len(self.names))

    def is_below(self, special: AbstractInstruction, general: AbstractInstruction) -> bool:
        """⊑ in every feature."""
        pairs = zip(self.abstractions, special.values, general.values, strict=True)
        return all(each.is_below(left, right) for each, left, right in pairs)

    def expansions(self, instruction: AbstractInstruction, number: int) -> Iterator[FeatureExpansion]:
        """Those that apply to it where it is the instruction with this number, feature by feature."""
        for name, each, value in zip(self.names, self.abstractions, instruction.values, strict=True):
            for step in each.steps(value) if value is not None else ():
                yield FeatureExpansion(number, name, step, each.expand(value, step))

    def expand(self, instruction: AbstractInstruction, expansion: FeatureExpansion) -> AbstractInstruction:
        """The successor. Raises `ValueError` where the expansion does not apply."""
        position = self.names.index(expansion.feature)
        value, each = instruction.values[position], self.abstractions[position]
        if value is None or expansion.step not in each.steps(value):
            raise ValueError(f"{expansion} does not apply to {instruction}")
        return instruction.replaced(position, each.expand(value, expansion.step))


@cache
def everything() -> Vocabulary:
    """All features without bounds of a campaign's own: understands the documents of any campaign."""
    return Vocabulary(FEATURES, DomainSettings(edit_distance=MOST_EDITS, log_bound=MOST_LOG))
