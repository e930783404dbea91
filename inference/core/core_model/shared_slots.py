"""Instructions that share a slot with another one or take no port, and the jump that a loop has besides."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from inference.core.core_model.model import CoreModel, FrontEndLimits
from inference.core.core_model.prediction import CodeShape
from inference.isa.dependences import InstructionAccesses


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
    nops = sum(_is_nop(one) for one in block)
    return min(nops, len(block) / 2)


def _is_nop(one: InstructionAccesses) -> bool:
    return one.scheme is not None and one.scheme.partition(" ")[0] == "nop"


def is_portless(one: InstructionAccesses, model: CoreModel) -> bool:
    """Whether it needs no port: a move that renaming does, or an idiom of one register."""
    if one.scheme in model.moves:
        return True
    return one.one_register and one.scheme in model.portless
