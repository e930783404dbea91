"""The loop bodies of experiments, by what their instructions read and write."""

from __future__ import annotations

from collections.abc import Sequence

from inference.isa.dependences import InstructionAccesses
from inference.isa.x86.assembling import unroll
from inference.isa.x86.blocks import block_of_bytes
from inference.isa.x86.dependences import accesses_of


def body_accesses(terms: Sequence[tuple[str, int]]) -> tuple[tuple[InstructionAccesses, ...], int]:
    """The instructions of the body that is measured for an experiment, and how many copies of it they are.

    Raises `inference.isa.unrolling.CannotMeasureError`.
    """
    code = unroll(terms)
    return accesses_of(block_of_bytes(code.code), alike=True), code.copies
