"""An instruction set as the rest of the program sees it: its name and its facets.

`inference.isa.targets` finds the folder of an instruction set by its name; nothing else imports one.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from inference.isa.facets import (
    AccessReader,
    BlockChanger,
    BlockFramer,
    BlockReader,
    BodyMaker,
    DependentBlockMaker,
    ForeignNames,
    FrontEndMaker,
    LatencyChainMaker,
    MemoryVariantMaker,
    SchemeCatalogue,
    SnippetRegisters,
    Textbook,
    ToolSide,
)
from inference.isa.operand_slots import OperandChooser


class _NoSchemes(SchemeCatalogue):
    """The catalogue of an instruction set of which no scheme is described here."""


class _NoTextbook(Textbook):
    """Of cores about which no document is known here."""


class _NoNames(ForeignNames):
    """Of an instruction set that no other tool has names for."""


class IsaTarget:
    """An instruction set by its name, of which nothing else is known; those with a folder override facets."""

    sampling_groups: Collection[str] = ()
    """Kinds of schemes that random blocks have only if asked for (`BlockScheme.obstacle`)."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def blocks(self) -> BlockReader | None:
        """Basic blocks from machine code and text; None where none can be read."""
        return None

    @property
    def accesses(self) -> AccessReader | None:
        """What instructions of blocks read and write; None where that is not known."""
        return None

    @property
    def frames(self) -> BlockFramer | None:
        """What is put around blocks where they are measured; None where none are."""
        return None

    @property
    def front_end(self) -> FrontEndMaker | None:
        """Code that shows what a front end does; None where there is none."""
        return None

    @property
    def chains(self) -> LatencyChainMaker | None:
        """Chains that show latencies; None where there are none."""
        return None

    @property
    def bodies(self) -> BodyMaker | None:
        """Loop bodies of experiments; None where none can be made."""
        return None

    @property
    def tools(self) -> ToolSide | None:
        """What LLVM and the like take; None where they take nothing."""
        return None

    @property
    def snippets(self) -> SnippetRegisters | None:
        """Which registers code uses; None where they are not known."""
        return None

    @property
    def memory_variants(self) -> MemoryVariantMaker | None:
        """Blocks with other addresses; None where addresses cannot be chosen."""
        return None

    @property
    def dependent_blocks(self) -> DependentBlockMaker | None:
        """Blocks whose instructions wait for each other; None where none can be made."""
        return None

    @property
    def changes(self) -> BlockChanger | None:
        """Blocks changed so that they tell why tools disagree; None where they cannot be changed."""
        return None

    @property
    def operands(self) -> OperandChooser[Any] | None:
        """Schemes and operands of sampled blocks; None where no blocks are sampled."""
        return None

    @property
    def schemes(self) -> SchemeCatalogue:
        """The schemes, and which of them stand for what."""
        return _NoSchemes()

    @property
    def textbook(self) -> Textbook:
        """What documents say of cores."""
        return _NoTextbook()

    @property
    def names(self) -> ForeignNames:
        return _NoNames()
