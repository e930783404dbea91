"""The target x86-64: its facets are modules of this folder."""

from __future__ import annotations

from typing import Any

from inference.isa.block_facets import (
    AccessReader,
    BlockChanger,
    BlockFramer,
    BlockReader,
    BodyMaker,
    DependentBlockMaker,
    MemoryVariantMaker,
    SnippetRegisters,
)
from inference.isa.facets import (
    ForeignNames,
    FrontEndMaker,
    LatencyChainMaker,
    LlvmSide,
    SchemeCatalogue,
    Textbook,
)
from inference.isa.operand_slots import OperandChooser
from inference.isa.target import IsaTarget, facet
from inference.isa.x86.isa_name import NAME


class X86Target(IsaTarget):
    """x86-64: each facet is imported when it is first used, as most processes need few of them."""

    sampling_groups = ("avx512", "gather", "legacy-sse", "mmx", "rep", "system", "x87")
    plain_load = "mov GPR[64]:W, MEM[64]:R"
    plain_store = "mov MEM[64]:W, GPR[64]:R"

    @facet
    def blocks(self) -> BlockReader:
        from inference.isa.x86 import blocks  # each facet when it is used

        return blocks

    @facet
    def accesses(self) -> AccessReader:
        from inference.isa.x86 import accesses  # each facet when it is used

        return accesses

    @facet
    def frames(self) -> BlockFramer:
        from inference.isa.x86 import block_frame  # each facet when it is used

        return block_frame

    @facet
    def front_end(self) -> FrontEndMaker:
        from inference.isa.x86 import front_end  # each facet when it is used

        return front_end

    @facet
    def chains(self) -> LatencyChainMaker:
        from inference.isa.x86 import latency_chains  # each facet when it is used

        return latency_chains

    @facet
    def bodies(self) -> BodyMaker:
        from inference.isa.x86 import bodies  # each facet when it is used

        return bodies

    @facet
    def tools(self) -> LlvmSide:
        from inference.isa.x86 import tools  # each facet when it is used

        return tools

    @facet
    def snippets(self) -> SnippetRegisters:
        from inference.isa.x86 import snippets  # each facet when it is used

        return snippets

    @facet
    def memory_variants(self) -> MemoryVariantMaker:
        from inference.isa.x86 import memory_variants  # each facet when it is used

        return memory_variants

    @facet
    def dependent_blocks(self) -> DependentBlockMaker:
        from inference.isa.x86 import dependent_blocks  # each facet when it is used

        return dependent_blocks

    @facet
    def changes(self) -> BlockChanger:
        from inference.isa.x86 import changes  # each facet when it is used

        return changes

    @facet
    def operands(self) -> OperandChooser[Any]:
        from inference.isa.x86 import sampling  # each facet when it is used

        return sampling

    @facet
    def schemes(self) -> SchemeCatalogue:
        from inference.isa.x86 import catalogue  # each facet when it is used

        return catalogue

    @facet
    def textbook(self) -> Textbook:
        from inference.isa.x86 import textbook_facet  # each facet when it is used

        return textbook_facet

    @facet
    def names(self) -> ForeignNames:
        from inference.isa.x86 import naming  # each facet when it is used

        return naming


TARGET = X86Target(NAME)
