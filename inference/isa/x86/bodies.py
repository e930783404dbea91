"""The loop bodies of experiments, by what their instructions read and write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inference.isa.dependences import InstructionAccesses
from inference.isa.unrolling import LoopSize
from inference.isa.x86.assembling import unroll
from inference.isa.x86.blocks import block_of_bytes
from inference.isa.x86.dependences import accesses_of
from inference.isa.x86.surroundings import DEFAULTS, Options


@dataclass(frozen=True, slots=True)
class BodyAccesses:
    """The `instructions` of a loop body of `size` bytes, which has so many `copies` of an experiment."""

    instructions: tuple[InstructionAccesses, ...]
    copies: int
    size: int


def loop_body(terms: Sequence[tuple[str, int]], options: Options = DEFAULTS) -> BodyAccesses:
    """The body that is measured for an experiment with these options.

    Raises `inference.isa.unrolling.CannotMeasureError`.
    """
    code = unroll(terms, **options.of_bodies)
    instructions = accesses_of(block_of_bytes(code.code), alike=True)
    return BodyAccesses(instructions, code.copies, len(code.code))


def loop_size(terms: Sequence[tuple[str, int]], options: Options = DEFAULTS) -> LoopSize:
    """How large the body is that is measured for an experiment; much quicker than what it reads and writes.

    Raises `inference.isa.unrolling.CannotMeasureError`.
    """
    code = unroll(terms, **options.of_bodies)
    return LoopSize(code.copies * sum(count for _, count in terms), len(code.code), code.copies)


def body_accesses(
    terms: Sequence[tuple[str, int]], options: Options = DEFAULTS
) -> tuple[tuple[InstructionAccesses, ...], int]:
    """The instructions of the body that is measured for an experiment, and how many copies of it they are.

    Raises `inference.isa.unrolling.CannotMeasureError`.
    """
    body = loop_body(terms, options)
    return body.instructions, body.copies
