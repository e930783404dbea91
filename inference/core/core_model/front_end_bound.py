"""How quickly the front end of a core supplies a block."""

from __future__ import annotations

from collections.abc import Sequence

from inference.core.core_model.loop_code import closing_slots, time_of_code
from inference.core.core_model.model import CoreModel, FrontEndLimits
from inference.core.core_model.prediction import BoundKind, CodeShape, CoreBound
from inference.core.core_model.shared_slots import fused_jumps, fused_moves, is_portless, paired_nops
from inference.isa.dependences import InstructionAccesses, reads_of_kept_flags
from inference.isa.machine_bodies import LoopSize

_NEARLY = 0.94
"""Share of the instructions per cycle that a core can execute, from which decoding does not hold it up: NOPs
are timed a few per cent slower than they are."""


def front_end_bound(
    block: Sequence[InstructionAccesses], shape: CodeShape, model: CoreModel, limits: FrontEndLimits
) -> CoreBound:
    """Cycles for which the front end holds a block up, be it by stalls or by how quickly it supplies."""
    supplied = _supplied(block, shape, model, limits)
    stalls = reads_of_kept_flags(block)
    cycles = stalls * (limits.kept_flags or 0.0)
    if cycles <= supplied.cycles:
        return supplied
    why = f"{stalls} shift{'s' if stalls > 1 else ''} by 0 whose flags are read"
    return CoreBound(BoundKind.FRONT_END, cycles, why)


def _supplied(
    block: Sequence[InstructionAccesses], shape: CodeShape, model: CoreModel, limits: FrontEndLimits
) -> CoreBound:
    instructions = len(block)
    paired = paired_nops(block, model) + fused_moves(shape, limits)
    width = None if model.mapping is None else model.mapping.r_max
    # Whatever runs at the core's width has passed the front end at that rate.
    most = limits.dispatched
    if most is not None and width is not None:
        most = max(most, width)
    if shape.loop and (limits.loop_capacity is None or instructions <= limits.loop_capacity):
        slots = instructions + 1 - fused_jumps(shape, limits.fused or ()) - paired
        reasons = [
            (slots, most, f"{slots:g} slots"),
            (1, limits.taken, "one taken branch"),
            _portless(block, shape, model, limits),
        ]
    elif shape.copied:
        slots = instructions - paired + closing_slots(shape.pairs, limits.fused) / shape.copies
        reasons = [(slots, most, f"{slots:g} slots"), _portless(block, shape, model, limits)]
    elif (cycles := limits.decoding(instructions, shape.size)) is not None:
        if width and instructions > _NEARLY * width * cycles:  # as quick as the core is wide
            cycles = instructions / float(width)
        why = f"{instructions} instructions of {shape.size / instructions:.1f} bytes to decode"
        return CoreBound(BoundKind.FRONT_END, cycles, why)
    else:
        reasons = [
            (instructions, limits.straight_instructions, f"{instructions} instructions to decode"),
            (shape.size, limits.straight_bytes, f"{shape.size} bytes of code"),
        ]
    known = [(amount / rate, why) for amount, rate, why in reasons if rate]
    if shape.copied and (held_up := time_of_code(model.loop_code, loop_size(block, shape))) is not None:
        known.append(held_up)
    cycles, why = max(known, default=(0.0, "nothing is known of it"))
    return CoreBound(BoundKind.FRONT_END, cycles, why)


def _portless(
    block: Sequence[InstructionAccesses], shape: CodeShape, model: CoreModel, limits: FrontEndLimits
) -> tuple[float, float | None, str]:
    """Moves and idioms that need no port: of these alone, `FrontEndLimits.slots` are handed over per cycle,
    which some cores do with more slots of anything else (Zen 5: 7.1 and 8)."""
    count = sum(is_portless(one, model) for one in block) - fused_moves(shape, limits)
    return count, limits.slots, f"{count} moves and idioms without a port"


def loop_size(block: Sequence[InstructionAccesses], shape: CodeShape) -> LoopSize:
    """The size of the loop that copies of a block are put into."""
    return LoopSize(shape.copies * len(block), shape.copies * shape.size, shape.copies)
