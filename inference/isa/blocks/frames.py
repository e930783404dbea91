"""What is put around blocks where they are measured, by the block's instruction set."""

from __future__ import annotations

from collections.abc import Collection

from inference.isa.block_facets import BlockFramer
from inference.isa.code.block import Block
from inference.isa.code.errors import BlockError
from inference.isa.code.iteration import Iteration
from inference.isa.targets import target_of


def _framer(block: Block) -> BlockFramer:
    framer = target_of(block.isa).frames
    if framer is None:
        raise BlockError(f"blocks of {block.isa} cannot be measured yet")
    return framer


def iteration_of(block: Block) -> Iteration:
    """The block once; that of a loop is as long as some lines of the instruction cache."""
    return _framer(block).iteration_of(block)


def wants_avx(block: Block, flags: Collection[str] | None) -> bool:
    """Whether vector registers start 256 bits wide; `flags`: the CPU's, None where they are not known."""
    return _framer(block).wants_avx(block, flags)


def mask_bits(block: Block, flags: Collection[str] | None) -> int:
    """Of the mask registers, where the block has and the CPU knows some, else 0."""
    return _framer(block).mask_bits(block, flags)


def filled_fpu(block: Block) -> str:
    """Whose registers a block finds filled: "x87", "mmx", or "" for neither."""
    return _framer(block).filled_fpu(block)
