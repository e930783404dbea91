"""AArch64 as a target: its facets are modules of this folder."""

from __future__ import annotations

from functools import cached_property

from inference.isa.aarch64 import NAME
from inference.isa.facets import BodyMaker, LatencyChainMaker, SchemeCatalogue, ToolSide
from inference.isa.target import IsaTarget


class Aarch64Target(IsaTarget):
    @cached_property
    def chains(self) -> LatencyChainMaker:
        from inference.isa.aarch64 import latency_chains  # each facet when it is used

        return latency_chains

    @cached_property
    def bodies(self) -> BodyMaker:
        from inference.isa.aarch64 import bodies  # each facet when it is used

        return bodies

    @cached_property
    def tools(self) -> ToolSide:
        """What LLVM and the like take."""
        from inference.isa.aarch64 import tools  # each facet when it is used

        return tools

    @cached_property
    def schemes(self) -> SchemeCatalogue:
        """The schemes, and which of them stand for what."""
        from inference.isa.aarch64 import catalogue  # each facet when it is used

        return catalogue


TARGET = Aarch64Target(NAME)
