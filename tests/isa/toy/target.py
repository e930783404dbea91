"""The toy instruction set as a target."""

from __future__ import annotations

from inference.isa.block_facets import BlockReader
from inference.isa.facets import SchemeCatalogue
from inference.isa.target import IsaTarget
from tests.isa.toy import blocks, catalogue


class ToyTarget(IsaTarget):
    """With blocks and schemes, and nothing else yet."""

    @property
    def blocks(self) -> BlockReader:
        return blocks

    @property
    def schemes(self) -> SchemeCatalogue:
        return catalogue


TARGET = ToyTarget(blocks.NAME)
