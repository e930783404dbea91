"""Traits of basic blocks that may go with large errors: schemes, accesses to memory, lengths, bounds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from inference.core.arrays import Bools
from inference.core.judging.residual_traits import LENGTHS, Trait, length_range
from inference.isa.blocks import Block, BlockError, block_of_bytes
from inference.isa.blocks.accesses import accesses_of


def traits_of(codes: Sequence[bytes], bounds: Sequence[str]) -> dict[Trait, Bools]:
    """{trait: bool[n], which blocks have it}; `bounds`: the core model's largest ones, "" where unknown."""
    found: dict[Trait, Bools] = defaultdict(lambda: np.zeros(len(codes), dtype=np.bool_))
    for place, (code, bound) in enumerate(zip(codes, bounds, strict=True)):
        for trait in _traits(code):
            found[trait][place] = True
        if bound:
            found[Trait("bound", bound)][place] = True
    return dict(found)


def _traits(code: bytes) -> Iterator[Trait]:
    try:
        block = block_of_bytes(code)
    except BlockError:
        return
    for scheme, _ in block.terms:
        yield Trait("scheme", scheme)
    yield Trait("length", _range(len(block.instructions)))
    for name in _memory(block):
        yield Trait("memory", name)


def _range(length: int) -> str:
    return length_range(*next(ends for ends in LENGTHS if ends[1] is None or length <= ends[1]))


def _memory(block: Block) -> Iterator[str]:
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
