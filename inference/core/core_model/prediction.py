"""A block's code as bounds see it, the bounds, and the prediction: values, and what they are asked with.

Some instructions share a slot with another one or take no port, and a loop has its own jump besides.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from inference.core.core_model.dependences import ChainStep
from inference.core.core_model.model import CoreModel, FrontEndLimits
from inference.isa.blocks import LOOP, Block, moves_of, pairs_of, stores_of
from inference.isa.code.block import usual_copies
from inference.isa.dependences import InstructionAccesses

LIMITING_SHARE = 0.9
"""Share of the largest other bound from which on the scheduler's ports limit a block."""

_LOOP_END = "dec reg + je"
"""What closes a loop of copies, as `FrontEndLimits.fused` has it: `jne` fuses as `je` does."""


class BoundKind(StrEnum):
    """What a bound is made of; each can be left out of a prediction."""

    PORTS = "ports"
    SLOTS = "slots"
    INSTRUCTIONS = "instructions"
    DEPENDENCES = "dependencies"
    MEMORY = "memory"
    FRONT_END = "front end"
    SCHEDULER = "scheduler"


@dataclass(frozen=True)
class CoreBound:
    """Cycles per iteration that a block takes at least, and `why` in a few words.

    `chain`: of dependencies, through memory or not, the steps that take as long.
    """

    kind: BoundKind
    cycles: float
    why: str
    chain: tuple[ChainStep, ...] = ()


@dataclass(frozen=True, slots=True)
class SchemeSubstitution:
    """A scheme that was taken for another one, and in what they differ.

    `parts`: what of the nearest one it has, in words.
    """

    scheme: str
    nearest: str
    differs: str
    parts: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """`add GPR[16]:RW, GPR[16]:R as add GPR[32]:RW, GPR[32]:R (other width): ports, latencies`."""
        parts = f": {', '.join(self.parts)}" if self.parts else ""
        return f"{self.scheme} as {self.nearest} ({self.differs}){parts}"


@dataclass(frozen=True)
class CorePrediction:
    """`bounds`, the largest first; `lacking`: what the model does not know of the block, in words.

    `unknown`: schemes without µops; while there are any, ports and slots say too little. `taken`: those of
    the block that were taken for others.
    """

    bounds: tuple[CoreBound, ...]
    lacking: tuple[str, ...]
    unknown: tuple[str, ...]
    substitutions: tuple[SchemeSubstitution, ...] = ()

    @property
    def cycles(self) -> float:
        """The largest bound, 0 without any."""
        return self.bounds[0].cycles if self.bounds else 0.0

    @property
    def chain(self) -> tuple[ChainStep, ...]:
        """The critical chain, where it is the largest bound."""
        return self.bounds[0].chain if self.bounds else ()


@dataclass(frozen=True)
class Assumptions:
    """Bounds that are left out, and whether registers start `alike`: different ones lead to one place then,
    as where machines measure blocks. `nearest`: what is not described is taken from the nearest scheme.
    `in_loop`: code without a jump is copies in a loop."""

    without: Collection[BoundKind] = ()
    alike: bool = True
    nearest: bool = False
    in_loop: bool = False


@dataclass(frozen=True)
class CodeShape:
    """A block's machine code: its `size` in bytes, and whether it is a loop, or `copied` into one.

    `pairs`: names of instructions and conditional jumps right behind them, which a core may make one of, as
    `FrontEndLimits.fused` has them; that of a loop's own jump is the last, "" where it stands alone. Of what
    is `copied`, the pair alone that counts the iterations.
    `copies`: of straight code, until code comes again that was executed before. `moves`: as `pairs`, of
    register moves and operations on the copy right behind them. `limiting`: the share of the largest other
    bound from which on ports limit the code, so that its scheduler is simulated.
    """

    size: int
    loop: bool
    pairs: tuple[str, ...] = ()
    copied: bool = False
    copies: int = 1
    moves: tuple[str, ...] = ()
    limiting: float = LIMITING_SHARE


def shape_of(block: Block, *, in_loop: bool = False) -> CodeShape:
    """Its size, and of a loop what may become one instruction. `in_loop`: straight code is put into one."""
    loop = block.kind == LOOP
    copies = usual_copies(
        len(block.instructions) + loop,
        len(block.code),
        in_loop=in_loop or loop,
        stores=sum(map(stores_of, block.instructions)),
    )
    return CodeShape(
        len(block.code),
        loop,
        pairs_of(block) if loop else (_LOOP_END,) if in_loop else (),
        copied=in_loop and not loop,
        copies=copies,
        moves=moves_of(block),
    )


def own_jumps(shape: CodeShape, model: CoreModel) -> int:
    """Instructions that a loop has beyond those of its body: its own jump, less those that become a part of
    the instruction before; 0 where it is not known which do."""
    fused = None if model.front_end is None else model.front_end.fused
    if not shape.loop or fused is None:
        return 0
    return 1 - fused_jumps(shape, fused)


def fused_jumps(shape: CodeShape, fused: Collection[str]) -> int:
    """Conditional jumps that become one with the instruction before them; `fused`: the pairs that do."""
    return sum(pair in fused for pair in shape.pairs)


def fused_moves(shape: CodeShape, front_end: FrontEndLimits | None) -> int:
    """Moves that take no slot of their own, but that of the operation on the copy."""
    fused = () if front_end is None or front_end.fused is None else front_end.fused
    return sum(pair in fused for pair in shape.moves)


def paired_nops(block: Sequence[InstructionAccesses], model: CoreModel) -> float:
    """NOPs that take no slot of their own, but share that of the instruction beside them."""
    if model.front_end is None or not model.front_end.pairs_nops:
        return 0
    nops = sum((instruction.scheme or "").partition(" ")[0] == "nop" for instruction in block)
    return min(nops, len(block) / 2)


def is_portless(instruction: InstructionAccesses, model: CoreModel) -> bool:
    """Whether it needs no port: a move that renaming does, or an idiom of one register."""
    if instruction.scheme in model.moves:
        return True
    return instruction.same_register and instruction.scheme in model.portless
