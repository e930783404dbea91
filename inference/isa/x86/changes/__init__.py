"""Changes of x86-64 blocks that show why tools disagree about them."""

from __future__ import annotations

from inference.isa.x86.changes.changed_block import X86ChangedBlock

__all__ = ["changed_block"]


def changed_block(code: bytes, *, executes: bool = False) -> X86ChangedBlock:
    """The block and its changes. Raises `BlockError` for code that is no basic block."""
    return X86ChangedBlock(code, executes=executes)
