"""A block's code as bounds see it, the bounds, and the prediction: values, and the assumptions of a
prediction.

Some instructions share a slot with another one or take no port, and a loop has its own jump in addition.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from inference.core.core_model.dependences import IN_ADDRESS, ChainStep
from inference.core.core_model.front_end_limits import LOOP_END, FrontEndLimits
from inference.core.core_model.model import CoreModel
from inference.isa.blocks import LOOP, Block, moves_of, pairs_of, stores_of
from inference.isa.code.block import default_copies
from inference.isa.dependences import InstructionAccesses
from inference.isa.front_end import AddressUse

LIMITING_SHARE = 0.9
"""Share of the largest other bound from which on the scheduler's ports limit a block."""


class BoundKind(StrEnum):
    """The resource of a bound; each bound can be left out of a prediction."""

    PORTS = "ports"
    SLOTS = "slots"
    INSTRUCTIONS = "instructions"
    DEPENDENCES = "dependencies"
    MEMORY = "memory"
    FRONT_END = "front end"
    SCHEDULER = "scheduler"
    ORDER = "order"


@dataclass(frozen=True)
class CoreBound:
    """Cycles per iteration that a block takes at least, and the reason `why` in a few words.

    `chain`: the steps of dependencies, through memory or not, that take as long.
    """

    kind: BoundKind
    cycles: float
    why: str
    chain: tuple[ChainStep, ...] = ()


@dataclass(frozen=True, slots=True)
class SchemeSubstitution:
    """A scheme that was replaced by the nearest described one, and their difference.

    `parts`: what was taken from the nearest scheme, as words.
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
    """`bounds`, the largest first; `lacking`: unknown properties of the block, as sentences.

    `unknown`: schemes without µops; while there are any, the bounds of ports and slots are incomplete.
    `substitutions`: of the block's schemes.
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
    """Assumptions of a prediction.

    Attributes:
        without: Bounds that are left out.
        alike: All registers start with equal values, so that different ones lead to one place, as where
            machines measure blocks.
        nearest: Undescribed schemes are replaced by the nearest ones.
        in_loop: Code without a jump is copied into a loop.
    """

    without: Collection[BoundKind] = ()
    alike: bool = True
    nearest: bool = False
    in_loop: bool = False


@dataclass(frozen=True)
class CodeShape:
    """A block's machine code: its `size` in bytes, and whether it is a loop, or `copied` into one.

    Attributes:
        pairs: Names of instructions and conditional jumps right behind them, which a core may fuse, as in
            `FrontEndLimits.fused`; that of a loop's own jump is the last, "" where it stands alone. Of code
            that is `copied`, only the pair that counts the iterations.
        copies: Consecutive copies of straight code in the executed loop.
        jumps: The schemes that a loop's own jump may have in a mapping.
        moves: Moves as `pairs`, of register moves and operations on the copy right behind them.
        limiting: The share of the largest other bound from which on ports limit the code, so that its
            scheduler is simulated.
    """

    size: int
    loop: bool
    pairs: tuple[str, ...] = ()
    copied: bool = False
    copies: int = 1
    moves: tuple[str, ...] = ()
    limiting: float = LIMITING_SHARE
    jumps: tuple[str, ...] = ()


def shape_of(block: Block, *, in_loop: bool = False) -> CodeShape:
    """The shape of a block's code. `in_loop`: straight code is copied into a loop."""
    loop = block.kind == LOOP
    copies = default_copies(
        len(block.instructions) + loop,
        len(block.code),
        in_loop=in_loop or loop,
        stores=sum(map(stores_of, block.instructions)),
        loop=loop,
    )
    return CodeShape(
        len(block.code),
        loop,
        pairs_of(block) if loop else (LOOP_END,) if in_loop else (),
        copied=in_loop and not loop,
        copies=copies,
        moves=moves_of(block),
        jumps=jump_schemes(block),
    )


def own_jumps(shape: CodeShape, model: CoreModel) -> int:
    """Instructions of a loop beyond those of its body: its own jump, unless it is fused with the instruction
    before; 0 where it is not known which pairs are fused.
    """
    fused = None if model.front_end is None else model.front_end.fused
    if not shape.loop or fused is None:
        return 0
    return 1 - fused_jumps(shape, fused)


def fused_jumps(shape: CodeShape, fused: Collection[str]) -> int:
    """Number of conditional jumps that are fused with the instruction before them; `fused`: the pairs that
    are.
    """
    return sum(pair in fused for pair in shape.pairs)


def fused_moves(shape: CodeShape, front_end: FrontEndLimits | None) -> int:
    """Number of moves that share the slot of the operation on the copy."""
    fused = () if front_end is None or front_end.fused is None else front_end.fused
    return sum(pair in fused for pair in shape.moves)


def paired_nops(block: Sequence[InstructionAccesses], model: CoreModel) -> float:
    """Number of NOPs that share the slot of the NOP, eliminated move or idiom beside them.

    A Zen 4 executes six NOPs with six moves in a cycle, and six NOPs with six additions in two.
    """
    if model.front_end is None or not model.front_end.pairs_nops:
        return 0
    nops = [is_nop(instruction) for instruction in block]
    portless = [
        is_nop or is_portless(instruction, model) for is_nop, instruction in zip(nops, block, strict=True)
    ]
    if all(portless):
        return min(sum(nops), len(block) / 2)
    start = portless.index(False)  # a run goes on in the next copy of the block
    pairs, run, nops_of_run = 0, 0, 0
    for place in (*range(start, len(block)), *range(start + 1)):
        if portless[place]:
            run, nops_of_run = run + 1, nops_of_run + nops[place]
        else:
            pairs += min(nops_of_run, run // 2)
            run = nops_of_run = 0
    return pairs


def further_slots(block: Sequence[InstructionAccesses], model: CoreModel) -> int:
    """Slots that instructions take beyond one each: by the mapping, and for index registers."""
    mapping = model.mapping
    counted = mapping is not None and mapping.issue_width is not None
    return sum(
        (mapping.slots_of(instruction.scheme or "") - 1 if mapping is not None and counted else 0)
        + takes_index_slot(instruction, model)
        for instruction in block
    )


def takes_index_slot(instruction: InstructionAccesses, model: CoreModel) -> bool:
    """Whether an index register of the instruction's address takes another slot."""
    if model.front_end is None or not model.front_end.indexed:
        return False
    places = (access.memory for access in (*instruction.reads, *instruction.writes))
    is_indexed = any(place is not None and place.is_indexed for place in places)
    return is_indexed and _address_use(instruction) in model.front_end.indexed


def _address_use(instruction: InstructionAccesses) -> AddressUse:
    if any(access.memory is not None for access in instruction.writes):
        if instruction.loads:
            return AddressUse.UPDATE
        return AddressUse.VECTOR_STORE if instruction.vector else AddressUse.STORE
    operands = [
        access
        for access in instruction.reads
        if access.memory is None and not access.operand.endswith(IN_ADDRESS)
    ]
    computes = bool(operands) or any(access.location.startswith("flag ") for access in instruction.writes)
    if instruction.vector:
        return AddressUse.VECTOR_OPERATION if computes else AddressUse.VECTOR_LOAD
    return AddressUse.OPERATION if computes else AddressUse.LOAD


def is_nop(instruction: InstructionAccesses) -> bool:
    return (instruction.scheme or "").partition(" ")[0] == "nop"


def is_timed_nop(instruction: InstructionAccesses, model: CoreModel) -> bool:
    """Whether it is a NOP, of which the core's rate is known: it needs slots alone."""
    return is_nop(instruction) and model.front_end is not None and model.front_end.nops is not None


def is_portless(instruction: InstructionAccesses, model: CoreModel) -> bool:
    """Whether the instruction needs no port: an eliminated move, or an idiom with equal registers."""
    if instruction.scheme in model.moves:
        return True
    return instruction.same_register and instruction.scheme in model.portless


SLOT = "the jump of the loop"
"""Stands in an experiment for a jump that a mapping does not describe: it takes a slot and no port."""


@dataclass(frozen=True)
class LoopBranch:
    """How the branch of a loop counts in a mapping.

    Args:
        scheme: The scheme that counts for the jump, "" where it is fused with the instruction before, which
            counts.
        replaced: The scheme that is fused with the jump and does not count beside it, "" for none.
    """

    scheme: str
    replaced: str = ""


def jump_schemes(block: Block) -> tuple[str, ...]:
    """The schemes of the jump that closes a loop, for short and long distances; () of a straight block."""
    scheme = None if block.closing is None else block.closing.scheme
    if scheme is None:
        return ()
    mnemonic = scheme.partition(" ")[0]
    return tuple(dict.fromkeys((scheme, f"{mnemonic} REL[8]", f"{mnemonic} REL[32]")))


def loop_branch(block: Block, described: Collection[str], fused: Collection[str] | None) -> LoopBranch | None:
    """How the branch of a loop counts, None of a straight block.

    Args:
        block: A block.
        described: The schemes of the mapping.
        fused: Pairs that the core fuses, as `FrontEndLimits.fused`; None where not measured: then comparison
            and jump count separately.
    """
    if block.closing is None:
        return None
    compared = block.instructions[-1].scheme if block.instructions else None
    return branch_of(pairs_of(block)[-1], jump_schemes(block), compared or "", described, fused)


def branch_of(
    pair: str,
    jumps: Sequence[str],
    compared: str,
    described: Collection[str],
    fused: Collection[str] | None,
    free: Collection[str] = (),
) -> LoopBranch:
    """As `loop_branch`.

    Args:
        pair: The pair of the jump and the instruction before it, as in `CodeShape.pairs`.
        jumps: `jump_schemes`.
        compared: The scheme of that instruction.
        described: The schemes of the mapping.
        fused: The pairs that the core fuses.
        free: The comparisons that then need no port, as `FrontEndLimits.free_branches`.
    """
    is_fused = bool(pair) and pair in (fused or ())
    if is_fused and pair.partition(" + ")[0] in free:
        return LoopBranch("", compared)
    jump = next((scheme for scheme in jumps if scheme in described), "")
    if not jump:
        return LoopBranch("" if is_fused else SLOT)
    # A comparison with memory keeps its load: the scheme of both stays, and the jump is a part of it.
    if is_fused and "mem" in pair:
        return LoopBranch("")
    return LoopBranch(jump, compared if is_fused else "")
