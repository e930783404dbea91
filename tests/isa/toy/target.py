"""The toy instruction set as a target."""

from __future__ import annotations

from typing import Any

from inference.isa.block_facets import BlockReader
from inference.isa.facets import SchemeCatalogue
from inference.isa.operand_slots import OperandChooser
from inference.isa.target import IsaTarget, facet
from tests.isa.toy import blocks, catalogue, sampling


class ToyTarget(IsaTarget):
    """With blocks, schemes and their operands, and nothing else yet."""

    @facet
    def blocks(self) -> BlockReader:
        return blocks

    @facet
    def schemes(self) -> SchemeCatalogue:
        return catalogue

    @facet
    def operands(self) -> OperandChooser[Any]:
        return sampling


TARGET = ToyTarget(blocks.NAME)
