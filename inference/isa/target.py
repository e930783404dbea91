"""An instruction set as seen by the rest of the program: its name and its facets.

Only `inference.isa.targets` imports the folder of an instruction set, by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar, cast

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

FacetT = TypeVar("FacetT")


def facet(load: Callable[[Any], FacetT]) -> FacetT:
    """A facet that is imported on its first use; for readers of types an attribute like any other."""
    return cast("FacetT", cached_property(load))


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

    blocks: BlockReader | None = None
    """Basic blocks from machine code and text; None where none can be decoded."""

    accesses: AccessReader | None = None
    """Reads and writes of blocks' instructions; None where unknown."""

    frames: BlockFramer | None = None
    """Preparation of blocks for measurements; None where they cannot be measured."""

    front_end: FrontEndMaker | None = None
    """Code that shows a front end; None without."""

    chains: LatencyChainMaker | None = None
    """Chains that show latencies; None where none can be made."""

    bodies: BodyMaker | None = None
    """Loop bodies of experiments; None where none can be made."""

    tools: LlvmSide | None = None
    """The side of LLVM and similar tools; None without."""

    learn_extensions: Mapping[str, Callable[[], LearntDocument]] = {}
    """The same of documents of extensions, by their names."""

    snippets: SnippetRegisters | None = None
    """Registers that code uses; None where unknown."""

    memory_variants: MemoryVariantMaker | None = None
    """Blocks with other addresses; None where addresses cannot be chosen."""

    dependent_blocks: DependentBlockMaker | None = None
    """Blocks of dependent instructions; None where none can be made."""

    changes: BlockChanger | None = None
    """Changes of blocks that show why tools disagree; None where blocks cannot be changed."""

    operands: OperandChooser[Any] | None = None
    """Schemes and operands of sampled blocks; None where no blocks are sampled."""

    register_groups: Sequence[Mapping[int, str]] = ()
    """{number of registers in a group: scheme} of each instruction that has several such schemes."""

    schemes: SchemeCatalogue = _NoSchemes()
    """The schemes, and which of them replace others."""

    textbook: Textbook = _NoTextbook()
    """Documented throughputs and latencies of cores, by name."""

    names: ForeignNames = _NoNames()

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def learn_document(self) -> Callable[[], LearntDocument] | None:
        """Learns the encodings of the document from an assembler; None where it has none."""
        return None
