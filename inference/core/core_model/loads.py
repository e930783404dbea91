"""How long the loads of a block take where the first-level cache has banks.

A core that could read three words per cycle reads one of them only twice, and so the same word of several
lines: a bank has it, whatever the line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from inference.core.core_model.model import MemoryTimes
from inference.isa.dependences import InstructionAccesses, MemoryPlace

_WORD = 8
_WORDS = 8
"""Of a line."""


@dataclass(frozen=True)
class LoadBound:
    """`cycles` per iteration for so many `loads` of one word."""

    loads: int
    cycles: float

    @property
    def why(self) -> str:
        """In a few words."""
        return f"{self.loads} load{'s' if self.loads > 1 else ''} of one word"


def load_bound(block: Sequence[InstructionAccesses], times: MemoryTimes) -> LoadBound | None:
    """What the loads of the busiest word take; None without any, or where that is not known.

    Unless they are known, different addresses count as leading to different words, and as aligned.
    """
    if not times.of_one_word:
        return None
    busy: Counter[tuple[Hashable, int]] = Counter()
    for one in block:
        for place in (access.memory for access in one.reads if access.memory is not None):
            busy.update((place.spot[0], word) for word in _words(place))
    if not busy:
        return None
    loads = max(busy.values())
    return LoadBound(loads, loads * times.of_one_word)


def _words(place: MemoryPlace) -> set[int]:
    _, offset = place.spot
    first, last = offset // _WORD, (offset + place.bits // 8 - 1) // _WORD
    return {word % _WORDS for word in range(first, last + 1)}
