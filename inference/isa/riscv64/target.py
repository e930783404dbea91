"""The target RISC-V: its facets are modules of this folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

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
    ForeignNames,
    FrontEndMaker,
    LatencyChainMaker,
    LlvmSide,
    SchemeCatalogue,
)
from inference.isa.operand_slots import OperandChooser
from inference.isa.riscv64 import NAME
from inference.isa.target import IsaTarget, facet


class RiscvTarget(IsaTarget):
    plain_load = "ld GPR[64]:W, MEM[64]:R"
    plain_store = "sd GPR[64]:R, MEM[64]:W"

    @facet
    def schemes(self) -> SchemeCatalogue:
        from inference.isa.riscv64 import catalogue  # each facet when it is used

        return catalogue

    @facet
    def blocks(self) -> BlockReader:
        from inference.isa.riscv64.block_reader import READER  # each facet when it is used

        return READER

    @facet
    def accesses(self) -> AccessReader:
        from inference.isa.riscv64.accesses import ACCESSES  # each facet when it is used

        return ACCESSES

    @facet
    def frames(self) -> BlockFramer:
        from inference.isa.riscv64.blocks import FRAMER  # each facet when it is used

        return FRAMER

    @facet
    def front_end(self) -> FrontEndMaker:
        from inference.isa.riscv64 import front_end  # each facet when it is used

        return front_end

    @facet
    def chains(self) -> LatencyChainMaker:
        from inference.isa.riscv64 import chains  # each facet when it is used

        return chains

    @facet
    def bodies(self) -> BodyMaker:
        from inference.isa.riscv64.assembling import BODIES  # each facet when it is used

        return BODIES

    @facet
    def dependent_blocks(self) -> DependentBlockMaker:
        from inference.isa.riscv64.assembling import DEPENDENT_BLOCKS  # each facet when it is used

        return DEPENDENT_BLOCKS

    @facet
    def memory_variants(self) -> MemoryVariantMaker:
        from inference.isa.riscv64.changes import MEMORY_VARIANTS  # each facet when it is used

        return MEMORY_VARIANTS

    @facet
    def tools(self) -> LlvmSide:
        from inference.isa.riscv64 import tools  # each facet when it is used

        return tools

    @facet
    def changes(self) -> BlockChanger:
        from inference.isa.riscv64.changes import CHANGES  # each facet when it is used

        return CHANGES

    @facet
    def operands(self) -> OperandChooser[Any]:
        from inference.isa.riscv64.sampling import SAMPLING  # each facet when it is used

        return SAMPLING

    @facet
    def names(self) -> ForeignNames:
        from inference.isa.riscv64.tools import NAMES  # each facet when it is used

        return NAMES

    @facet
    def learn_extensions(self) -> Mapping[str, Callable[[], LearntDocument]]:
        from inference.isa.riscv64.vector.learning import learn_forms  # each facet when it is used

        return {"V": learn_forms}

    @facet
    def register_groups(self) -> Sequence[Mapping[int, str]]:
        from inference.isa.riscv64.vector.modes import register_groups  # each facet when it is used

        return register_groups()

    @cached_property
    def learn_document(self) -> Callable[[], LearntDocument]:
        from inference.isa.riscv64.learning import learn_document  # each facet when it is used

        return learn_document


TARGET = RiscvTarget(NAME)
