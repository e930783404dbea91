"""x86-64 as a target: its facets are modules of this folder."""

from __future__ import annotations

from functools import cached_property

from inference.isa.target import BlockReader, IsaTarget
from inference.isa.x86.facts import NAME


class X86Target(IsaTarget):
    """x86-64, decoded by iced-x86."""

    @cached_property
    def blocks(self) -> BlockReader:
        """Basic blocks."""
        from inference.isa.x86 import blocks  # each facet when it is used

        return blocks


TARGET = X86Target(NAME)
