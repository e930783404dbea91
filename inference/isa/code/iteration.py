"""One iteration of a block as it is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

LINE = 64
"""Bytes of a line of the instruction cache."""


@dataclass(frozen=True)
class Iteration:
    """One iteration as it is run: `code`, the values of `registers` that it needs, how it is closed."""

    code: bytes
    registers: Mapping[str, int] = field(default_factory=dict)
    words: str = ""

    @property
    def jumps(self) -> int:
        """Instructions behind the body that are executed in each iteration."""
        return 1 if self.words else 0
