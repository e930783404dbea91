"""The facets of an instruction set for blocks and loop bodies; see `facets` for the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple, Protocol

from inference.agent.protocol import Frame
from inference.isa.block_changes import ChangedBlock, MemoryVariants
from inference.isa.code.block import Block, BlockInstruction, Iteration
from inference.isa.code.pieces import CodeReader
from inference.isa.dependences import InstructionAccesses, Reduction
from inference.isa.machine_bodies import (
    BodyAccesses,
    BodyContext,
    Kind,
    LoopBody,
    LoopSize,
    MachineBodies,
    Options,
)
from inference.isa.start_values import BlockReads


class BodyMaker(Protocol):
    """Makes loop bodies of experiments. All methods raise `CannotMeasureError`."""

    @property
    def needs_assembler(self) -> bool:
        """Whether llvm-mc assembles the code."""

    @property
    def padding(self) -> tuple[str, ...]:
        """Schemes of one issue slot, to count the slots of others."""

    def unroll(
        self, terms: Sequence[tuple[str, int]], instructions: int = ..., *, breaking: bool = False
    ) -> LoopBody:
        """The usual body of an experiment; `breaking`: see `inference.isa.machine_bodies.Options`."""

    def unroll_in_order(self, order: Sequence[str]) -> LoopBody:
        """A body whose copies contain the schemes in this order."""

    def breakers_of(self, scheme: str) -> Sequence[Kind]:
        """The kinds of instructions that break a scheme's dependencies, before each copy."""

    def around(self, avx: bool) -> BodyContext:
        """The context of usual bodies; `avx`: VEX-encoded instructions are among them."""

    def machine_bodies(
        self, schemes: Collection[str], flags: frozenset[str] | None, options: Options
    ) -> MachineBodies:
        """The bodies of these schemes for a CPU with these flags; None where the flags are unknown."""


class UsedRegister(NamedTuple):
    """A register in the width of its use; `bank`: "general", "vector", "mask", "mmx", or "" for any other."""

    name: str
    bank: str
    bits: int


class BlockReader(CodeReader, Protocol):
    """Basic blocks from machine code and text, and back to text. All methods raise `BlockError`."""

    GENERAL: list[str]
    """General-purpose registers by number."""

    ASSEMBLY: str
    """The writer of the texts with its version, for the identity of answers that depend on them."""

    def body_of(self, code: bytes) -> bytes:
        """Machine code without the jump that closes a loop; other bytes unchanged."""

    def mnemonics_of(self, code: bytes) -> tuple[str, ...]:
        """The mnemonic of each instruction; many times faster than `block_of_bytes`."""

    def schemes_of_bytes(self, code: bytes) -> tuple[str | None, ...]:
        """The scheme of each instruction but a loop's closing jump; None for one without a scheme."""

    def intel_of_bytes(self, code: bytes) -> tuple[str, ...]:
        """The instructions in Intel syntax, as pages and commands print them."""

    def att_of_bytes(self, code: bytes) -> tuple[str, ...]:
        """The instructions for the GNU assembler, which makes the same bytes of them."""

    def plain_att_of_bytes(self, code: bytes) -> tuple[str, ...]:
        """AT&T syntax without pseudo prefixes and numbers: assembling may give other bytes."""

    def as_loop(self, code: bytes) -> bytes:
        """A loop unchanged; another block followed by a counter and a jump back."""

    def with_markers(self, code: bytes) -> bytes:
        """The block between the markers by which analysers find it in a program."""

    def object_file(self, code: bytes, name: str = "block") -> bytes:
        """A relocatable file with the code as a global function of this name."""


class AccessReader(Protocol):
    """Reads and writes of blocks' instructions, and the pairs that a core may fuse."""

    def accesses_of(self, block: Block, *, equal_start: bool = False) -> tuple[InstructionAccesses, ...]:
        """See `inference.isa.blocks`, also for the other methods."""

    def reads_of(self, codes: Iterable[bytes]) -> BlockReads:
        """The start values that a block reads, from the code of each instruction."""

    def pairs_of(self, block: Block) -> tuple[str, ...]:
        """Pairs that a core may fuse."""

    def moves_of(self, block: Block) -> tuple[str, ...]:
        """Register moves that a core may fuse with the operation on the copy."""

    def fused_places(self, block: Block, fused: Collection[str]) -> frozenset[int]:
        """The places of instructions that share the slot of the one behind them."""

    def reduction_of(self, instruction: BlockInstruction) -> Reduction | None:
        """How an instruction accumulates a value."""

    def stores_of(self, instruction: BlockInstruction) -> int:
        """The number of stores of an instruction."""

    def zero_bit_shifts(self, block: Block, registers: Mapping[str, int]) -> int:
        """The number of shifts by a register that move by 0 bits."""

    def loop_body(self, terms: Sequence[tuple[str, int]], options: Options = ...) -> BodyAccesses:
        """The measured body of an experiment. Raises `CannotMeasureError`."""

    def loop_size(self, terms: Sequence[tuple[str, int]], options: Options = ...) -> LoopSize:
        """Size of the measured body; much quicker to compute than its accesses."""

    def name_of_location(self, location: str) -> str:
        """The usual name of a location."""


class BlockFramer(Protocol):
    """Prepares blocks for measurements; see `inference.isa.blocks`."""

    def iteration_of(self, block: Block) -> Iteration:
        """One iteration, closed as it is measured."""

    def walk_end(self, block: Block, copies: int, registers: Mapping[str, int]) -> bytes:
        """Code behind the copies in a loop that leads back registers which walk through memory."""

    def needs_avx(self, block: Block, flags: Collection[str] | None) -> bool:
        """Whether vector registers start 256 bits wide."""

    def mask_bits(self, block: Block, flags: Collection[str] | None) -> int: ...

    def filled_fpu(self, block: Block) -> str:
        """The unit whose registers are filled before the block."""


class SnippetRegisters(Protocol):
    """The registers of code, which a snippet that runs by itself has to initialize."""

    def bases(self, code: bytes) -> frozenset[str]:
        """The base registers of its addresses."""

    def indices(self, code: bytes) -> frozenset[str]:
        """The index registers of its addresses."""

    def used_registers(self, code: bytes, *, wide: bool) -> list[UsedRegister]:
        """The registers that the code reads or writes; `wide`: vectors in their full width."""

    def snippet_frame(self, schemes: Sequence[str]) -> Frame:
        """The harness's frame for code of these schemes."""


class DependentBlockMaker(Protocol):
    def dependent_block(self, schemes: Sequence[str], dice: Random) -> bytes:
        """Machine code of the schemes in this order, with random registers of a small pool.

        The same state of `dice` gives the same code. Raises `CannotMeasureError`.
        """


class MemoryVariantMaker(Protocol):
    """Changes the addresses of a block."""

    def variants(self, code: bytes) -> MemoryVariants:
        """The block with the same address, other offsets, other bases. Raises `BlockError`."""


class BlockChanger(Protocol):
    """Changes blocks to show why tools disagree about them."""

    def changed_block(self, code: bytes, *, executes: bool = False) -> ChangedBlock: ...
