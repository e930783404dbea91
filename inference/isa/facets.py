"""The facets of an instruction set: what its folder offers, each a protocol.

A facet is a module of the folder, or an object, with these functions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple, Protocol

from inference.agent.protocol import Frame
from inference.isa.block_changes import ChangedBlock, Variants
from inference.isa.chains import (
    ChainLink,
    ChainMixer,
    DependencyChain,
    IdiomChains,
    Latency,
    MemoryChain,
    PairChains,
)
from inference.isa.code.block import Block, BlockInstruction, Iteration
from inference.isa.code.pieces import CodeReader
from inference.isa.dependences import InstructionAccesses
from inference.isa.front_end import FetchedInstruction, FrontEndCode
from inference.isa.machine_bodies import (
    Around,
    BodyAccesses,
    Kind,
    LoopBody,
    LoopSize,
    MachineBodies,
    Options,
)
from inference.isa.microarchitecture import Microarchitecture
from inference.isa.scheme import Operand, Scheme
from inference.isa.start_values import BlockReads


@dataclass(frozen=True, slots=True)
class SearchMeaning:
    """All schemes of some mnemonics, and the texts of particular schemes; false for what is no name."""

    mnemonics: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.mnemonics or self.texts)


NOTHING = SearchMeaning()


@dataclass(frozen=True, slots=True)
class WrittenScheme:
    """How a scheme is written: `mnemonic`, the same with the letter for its width, and operands in order.

    `movzx` is `movzbl` and the like here; only where the assembler can do without it is a letter left out.
    """

    mnemonic: str
    suffixed: str
    operands: tuple[Operand, ...]


class UsedRegister(NamedTuple):
    """As wide as it is used; `bank`: "general", "vector", "mask", "mmx", or "" for any other."""

    name: str
    bank: str
    bits: int


class SchemeCatalogue(Protocol):
    """The schemes of the instruction set, and which of them stand for what."""

    def schemes(self) -> Sequence[Scheme]:
        """All of them; takes seconds."""
        return ()

    def scheme_of(self, text: str) -> Scheme | None:
        """The scheme of a text, None where there is none."""
        return None

    def source(self) -> str:
        """Where the schemes come from; it ends with their `version`."""
        return ""

    def version(self) -> str:
        """Another text whenever the schemes may have changed; quick to know."""
        return ""

    def flag(self, extension: str) -> str:
        """The flag in /proc/cpuinfo that announces an extension, "" for what every processor has."""
        return extension.lower()

    def missing_feature(self, scheme: Scheme, flags: Collection[str]) -> str:
        """What the scheme needs and a CPU with these flags has not, in words; "" where nothing is missing."""
        return ""

    def core_of(self, facts: Mapping[str, Any]) -> Microarchitecture | None:
        """What is documented about the core whose agent tells these facts, None where it is not known."""
        return None

    @property
    def probes(self) -> Collection[str]:
        """One or two schemes for each kind of execution unit, all of one µop."""
        return ()

    @property
    def divisions(self) -> Collection[str]:
        """What a starter set of latencies has beside that of throughputs."""
        return ()

    @property
    def preferred(self) -> Sequence[str]:
        """The schemes that explained µops are shown by, the best first."""
        return ()

    @property
    def work_of_others(self) -> Mapping[str, tuple[str, ...]]:
        """{scheme that cannot be measured itself: those that together need the same ports and slots}."""
        return {}

    def same_work(self, text: str) -> tuple[str, ...]:
        """The same of those and of what is excluded as legacy."""
        return (text,)


class Textbook(Protocol):
    """What documents say of cores, by the names of these; nothing of cores that they do not know."""

    def known_cpi(self, name: str) -> Mapping[str, tuple[float, str]]:
        """{scheme: (cycles per instruction, source)} of a core."""
        return {}

    def beyond_ports(self, scheme: Scheme, ports: Collection[str]) -> str:
        """Why documented usages of these ports do not tell the scheme's time, "" where they do."""
        return ""

    def known_latencies(self, core: str) -> Mapping[ChainLink, Latency]:
        """What is documented of the latencies of a core."""
        return {}

    def latency_source(self, core: str) -> str:
        return ""


class ForeignNames(Protocol):
    def meaning_of(self, word: str) -> SearchMeaning:
        """What a word of a search means as a name; false for what is no name."""
        return NOTHING

    def is_avx512(self, word: str) -> bool:
        """Whether a word names schemes of AVX-512, which searches leave out else, and nothing else."""
        return False

    def mnemonics_named(self, word: str) -> frozenset[str]:
        """Our mnemonics of what a word means, whatever it says of operands."""
        return frozenset()


class FrontEndMaker(Protocol):
    """Code that shows what a front end does."""

    def front_end_codes(self, *, offsets: bool) -> tuple[FrontEndCode, ...]:
        """All of them; `offsets`: also loops that begin elsewhere than at a cache line."""

    def fetched(self, code: bytes) -> Sequence[FetchedInstruction]:
        """The instructions of machine code as a front end sees them."""


class LatencyChainMaker(Protocol):
    def links_of(self, text: str) -> tuple[ChainLink, ...]:
        """The pairs of source and destination operands of a scheme; () for one that there is not."""

    def connectors(self) -> tuple[ChainLink, ...]:
        """The links that close chains within a class of registers: their own latencies come first."""

    def chains_of_pairs(self, links: Iterable[ChainLink]) -> list[PairChains]:
        """The chains for each, in their order. Raises `AssemblerError` where the assembler is not there."""

    def idioms_of(self, text: str) -> tuple[IdiomChains, ...]:
        """What shows whether a scheme is an idiom for some choice of operands."""

    def plain_additions(self) -> DependencyChain | None:
        """Ordinary instructions that wait for nothing, which idioms are held against."""

    def memory_chains(self) -> tuple[MemoryChain, ...]: ...

    def mixer(self) -> ChainMixer | None:
        """Makes the chains that show bypasses."""

    def frame(self) -> Frame | None:
        """The registers and memory that chains rely on; None where they are measured as blocks are."""


class BodyMaker(Protocol):
    """Loop bodies of experiments. All raise `CannotMeasureError`."""

    @property
    def needs_assembler(self) -> bool:
        """Whether llvm-mc makes the code."""

    @property
    def padding(self) -> tuple[str, ...]:
        """Schemes that issue slots are counted with, beside what is counted."""

    def unroll(
        self, terms: Sequence[tuple[str, int]], instructions: int = ..., *, breaking: bool = False
    ) -> LoopBody:
        """The usual body of an experiment; `breaking`: see `inference.isa.machine_bodies.Options`."""

    def unroll_in_order(self, order: Sequence[str]) -> LoopBody:
        """The body in whose copies the schemes stand in this order."""

    def breakers_of(self, scheme: str) -> Sequence[Kind]:
        """Kinds of instructions that stand before each copy of a scheme to break its dependencies."""

    def around(self, avx: bool) -> Around:
        """What usual bodies need around them; `avx`: VEX-encoded instructions are among them."""

    def machine_bodies(
        self, schemes: Collection[str], flags: frozenset[str] | None, options: Options
    ) -> MachineBodies:
        """What makes the bodies of these schemes for a CPU with these flags, None where none are known."""


class ToolSide(Protocol):
    """What LLVM, and the tools that use its syntax, take of an instruction set."""

    @property
    def triple(self) -> str:
        """LLVM's name of the instruction set."""

    @property
    def cpu(self) -> str:
        """LLVM's name of a processor."""

    @property
    def features(self) -> str:
        """What that processor has besides, "" for nothing."""

    @property
    def models(self) -> str:
        """The folder of LLVM's sources with models of its cores, "" where these cannot be read here."""

    def instances(self, texts: Iterable[str]) -> dict[str, bytes]:
        """{scheme text: machine code of one instance}, of those of which there is one."""

    def register_probes(self) -> dict[str, bytes]:
        """{register as LLVM calls it: an instruction whose first operand it is}, where releases differ.

        Older ones print numbers of their own.
        """

    def written(self, text: str) -> WrittenScheme | None:
        """A scheme as the GNU assembler writes it, None where it does not differ or there is none."""

    def listed(self, code: bytes) -> list[str]:
        """Machine code as lines that the GNU assembler takes."""


class BlockReader(CodeReader, Protocol):
    """Basic blocks from machine code and text, and as text again. All raise `BlockError`."""

    GENERAL: list[str]
    """General-purpose registers in the order of their numbers."""

    ASSEMBLY: str
    """Who writes the texts, for the identity of answers that depend on them."""

    def body_of(self, code: bytes) -> bytes:
        """Machine code without the jump that closes a loop; other bytes as they are."""

    def mnemonics_of(self, code: bytes) -> tuple[str, ...]:
        """The mnemonic of each instruction; many times faster than describing them."""

    def schemes_of_bytes(self, code: bytes) -> tuple[str | None, ...]:
        """The scheme of each instruction but the jump that closes a loop, None for one of no scheme."""

    def intel_of_bytes(self, code: bytes) -> tuple[str, ...]:
        """The instructions as people read them."""

    def att_of_bytes(self, code: bytes) -> tuple[str, ...]:
        """The instructions as the GNU assembler takes them: it makes the very same bytes of them."""

    def plain_att_of_bytes(self, code: bytes) -> tuple[str, ...]:
        """The same for tools that know instructions alone: other bytes may be made of some."""

    def in_loop(self, code: bytes) -> bytes:
        """A loop as it is; another block with a counter and a jump behind it."""

    def between_markers(self, code: bytes) -> bytes:
        """The block between the marks by which analysers find it in a program."""

    def object_file(self, code: bytes, name: str = "block") -> bytes:
        """A relocatable file with the code as a global function of this name."""


class AccessReader(Protocol):
    """What instructions of blocks read, write and become together."""

    def accesses_of(self, block: Block, *, alike: bool = False) -> tuple[InstructionAccesses, ...]:
        """See `inference.isa.blocks`, also for the others."""

    def reads_of(self, codes: Iterable[bytes]) -> BlockReads:
        """What a block, given by the code of each instruction, reads of what it starts with."""

    def pairs_of(self, block: Block) -> tuple[str, ...]:
        """What may become one instruction."""

    def moves_of(self, block: Block) -> tuple[str, ...]:
        """Register moves that may become one with what updates their copies."""

    def stores_of(self, one: BlockInstruction) -> int:
        """How often an instruction stores."""

    def shifts_by_nothing(self, block: Block, registers: Mapping[str, int]) -> int:
        """Shifts by a register that move no bits."""

    def loop_body(self, terms: Sequence[tuple[str, int]], options: Options = ...) -> BodyAccesses:
        """The body that is measured for an experiment with these options. Raises `CannotMeasureError`."""

    def loop_size(self, terms: Sequence[tuple[str, int]], options: Options = ...) -> LoopSize:
        """How large that is; much quicker than what it reads and writes."""

    def name_of_location(self, location: str) -> str:
        """What people call a location."""


class BlockFramer(Protocol):
    """What is put around blocks where they are measured; see `inference.isa.blocks`."""

    def iteration_of(self, block: Block) -> Iteration:
        """The block once, closed as it is measured."""

    def wants_avx(self, block: Block, flags: Collection[str] | None) -> bool:
        """Whether vector registers start 256 bits wide."""

    def mask_bits(self, block: Block, flags: Collection[str] | None) -> int: ...

    def filled_fpu(self, block: Block) -> str:
        """Whose registers a block finds filled."""


class SnippetRegisters(Protocol):
    """Which registers code uses: what a snippet that runs by itself has to set up."""

    def bases(self, code: bytes) -> frozenset[str]:
        """The registers that the code addresses memory by."""

    def indices(self, code: bytes) -> frozenset[str]:
        """The registers that are added to those."""

    def used_registers(self, code: bytes, *, wide: bool) -> list[UsedRegister]:
        """The registers that the code reads or writes; `wide`: vectors in their full width."""

    def snippet_frame(self, schemes: Sequence[str]) -> Frame:
        """What the harness puts around code of these schemes."""


class DependentBlockMaker(Protocol):
    """Makes short blocks whose instructions wait for each other."""

    def dependent_block(self, schemes: Sequence[str], dice: Random) -> bytes:
        """Machine code of the schemes in this order, with registers of a few that the dice draw.

        Equal dice give equal code. Raises `CannotMeasureError`.
        """


class MemoryVariantMaker(Protocol):
    def variants(self, code: bytes) -> Variants:
        """The block with the same address, other offsets, other bases. Raises `BlockError`."""


class BlockChanger(Protocol):
    """Blocks changed so that they tell why tools disagree about them."""

    def changed_block(self, code: bytes, *, executes: bool = False) -> ChangedBlock: ...
