"""The facets of an instruction set, as protocols. Its folder implements a facet by a module or an object.

Those of blocks and loop bodies are in `block_facets`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from inference.agent.protocol import Frame
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
from inference.isa.microarchitecture import Microarchitecture
from inference.isa.scheme import Operand, Scheme


@dataclass(frozen=True, slots=True)
class SearchMeaning:
    """All schemes of some mnemonics, and the texts of particular schemes; false without either.

    `operands`: beginnings of operands in scheme texts, where the word abbreviates an operand (`r64`).
    """

    mnemonics: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    operands: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.mnemonics or self.texts)


NO_MEANING = SearchMeaning()


@dataclass(frozen=True, slots=True)
class WrittenScheme:
    """A scheme in GNU assembler syntax: `mnemonic`, `suffixed` with the letter for its width, operands in
    order.

    `movzx` is `movzbl` and the like; `mnemonic` omits a letter only where the assembler accepts that.
    """

    mnemonic: str
    suffixed: str
    operands: tuple[Operand, ...]


class SchemeCatalogue(Protocol):
    """The schemes of the instruction set, and which of them replace others."""

    def schemes(self) -> Sequence[Scheme]:
        """All schemes in a fixed order. The first call takes seconds."""
        return ()

    def scheme_of(self, text: str) -> Scheme | None:
        """The scheme of a text, None where there is none."""
        return None

    def source(self) -> str:
        """The origin of the schemes, ending with their `version`."""
        return ""

    def version(self) -> str:
        """An identifier that changes whenever the schemes may have changed; computed quickly."""
        return ""

    def flag(self, extension: str) -> str:
        """The flag in /proc/cpuinfo that announces an extension, "" for those that every processor has."""
        return extension.lower()

    def missing_feature(self, scheme: Scheme, flags: Collection[str]) -> str:
        """The feature that the scheme needs and a CPU with these flags lacks, in words; "" for none."""
        return ""

    def core_of(self, facts: Mapping[str, Any]) -> Microarchitecture | None:
        """The documented core of an agent's computer, from the facts that it reports; None where unknown."""
        return None

    @property
    def probes(self) -> Collection[str]:
        """One or two schemes of one µop for each kind of execution unit."""
        return ()

    @property
    def divisions(self) -> Collection[str]:
        """The schemes of a starter set of latencies beside those of throughputs."""
        return ()

    @property
    def preferred(self) -> Sequence[str]:
        """The schemes by which explained µops are displayed, the best first."""
        return ()

    @property
    def equivalent_schemes(self) -> Mapping[str, tuple[str, ...]]:
        """{scheme that cannot be measured itself: schemes that together need the same ports and slots}."""
        return {}

    def same_work(self, text: str) -> tuple[str, ...]:
        """The schemes that together need the ports and slots of this one, which may be excluded as legacy."""
        return (text,)


class Textbook(Protocol):
    """Documented properties of cores, by their names; empty for undocumented cores."""

    def documented_cpi(self, name: str) -> Mapping[str, tuple[float, str]]:
        """{scheme: (cycles per instruction, source)} of a core."""
        return {}

    def beyond_ports(self, scheme: Scheme, ports: Collection[str]) -> str:
        """Why documented usages of these ports do not determine the scheme's time, "" where they do."""
        return ""

    def documented_latencies(self, core: str) -> Mapping[ChainLink, Latency]:
        """The documented latencies of a core, in cycles."""
        return {}

    def latency_source(self, core: str) -> str:
        """The document of a core's latencies; "" without."""
        return ""


class LlvmMeaning(NamedTuple):
    """LLVM's opcode of a machine instruction, its mode as in `Scheme.mode`, and whether it has a mask."""

    opcode: str
    mode: str = ""
    is_masked: bool = False


class ForeignNames(Protocol):
    """Names that assemblers and other tools have for schemes and mnemonics."""

    def meaning_of(self, word: str) -> SearchMeaning:
        """The schemes that a word of a search names; false for a word that is no name."""
        return NO_MEANING

    def is_avx512(self, word: str) -> bool:
        """Whether a word names only schemes of AVX-512, which searches omit otherwise."""
        return False

    def mnemonics_named(self, word: str) -> frozenset[str]:
        """The mnemonics that a word names, without the operands that it implies."""
        return frozenset()

    def llvm_meaning(self, opcode: str, setting: str) -> LlvmMeaning:
        """The machine instruction of an opcode in a benchmark of llvm-exegesis, with its `config`."""
        return LlvmMeaning(opcode)

    def uops_info_name(self, text: str) -> str:
        """uops.info's name of a scheme, as in the addresses of its pages; "" where it is not certain."""
        return ""


class FrontEndMaker(Protocol):
    COUNTER: str
    """The register that counts the iterations of loops; no code uses it."""

    def front_end_codes(self, *, offsets: bool) -> tuple[FrontEndCode, ...]:
        """All codes; `offsets`: also loops that do not begin at a cache line."""

    def fetched_instructions(self, code: bytes) -> Sequence[FetchedInstruction]:
        """The instructions of machine code as a front end sees them."""


class LatencyChainMaker(Protocol):
    def links_of(self, text: str) -> tuple[ChainLink, ...]:
        """The pairs of source and destination operands of a scheme; () for an unknown one."""

    def connectors(self) -> tuple[ChainLink, ...]:
        """The links that close chains within a class of registers: their own latencies are measured first."""

    def chains_of_pairs(self, links: Iterable[ChainLink]) -> list[PairChains]:
        """The chains of each link, in order. Raises `AssemblerError` where the assembler is missing."""

    def idioms_of(self, text: str) -> tuple[IdiomChains, ...]:
        """Chains that show whether a scheme is an idiom for some choice of operands."""

    def reference_additions(self) -> DependencyChain | None:
        """Ordinary independent instructions, as the reference of idioms."""

    def memory_chains(self) -> tuple[MemoryChain, ...]: ...

    def mixer(self) -> ChainMixer | None:
        """The maker of chains that show bypass delays; None without."""

    def frame(self) -> Frame | None:
        """The registers and memory that chains need; None where they are measured like blocks."""


class LlvmSide(Protocol):
    """The properties of an instruction set that LLVM, and tools with its syntax, need."""

    @property
    def triple(self) -> str:
        """LLVM's name of the instruction set."""

    @property
    def cpu(self) -> str:
        """LLVM's name of a processor."""

    @property
    def features(self) -> str:
        """Features of that processor to switch on, "" for none."""

    @property
    def models(self) -> str:
        """The folder of core models in LLVM's sources, "" where they cannot be read."""

    @property
    def every_feature(self) -> str:
        """Features with which a disassembler knows all code, in LLVM's spelling; "" where it always does."""

    @property
    def simulated(self) -> Sequence[str]:
        """Processors of which llvm-mca has models, as examples; the first one where none is chosen."""

    @property
    def probe(self) -> str:
        """An instruction that every model of a processor has."""

    @property
    def comment(self) -> str:
        """The beginning of a comment behind an instruction."""

    @property
    def marker(self) -> tuple[bytes, str]:
        """An instruction that no scheme has, and a part of its text in llvm-mc's disassembly."""

    @property
    def prefixes(self) -> Collection[str]:
        """Words that disassemblers print on a line before the instruction that they belong to."""

    @property
    def separator_code(self) -> re.Pattern[bytes]:
        """What code that may contain a separator has."""

    @property
    def separator_text(self) -> re.Pattern[str]:
        """How disassemblers print a separator, with its number as group 1; "" for 0."""

    @property
    def osaca(self) -> str:
        """OSACA's name of the instruction set."""

    def separator(self, number: int) -> bytes:
        """An instruction that carries a number below 2,000 and separates blocks in one input."""

    def instances(self, texts: Iterable[str]) -> dict[str, bytes]:
        """{scheme text: machine code of one instance}, without schemes that have none."""

    def register_probes(self) -> dict[str, bytes]:
        """{register in LLVM's spelling: an instruction with it as first operand}, where releases differ.

        Older releases print numbers instead of names.
        """

    def gnu_scheme(self, text: str) -> WrittenScheme | None:
        """The scheme in GNU assembler syntax; None for an unknown one, or where it does not differ."""

    def gnu_lines(self, code: bytes) -> list[str]:
        """Machine code as lines for the GNU assembler."""
