"""The target AArch64: its facets are modules of this folder."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from inference.isa.aarch64 import NAME
from inference.isa.block_facets import (
    AccessReader,
    BlockChanger,
    BlockFramer,
    BlockReader,
    BodyMaker,
    DependentBlockMaker,
    MemoryVariantMaker,
)
from inference.isa.encodings import LearntDocument
from inference.isa.facets import (
    FrontEndMaker,
    LatencyChainMaker,
    LlvmSide,
    SchemeCatalogue,
)
from inference.isa.operand_slots import OperandChooser
from inference.isa.target import IsaTarget, facet


class Aarch64Target(IsaTarget):
    plain_load = "ldr GPR[64]:W, MEM[64]:R"
    plain_store = "str GPR[64]:R, MEM[64]:W"

    @facet
    def blocks(self) -> BlockReader:
        from inference.isa.aarch64.block_reader import READER  # each facet when it is used

        return READER

    @facet
    def accesses(self) -> AccessReader:
        from inference.isa.aarch64.accesses import ACCESSES  # each facet when it is used

        return ACCESSES

    @facet
    def frames(self) -> BlockFramer:
        from inference.isa.aarch64 import block_frame  # each facet when it is used

        return block_frame.FRAMER

    @facet
    def front_end(self) -> FrontEndMaker:
        from inference.isa.aarch64 import front_end  # each facet when it is used

        return front_end

    @facet
    def chains(self) -> LatencyChainMaker:
        from inference.isa.aarch64 import latency_chains  # each facet when it is used

        return latency_chains

    @facet
    def bodies(self) -> BodyMaker:
        from inference.isa.aarch64 import assembling  # each facet when it is used

        return assembling.BODIES

    @facet
    def dependent_blocks(self) -> DependentBlockMaker:
        from inference.isa.aarch64 import assembling  # each facet when it is used

        return assembling.DEPENDENT_BLOCKS

    @facet
    def tools(self) -> LlvmSide:
        from inference.isa.aarch64 import tools  # each facet when it is used

        return tools

    @facet
    def memory_variants(self) -> MemoryVariantMaker:
        from inference.isa.aarch64 import changes  # each facet when it is used

        return changes.MEMORY_VARIANTS

    @facet
    def changes(self) -> BlockChanger:
        from inference.isa.aarch64.changes import CHANGES  # each facet when it is used

        return CHANGES

    @facet
    def operands(self) -> OperandChooser[Any]:
        from inference.isa.aarch64.sampling import SAMPLING  # each facet when it is used

        return SAMPLING

    @facet
    def schemes(self) -> SchemeCatalogue:
        from inference.isa.aarch64 import catalogue  # each facet when it is used

        return catalogue

    @cached_property
    def learn_document(self) -> Callable[[], LearntDocument]:
        from inference.isa.aarch64.learning import learn_document  # each facet when it is used

        return learn_document


TARGET = Aarch64Target(NAME)
