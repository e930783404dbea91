"""Traits of basic blocks that are in no table of schemes: how they get at memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from inference.core.arrays import Bools
from inference.core.judging.residual_traits import Trait
from inference.isa.blocks import Block, BlockError, accesses_of, block_of_bytes


def memory_traits(codes: Sequence[bytes], isa: str) -> dict[Trait, Bools]:
    """{trait: bool[n], which blocks have it}."""
    traits: dict[Trait, Bools] = defaultdict(lambda: np.zeros(len(codes), dtype=np.bool_))
    for place, code in enumerate(codes):
        try:
            block = block_of_bytes(code, isa)
        except BlockError:
            continue
        for name in _accesses(block):
            traits[Trait("memory", name)][place] = True
    return dict(traits)


def _accesses(block: Block) -> Iterator[str]:
    """Registers start alike, as machines have it: different bases lead to one place."""
    instructions = accesses_of(block, alike=True)
    loaded = [one.memory for each in instructions for one in each.reads if one.memory is not None]
    stored = [one.memory for each in instructions for one in each.writes if one.memory is not None]
    if loaded:
        yield "loads"
    if stored:
        yield "stores"
    if not loaded and not stored:
        yield "no access to memory"
    if any(one.overlaps(other) for one in stored for other in loaded):
        yield "loads what it has stored"
