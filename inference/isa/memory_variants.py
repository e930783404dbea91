"""A block with other addresses, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

APART = 128
"""Bytes between two offsets: more than any operand has, and another cache line."""


class Memory(StrEnum):
    """How the addresses of a variant relate to each other."""

    SAME = "same address"
    OFFSET = "other offset"
    BASE = "other base"


@dataclass(frozen=True)
class Variants:
    """The machine code of each variant; `twice`: the block accesses memory once, and so stands there twice.

    `untouched`: how many operands in memory keep their address, since they cannot have a free one.
    """

    code: dict[Memory, bytes]
    twice: bool
    untouched: int
