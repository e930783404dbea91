"""An instruction set as seen by the rest of the program: its name and its facets.

Only `inference.isa.targets` imports the folder of an instruction set, by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
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
from inference.isa.encodings import LearntDocument
from inference.isa.facets import (
    ForeignNames,
    FrontEndMaker,
    LatencyChainMaker,
    LlvmSide,
    SchemeCatalogue,
    Textbook,
)
from inference.isa.operand_slots import OperandChooser


class _NoSchemes(SchemeCatalogue):
    """The catalogue of an instruction set without schemes here."""


class _NoTextbook(Textbook):
    """The textbook of an instruction set without documented cores."""


class _NoNames(ForeignNames):
    """No names in other tools."""


class IsaTarget:
    """An instruction set that is known by its name only; subclasses override facets."""

    sampling_groups: Collection[str] = ()
    """Kinds of schemes that random blocks contain only on request (`BlockScheme.obstacle`)."""

    plain_load: str = ""
    """The scheme of one µop that stands for every load; "" without."""

    plain_store: str = ""
    """The scheme that stands for every store; "" without."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def blocks(self) -> BlockReader | None:
        """Basic blocks from machine code and text; None where none can be decoded."""
        return None

    @property
    def accesses(self) -> AccessReader | None:
        """Reads and writes of blocks' instructions; None where unknown."""
        return None

    @property
    def frames(self) -> BlockFramer | None:
        """Preparation of blocks for measurements; None where they cannot be measured."""
        return None

    @property
    def front_end(self) -> FrontEndMaker | None:
        """Code that shows a front end; None without."""
        return None

    @property
    def chains(self) -> LatencyChainMaker | None:
        """Chains that show latencies; None where none can be made."""
        return None

    @property
    def bodies(self) -> BodyMaker | None:
        """Loop bodies of experiments; None where none can be made."""
        return None

    @property
    def tools(self) -> LlvmSide | None:
        """The side of LLVM and similar tools; None without."""
        return None

    @property
    def learn_document(self) -> Callable[[], LearntDocument] | None:
        """Learns the encodings of the document from an assembler; None where it has none."""
        return None

    @property
    def learn_extensions(self) -> Mapping[str, Callable[[], LearntDocument]]:
        """The same of documents of extensions, by their names."""
        return {}

    @property
    def snippets(self) -> SnippetRegisters | None:
        """Registers that code uses; None where unknown."""
        return None

    @property
    def memory_variants(self) -> MemoryVariantMaker | None:
        """Blocks with other addresses; None where addresses cannot be chosen."""
        return None

    @property
    def dependent_blocks(self) -> DependentBlockMaker | None:
        """Blocks of dependent instructions; None where none can be made."""
        return None

    @property
    def changes(self) -> BlockChanger | None:
        """Changes of blocks that show why tools disagree; None where blocks cannot be changed."""
        return None

    @property
    def operands(self) -> OperandChooser[Any] | None:
        """Schemes and operands of sampled blocks; None where no blocks are sampled."""
        return None

    @property
    def register_groups(self) -> Sequence[Mapping[int, str]]:
        """{number of registers in a group: scheme} of each instruction that has several such schemes."""
        return ()

    @property
    def schemes(self) -> SchemeCatalogue:
        """The schemes, and which of them replace others."""
        return _NoSchemes()

    @property
    def textbook(self) -> Textbook:
        """Documented throughputs and latencies of cores, by name."""
        return _NoTextbook()

    @property
    def names(self) -> ForeignNames:
        return _NoNames()
