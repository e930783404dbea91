"""Basic blocks beside what is known of them: rows of their schemes, and what port mappings predict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from inference.core.core_model.loop_branch import (
    iteration_terms,
    jump_schemes,
    with_branch_slot,
)
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping as MappingValue
from inference.core.throughput import inverse_throughput
from inference.features.asking.blocks.port_load import FusedPairs
from inference.isa.blocks import Block
from inference.models import ISA, PortMapping
from inference.storage.rows import ids_of_schemes, load_parts

MOST_MAPPINGS = 8
"""Predictions shown of one block, by the newest mappings that describe it."""


@dataclass(frozen=True)
class BlockPrediction:
    """Cycles per iteration that the ports of a mapping allow; dependencies are not seen."""

    mapping: PortMapping
    cycles: float


def scheme_rows(blocks: Sequence[Block], isa: ISA) -> dict[str, int]:
    """{scheme text: row id} of all schemes that occur."""
    return ids_of_schemes(isa.pk, (text for block in blocks for text, _ in block.terms))


def predictions_of(blocks: Sequence[Block], isa: ISA, rows: Mapping[str, int]) -> list[list[BlockPrediction]]:
    """Of each block what the newest mappings say that describe all of its instructions; two queries."""
    jumps = ids_of_schemes(isa.pk, (text for block in blocks for text in jump_schemes(block)))
    known = load_parts(isa, {row: text for text, row in {**rows, **jumps}.items()})
    pairs = FusedPairs()
    return [_predicted(block, known, pairs) for block in blocks]


def _predicted(
    block: Block, known: Sequence[tuple[PortMapping, MappingValue]], pairs: FusedPairs
) -> list[BlockPrediction]:
    if block.unknown or not block.terms:
        return []
    describing = ((row, value) for row, value in known if all(text in value.usage for text, _ in block.terms))
    found = []
    for row, value in islice(describing, MOST_MAPPINGS):
        terms = iteration_terms(block, pairs.branch(block, row, value.usage))
        found.append(BlockPrediction(row, inverse_throughput(with_branch_slot(value), Experiment.of(terms))))
    return found


MOST_BLOCKS = 500
"""In one run: its results travel with its row and its page."""
