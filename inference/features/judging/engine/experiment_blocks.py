"""Experiments as basic blocks without dependencies, for tools that know nothing but code (thesis §5.2.2).

A block is some copies of the experiment with the operands that measuring gives them (Algorithm 3.1), enough
instructions that none has to wait for another. What a tool says of it is divided by the number of copies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from inference.core.arrays import Int64s
from inference.core.tables import ExperimentTable
from inference.isa.bodies import body_maker
from inference.isa.machine_bodies import CannotMeasureError
from inference.isa.targets import DEFAULT

INSTRUCTIONS = 10
"""Minimum instructions per block (thesis §5.2.2)."""


@dataclass(frozen=True)
class ExperimentBlock:
    """The code of one experiment, `copies` times; or, with no code, why there is none."""

    code: bytes
    copies: int
    obstacle: str = ""


def block_of(terms: list[tuple[str, int]], instructions: int = INSTRUCTIONS) -> ExperimentBlock:
    """The block of an experiment of x86-64; `terms` are (scheme text, multiplicity) pairs."""
    try:
        body = body_maker(DEFAULT).unroll(terms, instructions)
    except CannotMeasureError as error:
        return ExperimentBlock(b"", 0, str(error))
    return ExperimentBlock(body.code, body.copies)


def blocks_of(
    table: ExperimentTable, at: Int64s, instructions: int = INSTRUCTIONS
) -> Iterator[ExperimentBlock]:
    """The blocks of the experiments `at` of a table, in that order, as they are made."""
    for number in at.tolist():
        entries = slice(int(table.offsets[number]), int(table.offsets[number + 1]))
        schemes = [table.schemes[scheme] for scheme in table.scheme[entries].tolist()]
        yield block_of(list(zip(schemes, table.count[entries].tolist(), strict=True)), instructions)
