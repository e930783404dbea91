"""The facets of an instruction set: what its folder offers, each a protocol.

A facet is a module of the folder, or an object, with these functions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

from inference.agent.protocol import Frame
from inference.isa.body_options import Options
from inference.isa.breakers import Kind
from inference.isa.chains import (
    ChainLink,
    ChainMixer,
    DependencyChain,
    IdiomChains,
    Latency,
    MemoryChain,
    PairChains,
)
from inference.isa.front_end import FetchedInstruction, FrontEndCode
from inference.isa.machine_bodies import Around, LoopBody, MachineBodies
from inference.isa.microarchitecture import Microarchitecture
from inference.isa.scheme import Scheme
from inference.isa.search_meaning import SearchMeaning
from inference.isa.written_scheme import WrittenScheme


class SchemeCatalogue(Protocol):
    """The schemes of the instruction set, and which of them stand for what."""

    def schemes(self) -> Sequence[Scheme]:
        """All of them; takes seconds."""
        ...

    def scheme_of(self, text: str) -> Scheme | None:
        """The scheme of a text, None where there is none."""
        ...

    def source(self) -> str:
        """Where the schemes come from; it ends with their `version`."""
        ...

    def version(self) -> str:
        """Another text whenever the schemes may have changed; quick to know."""
        ...

    def flag(self, extension: str) -> str:
        """The flag in /proc/cpuinfo that announces an extension, "" for what every processor has."""
        ...

    def missing_feature(self, scheme: Scheme, flags: Collection[str]) -> str:
        """What the scheme needs and a CPU with these flags has not, in words; "" where nothing is missing."""
        ...

    def core_of(self, facts: Mapping[str, Any]) -> Microarchitecture | None:
        """What is documented about the core whose agent tells these facts, None where it is not known."""
        ...

    @property
    def probes(self) -> Collection[str]:
        """One or two schemes for each kind of execution unit, all of one µop."""
        ...

    @property
    def divisions(self) -> Collection[str]:
        """What a starter set of latencies has beside that of throughputs."""
        ...

    @property
    def preferred(self) -> Sequence[str]:
        """The schemes that explained µops are shown by, the best first."""
        ...

    @property
    def work_of_others(self) -> Mapping[str, tuple[str, ...]]:
        """{scheme that cannot be measured itself: those that together need the same ports and slots}."""
        ...

    def same_work(self, text: str) -> tuple[str, ...]:
        """The same of those and of what is excluded as legacy."""
        ...


class Textbook(Protocol):
    """What documents say of cores, by the names of these; nothing of cores that they do not know."""

    def known_cpi(self, name: str) -> Mapping[str, tuple[float, str]]:
        """{scheme: (cycles per instruction, source)} of a core."""
        ...

    def beyond_ports(self, scheme: Scheme, ports: Collection[str]) -> str:
        """Why documented usages of these ports do not tell the scheme's time, "" where they do."""
        ...

    def known_latencies(self, core: str) -> Mapping[ChainLink, Latency]:
        """What is documented of the latencies of a core."""
        ...

    def latency_source(self, core: str) -> str: ...


class ForeignNames(Protocol):
    def meaning_of(self, word: str) -> SearchMeaning:
        """What a word of a search means as a name; false for what is no name."""
        ...

    def is_avx512(self, word: str) -> bool:
        """Whether a word names schemes of AVX-512, which searches leave out else, and nothing else."""
        ...

    def mnemonics_named(self, word: str) -> frozenset[str]:
        """Our mnemonics of what a word means, whatever it says of operands."""
        ...


class FrontEndMaker(Protocol):
    """Code that shows what a front end does."""

    def front_end_codes(self, *, offsets: bool) -> tuple[FrontEndCode, ...]:
        """All of them; `offsets`: also loops that begin elsewhere than at a cache line."""
        ...

    def fetched(self, code: bytes) -> Sequence[FetchedInstruction]:
        """The instructions of machine code as a front end sees them."""
        ...


class LatencyChainMaker(Protocol):
    def links_of(self, text: str) -> tuple[ChainLink, ...]:
        """The pairs of source and destination operands of a scheme; () for one that there is not."""
        ...

    def connectors(self) -> tuple[ChainLink, ...]:
        """The links that close chains within a class of registers: their own latencies come first."""
        ...

    def chains_of_pairs(self, links: Iterable[ChainLink]) -> list[PairChains]:
        """The chains for each, in their order. Raises `AssemblerError` where the assembler is not there."""
        ...

    def idioms_of(self, text: str) -> tuple[IdiomChains, ...]:
        """What shows whether a scheme is an idiom for some choice of operands."""
        ...

    def plain_additions(self) -> DependencyChain | None:
        """Ordinary instructions that wait for nothing, which idioms are held against."""
        ...

    def memory_chains(self) -> tuple[MemoryChain, ...]: ...

    def mixer(self) -> ChainMixer | None:
        """Makes the chains that show bypasses."""
        ...

    def frame(self) -> Frame | None:
        """The registers and memory that chains rely on; None where they are measured as blocks are."""
        ...


class BodyMaker(Protocol):
    """Loop bodies of experiments. All raise `CannotMeasureError`."""

    @property
    def needs_assembler(self) -> bool:
        """Whether llvm-mc makes the code."""
        ...

    @property
    def padding(self) -> tuple[str, ...]:
        """Schemes that issue slots are counted with, beside what is counted."""
        ...

    def unroll(
        self, terms: Sequence[tuple[str, int]], instructions: int = ..., *, breaking: bool = False
    ) -> LoopBody:
        """The usual body of an experiment; `breaking`: see `inference.isa.body_options.Options`."""
        ...

    def unroll_in_order(self, order: Sequence[str]) -> LoopBody:
        """The body in whose copies the schemes stand in this order."""
        ...

    def breakers_of(self, scheme: str) -> Sequence[Kind]:
        """Kinds of instructions that stand before each copy of a scheme to break its dependencies."""
        ...

    def around(self, avx: bool) -> Around:
        """What usual bodies need around them; `avx`: VEX-encoded instructions are among them."""
        ...

    def machine_bodies(
        self, schemes: Collection[str], flags: frozenset[str] | None, options: Options
    ) -> MachineBodies:
        """What makes the bodies of these schemes for a CPU with these flags, None where none are known."""
        ...


class ToolSide(Protocol):
    """What LLVM, and the tools that use its syntax, take of an instruction set."""

    @property
    def triple(self) -> str:
        """LLVM's name of the instruction set."""
        ...

    @property
    def cpu(self) -> str:
        """LLVM's name of a processor."""
        ...

    @property
    def features(self) -> str:
        """What that processor has besides, "" for nothing."""
        ...

    @property
    def models(self) -> str:
        """The folder of LLVM's sources with models of its cores, "" where these cannot be read here."""
        ...

    def instances(self, texts: Iterable[str]) -> dict[str, bytes]:
        """{scheme text: machine code of one instance}, of those of which there is one."""
        ...

    def register_probes(self) -> dict[str, bytes]:
        """{register as LLVM calls it: an instruction whose first operand it is}, where releases differ.

        Older ones print numbers of their own.
        """
        ...

    def written(self, text: str) -> WrittenScheme | None:
        """A scheme as the GNU assembler writes it, None where it does not differ or there is none."""
        ...

    def listed(self, code: bytes) -> list[str]:
        """Machine code as lines that the GNU assembler takes."""
        ...
