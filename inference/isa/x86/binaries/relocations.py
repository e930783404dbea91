"""Jumps of object files to what the linker has still to place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from inference.isa.x86.binaries.headers import Section
from inference.isa.x86.binaries.symbols import rows_of

_ROW = np.dtype([("offset", "<u8"), ("info", "<u8"), ("addend", "<i8")])
_FIELD = 4  # bytes of a displacement, at the end of a jump


@dataclass(frozen=True)
class Relocations:
    """Of one section. `targets`: {address of a displacement: the address in the same section it leads to}.

    None stands for what is in another section or another file.
    """

    targets: dict[int, int | None] = field(default_factory=dict)

    def has(self, address: int, length: int) -> bool:
        """Whether the last four bytes of an instruction are still to be filled in."""
        return address + length - _FIELD in self.targets

    def target(self, address: int, length: int) -> int | None:
        """Where such a jump leads."""
        return self.targets[address + length - _FIELD]


def relocations_of(
    content: bytes, sections: Sequence[Section], tables: Sequence[Section], region: int
) -> Relocations:
    """Those of a section of an object file; `tables`: the sections that hold them."""
    targets: dict[int, int | None] = {}
    for one in tables:
        if one.link >= len(sections):
            continue
        symbols = rows_of(content, sections[one.link])
        for row in np.frombuffer(content, dtype=_ROW, count=one.size // _ROW.itemsize, offset=one.offset):
            number = int(row["info"]) >> 32
            same = number < len(symbols) and int(symbols[number]["section"]) == region
            target = int(symbols[number]["value"]) + int(row["addend"]) + _FIELD if same else None
            targets[int(row["offset"])] = target
    return Relocations(targets)
