"""The facets of an instruction set that are about basic blocks; see `inference.isa.facets` for the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from random import Random
from typing import Protocol

from inference.agent.protocol import Frame
from inference.isa.block_changes import ChangedBlock
from inference.isa.body_options import Options
from inference.isa.code.block import Block, BlockInstruction
from inference.isa.code.iteration import Iteration
from inference.isa.code.reader import CodeReader
from inference.isa.dependences import InstructionAccesses
from inference.isa.memory_variants import Variants
from inference.isa.start_values import BlockReads
from inference.isa.unrolling import BodyAccesses, LoopSize
from inference.isa.used_register import UsedRegister


class BlockReader(CodeReader, Protocol):
    """Basic blocks from machine code and text, and as text again. All raise `BlockError`."""

    GENERAL: list[str]
    """General-purpose registers in the order of their numbers."""

    ASSEMBLY: str
    """Who writes the texts, for the identity of answers that depend on them."""

    def body_of(self, code: bytes) -> bytes:
        """Machine code without the jump that closes a loop; other bytes as they are."""
        ...

    def mnemonics_of(self, code: bytes) -> tuple[str, ...]:
        """The mnemonic of each instruction; many times faster than describing them."""
        ...

    def schemes_of_bytes(self, code: bytes) -> tuple[str | None, ...]:
        """The scheme of each instruction but the jump that closes a loop, None for one of no scheme."""
        ...

    def intel_of_bytes(self, code: bytes) -> tuple[str, ...]:
        """The instructions as people read them."""
        ...

    def att_of_bytes(self, code: bytes) -> tuple[str, ...]:
        """The instructions as the GNU assembler takes them: it makes the very same bytes of them."""
        ...

    def plain_att_of_bytes(self, code: bytes) -> tuple[str, ...]:
        """The same for tools that know instructions alone: other bytes may be made of some."""
        ...

    def in_loop(self, code: bytes) -> bytes:
        """A loop as it is; another block with a counter and a jump behind it."""
        ...

    def between_markers(self, code: bytes) -> bytes:
        """The block between the marks by which analysers find it in a program."""
        ...

    def object_file(self, code: bytes, name: str = "block") -> bytes:
        """A relocatable file with the code as a global function of this name."""
        ...


class AccessReader(Protocol):
    """What instructions of blocks read, write and become together."""

    def accesses_of(self, block: Block, *, alike: bool = False) -> tuple[InstructionAccesses, ...]:
        """See `inference.isa.blocks.accesses`, also for the others."""
        ...

    def reads_of(self, codes: Iterable[bytes]) -> BlockReads:
        """What a block, given by the code of each instruction, reads of what it starts with."""
        ...

    def pairs_of(self, block: Block) -> tuple[str, ...]:
        """What may become one instruction."""
        ...

    def moves_of(self, block: Block) -> tuple[str, ...]:
        """Register moves that may become one with what updates their copies."""
        ...

    def stores_of(self, one: BlockInstruction) -> int:
        """How often an instruction stores."""
        ...

    def shifts_by_nothing(self, block: Block, registers: Mapping[str, int]) -> int:
        """Shifts by a register that move no bits."""
        ...

    def loop_body(self, terms: Sequence[tuple[str, int]], options: Options = ...) -> BodyAccesses:
        """The body that is measured for an experiment with these options. Raises `CannotMeasureError`."""
        ...

    def loop_size(self, terms: Sequence[tuple[str, int]], options: Options = ...) -> LoopSize:
        """How large that is; much quicker than what it reads and writes."""
        ...

    def name_of_location(self, location: str) -> str:
        """What people call a location."""
        ...


class BlockFramer(Protocol):
    """What is put around blocks where they are measured; see `inference.isa.blocks.frames`."""

    def iteration_of(self, block: Block) -> Iteration:
        """The block once, closed as it is measured."""
        ...

    def wants_avx(self, block: Block, flags: Collection[str] | None) -> bool:
        """Whether vector registers start 256 bits wide."""
        ...

    def mask_bits(self, block: Block, flags: Collection[str] | None) -> int: ...

    def filled_fpu(self, block: Block) -> str:
        """Whose registers a block finds filled."""
        ...


class SnippetRegisters(Protocol):
    """Which registers code uses: what a snippet that runs by itself has to set up."""

    def bases(self, code: bytes) -> frozenset[str]:
        """The registers that the code addresses memory by."""
        ...

    def indices(self, code: bytes) -> frozenset[str]:
        """The registers that are added to those."""
        ...

    def used_registers(self, code: bytes, *, wide: bool) -> list[UsedRegister]:
        """The registers that the code reads or writes; `wide`: vectors in their full width."""
        ...

    def snippet_frame(self, schemes: Sequence[str]) -> Frame:
        """What the harness puts around code of these schemes."""
        ...


class DependentBlockMaker(Protocol):
    """Makes short blocks whose instructions wait for each other."""

    def dependent_block(self, schemes: Sequence[str], dice: Random) -> bytes:
        """Machine code of the schemes in this order, with registers of a few that the dice draw.

        Equal dice give equal code. Raises `CannotMeasureError`.
        """
        ...


class MemoryVariantMaker(Protocol):
    def variants(self, code: bytes) -> Variants:
        """The block with the same address, other offsets, other bases. Raises `BlockError`."""
        ...


class BlockChanger(Protocol):
    """Blocks changed so that they tell why tools disagree about them."""

    def changed_block(self, code: bytes, *, executes: bool = False) -> ChangedBlock: ...
