"""Loops: which predictors are asked about the jump that closes them."""

from __future__ import annotations

from inference.isa.blocks import BlockName, block_of_bytes, body_of, iteration_of
from inference.predictors import core_model, machine, mapping
from inference.predictors.kinds import KINDS

WITH_JUMP, WITHOUT_JUMP = "asked with the jump that closes it", "asked without the jump that closes it"


_STORED = (core_model.KIND, mapping.KIND)
"""Kinds of the database that count the jump."""


def asked_as(kind: str, name: BlockName) -> str:
    """How a predictor of this kind is asked about a loop, in words; "" for a block that is none."""
    if body_of(name.code, name.isa) == name.code:
        return ""
    if kind == machine.KIND:
        return iteration_of(block_of_bytes(name.code, name.isa)).words
    takes_jumps = kind in _STORED or (kind in KINDS and KINDS[kind].takes_jumps)
    return WITH_JUMP if takes_jumps else WITHOUT_JUMP
