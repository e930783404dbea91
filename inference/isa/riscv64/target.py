"""The target RISC-V: its facets are modules of this folder."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from inference.isa.block_facets import BodyMaker
from inference.isa.encodings import LearntDocument
from inference.isa.facets import LatencyChainMaker, SchemeCatalogue
from inference.isa.riscv64 import NAME
from inference.isa.target import IsaTarget


class RiscvTarget(IsaTarget):
    @cached_property
    def schemes(self) -> SchemeCatalogue:
        from inference.isa.riscv64 import catalogue  # each facet when it is used

        return catalogue

    @cached_property
    def chains(self) -> LatencyChainMaker:
        from inference.isa.riscv64 import latency_chains  # each facet when it is used

        return latency_chains

    @cached_property
    def bodies(self) -> BodyMaker:
        from inference.isa.riscv64.assembling import BODIES  # each facet when it is used

        return BODIES

    @cached_property
    def learn_document(self) -> Callable[[], LearntDocument]:
        from inference.isa.riscv64.learning import learn_document  # each facet when it is used

        return learn_document


TARGET = RiscvTarget(NAME)
