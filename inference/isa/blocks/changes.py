"""Blocks changed so that they tell why tools disagree about them, by their instruction set."""

from __future__ import annotations

from inference.isa.block_changes import ChangedBlock
from inference.isa.code.errors import BlockError
from inference.isa.targets import DEFAULT, target_of


def changed_block(code: bytes, *, executes: bool = False, isa: str = DEFAULT) -> ChangedBlock:
    """A block and its changes. Raises `BlockError` for code that is no basic block.

    `executes`: the changed blocks are executed, so that the stack pointer must stay what it is.
    """
    changer = target_of(isa).changes
    if changer is None:
        raise BlockError(f"blocks of {isa} cannot be changed yet")
    return changer.changed_block(code, executes=executes)
