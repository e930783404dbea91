"""The bounds of a block on a core, each by itself, and the largest of them as the prediction.

Here are those of ports, issue slots, width and front end, in this order; chains are in `dependences`, loads
and stores in `memory_bounds`, the scheduler and program order in `simulated_bounds`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from math import ceil

from inference.core.core_model.dependences import DependenceBound, dependence_bounds
from inference.core.core_model.front_end_limits import FrontEndLimits, closing_slots
from inference.core.core_model.memory_bounds import memory_bounds, store_bound
from inference.core.core_model.model import CoreModel, LoopCode
from inference.core.core_model.port_work import busiest_ports, port_work, total_work
from inference.core.core_model.prediction import (
    BoundKind,
    CodeShape,
    CoreBound,
    CorePrediction,
    further_slots,
    fused_jumps,
    fused_moves,
    is_portless,
    is_timed_nop,
    own_jumps,
    paired_nops,
)
from inference.core.core_model.simulated_bounds import order_bounds, scheduler_bounds
from inference.core.core_model.simulated_program import dispatch_width
from inference.core.core_model.stored_values import with_single_page
from inference.core.mapping import PortMapping
from inference.isa.dependences import InstructionAccesses, reads_of_preserved_flags
from inference.isa.machine_bodies import LoopSize

BUSIEST_PORTS = "the busiest ports"
"""Reason of a bound of ports that follows from the mapping."""
UNMEASURED_LOOP_SIZE = "no loop of this size was measured: fetching may limit it"
_LONG_LOOP = 256
"""Instructions in the shorter one of the loops between which `FrontEndLimits.slots` is measured."""
_FULL_RATE = 0.94
"""Share of the instructions per cycle that a core can execute, from which decoding does not limit it: NOPs
are timed a few per cent slower than they are.
"""


def predict_core(
    block: Sequence[InstructionAccesses],
    shape: CodeShape,
    model: CoreModel,
    without: Collection[BoundKind] = (),
) -> CorePrediction:
    """The bounds of a block.

    Args:
        block: Its instructions in program order.
        shape: Its code.
        model: Missing parts are listed in `CorePrediction.lacking`.
        without: Bounds that are left out.
    """
    lacking: list[str] = []
    unknown: list[str] = []
    bounds: list[CoreBound] = []
    if model.memory.serves_other_pages:
        block = with_single_page(block)
    stores = store_bound(block, model.memory)
    if model.mapping is None:
        lacking.append("no port mapping")
    else:
        usage, moves = model.mapping.usage, model.moves  # what is eliminated has no µops to be described
        without_ports = {
            instruction.scheme or "an instruction of no scheme"
            for instruction in block
            if not (
                instruction.scheme in usage or instruction.scheme in moves or is_timed_nop(instruction, model)
            )
        }
        unknown = sorted(without_ports - model.alone.keys())
        if by_time := sorted(without_ports & model.alone.keys()):
            lacking.append(f"no ports inferred for {' and '.join(by_time)}; using the time alone")
        bounds += _mapping_bounds(block, shape, model, model.mapping, stores)
    if not model.latencies:
        lacking.append("no latencies measured; assuming 1 cycle")
    front_end = [] if model.front_end is None else [front_end_bound(block, shape, model, model.front_end)]
    other_bounds = max((bound.cycles for bound in (*bounds, *front_end)), default=0.0)
    registers, all_chains = _chains(block, model, other_bounds, shape.copies)
    bounds.append(_chain_bound(BoundKind.DEPENDENCES, registers))
    through_memory = [] if all_chains is registers else [_chain_bound(BoundKind.MEMORY, all_chains)]
    through_memory += memory_bounds(block, model.memory, stores)
    if through_memory:
        bounds.append(max(through_memory, key=lambda bound: bound.cycles))
    if model.front_end is None:
        lacking.append("no front end")
    bounds += front_end
    if model.issues_in_order:
        if BoundKind.ORDER not in without and not unknown:
            bounds += order_bounds(block, shape, model, dispatch_width(model), bounds, without)
    elif model.scheduler is not None and BoundKind.SCHEDULER not in without and not unknown:
        bounds += scheduler_bounds(block, shape, model, model.scheduler, bounds, without)
    counted = sorted(
        (bound for bound in bounds if bound.kind not in without), key=lambda bound: -bound.cycles
    )
    if shape.copied and counted and _may_stall(model.loop_code, _loop_size(block, shape), counted[0].cycles):
        lacking.append(UNMEASURED_LOOP_SIZE)
    return CorePrediction(tuple(counted), tuple(lacking), tuple(unknown))


def front_end_bound(
    block: Sequence[InstructionAccesses], shape: CodeShape, model: CoreModel, limits: FrontEndLimits
) -> CoreBound:
    """Cycles for which the front end delays a block, by stalls or by its rate.

    Args:
        block: Accesses of the block's instructions.
        shape: Size and copies of its code, and fused pairs.
        model: The core.
        limits: Measured limits of its front end.
    """
    supplied = _supply_bound(block, shape, model, limits)
    stalls = reads_of_preserved_flags(block)
    cycles = stalls * (limits.kept_flags or 0.0)
    if cycles <= supplied.cycles:
        return supplied
    why = f"{stalls} shift{'s' if stalls > 1 else ''} by 0 whose flags are read"
    return CoreBound(BoundKind.FRONT_END, cycles, why)


def _supply_bound(
    block: Sequence[InstructionAccesses], shape: CodeShape, model: CoreModel, limits: FrontEndLimits
) -> CoreBound:
    instructions = len(block)
    counted = _counted_noun(instructions, "instruction")
    shared_slots = paired_nops(block, model) + fused_moves(shape, limits)
    extra_slots = further_slots(block, model)
    width = None if model.mapping is None else model.mapping.r_max
    # Whatever runs at the core's width has passed the front end at that rate.
    slots_per_cycle = limits.dispatched
    if slots_per_cycle is not None and width is not None:
        slots_per_cycle = max(slots_per_cycle, width)
    if shape.loop and (limits.loop_capacity is None or instructions <= limits.loop_capacity):
        slots = instructions + extra_slots + 1 - fused_jumps(shape, limits.fused or ()) - shared_slots
        in_loop = limits.loops[ceil(slots) - 1] if 0 < slots <= len(limits.loops) else 0.0
        reasons = [
            (slots, slots_per_cycle, _counted_noun(slots, "slot")),
            (in_loop, 1, f"a loop of {_counted_noun(slots, 'slot')}"),
            (_cycles_per_branch(limits), 1, "one taken branch"),
            _portless(block, shape, model, limits),
        ]
    elif shape.copied:
        slots = (
            instructions
            + extra_slots
            - shared_slots
            + closing_slots(shape.pairs, limits.fused) / shape.copies
        )
        reasons = [
            (slots, slots_per_cycle, _counted_noun(slots, "slot")),
            _portless(block, shape, model, limits),
        ]
    elif (cycles := limits.decoding(instructions, shape.size)) is not None:
        if width and instructions > _FULL_RATE * width * cycles:  # as quick as the core is wide
            cycles = instructions / float(width)
        why = f"{counted} of {shape.size / instructions:.1f} bytes to decode"
        return CoreBound(BoundKind.FRONT_END, cycles, why)
    else:
        reasons = [
            (
                instructions,
                limits.straight_instructions,
                f"{_counted_noun(instructions, 'instruction')} to decode",
            ),
            (shape.size, limits.straight_bytes, f"{shape.size} bytes of code"),
        ]
    limiting = [(amount / rate, why) for amount, rate, why in reasons if rate]
    if shape.copied and (by_size := _cycles_by_size(model.loop_code, _loop_size(block, shape))) is not None:
        limiting.append(by_size)
    cycles, why = max(limiting, default=(0.0, "not measured"))
    return CoreBound(BoundKind.FRONT_END, cycles, why)


def _cycles_per_branch(limits: FrontEndLimits) -> float:
    """Cycles of a loop's own branch: at most those of the shortest loop, which has one. Several branches one
    after another take longer on cores that remember few (rvsim's P550: 2.9 and 2.0).
    """
    cycles = 1 / limits.taken if limits.taken else 0.0
    return min(cycles, limits.loops[0]) if limits.loops else cycles


def _counted_noun(count: float, noun: str) -> str:
    number = round(count, 2)
    return f"{number:g} {noun}{'' if number == 1 else 's'}"


def _portless(
    block: Sequence[InstructionAccesses], shape: CodeShape, model: CoreModel, limits: FrontEndLimits
) -> tuple[float, float | None, str]:
    """Moves and idioms that need no port: of these alone, `FrontEndLimits.slots` are handed over per cycle in
    long loops, where some cores hand over more slots of other instructions (Zen 5: 7.1 and 8). In loops that
    are shorter than those of which that rate was measured, they are as quick (Zen 5: 100 moves in 13 cycles).
    """
    if shape.copies * len(block) < _LONG_LOOP:
        return 0, limits.slots, ""
    count = sum(is_portless(instruction, model) for instruction in block) - fused_moves(shape, limits)
    return count, limits.slots, f"{count} moves and idioms without a port"


def _loop_size(block: Sequence[InstructionAccesses], shape: CodeShape) -> LoopSize:
    return LoopSize(shape.copies * len(block), shape.copies * shape.size, shape.copies)


def _cycles_by_size(code: LoopCode, body: LoopSize) -> tuple[float, str] | None:
    """Cycles per copy of a loop body of this size, with the reason; None where no delay was measured."""
    cycles = code.get((body.instructions, body.size))
    if cycles is None:
        return None
    why = f"loops of {body.instructions} instructions in {body.size} bytes take {cycles:g} cycles"
    return cycles / body.copies, why


def _may_stall(code: LoopCode, body: LoopSize, cycles: float) -> bool:
    """Whether a loop of a size that was not measured may take longer than the `cycles` per copy of other
    bounds: loops with instructions of the same average length were delayed, by more.
    """
    if not code or (body.instructions, body.size) in code:
        return False
    lengths = [size / instructions for instructions, size in code]
    worst = max(cycles / instructions for (instructions, _), cycles in code.items())
    mean, rate = body.size / body.instructions, cycles * body.copies / body.instructions
    return min(lengths) <= mean <= max(lengths) and rate < worst


def _chains(
    block: Sequence[InstructionAccesses], model: CoreModel, other_bounds: float, copies: int
) -> tuple[DependenceBound, DependenceBound]:
    """The bounds through registers alone, and through all. Where other bounds delay a block, nothing is
    queued.
    """
    if any(instruction.scheme in model.unqueued for instruction in block):
        unqueued = dependence_bounds(block, model.without_queues, copies)
        if unqueued[1].cycles <= other_bounds:
            return unqueued
    return dependence_bounds(block, model, copies)


def _chain_bound(kind: BoundKind, bound: DependenceBound) -> CoreBound:
    steps = len(bound.chain)
    why = (
        f"a chain of {steps} step{'s' if steps > 1 else ''}"
        if steps
        else "no dependency on the previous iteration"
    )
    return CoreBound(kind, bound.cycles, why, bound.chain)


def _mapping_bounds(
    block: Sequence[InstructionAccesses],
    shape: CodeShape,
    model: CoreModel,
    mapping: PortMapping,
    stores: CoreBound | None,
) -> list[CoreBound]:
    """The bounds of ports, issue slots and instructions per cycle, as far as the mapping has them.

    `stores`: the bound of the block's stores, whose µops share ports with others less than the mapping
    implies.
    """
    bounds = []
    work = total_work(port_work(block, shape, model, mapping, stores))
    ports = CoreBound(BoundKind.PORTS, busiest_ports(work), BUSIEST_PORTS)
    by_time = times_alone(block, model, stores)
    bounds.append(max([ports, *by_time], key=lambda bound: bound.cycles))
    facts = mapping.usage, model.moves, model.alone
    counted = [
        instruction
        for instruction in block
        if any(instruction.scheme in part for part in facts) or is_timed_nop(instruction, model)
    ]
    jumps = own_jumps(shape, model) - paired_nops(block, model) - fused_moves(shape, model.front_end)
    if mapping.issue_width is not None:
        slots = len(counted) + further_slots(counted, model) + jumps
        bounds.append(
            CoreBound(BoundKind.SLOTS, slots / mapping.issue_width, _counted_noun(slots, "issue slot"))
        )
    if mapping.r_max is not None:
        count = len(counted) + jumps
        bounds.append(
            CoreBound(BoundKind.INSTRUCTIONS, count / mapping.r_max, _counted_noun(count, "instruction"))
        )
    return bounds


def times_alone(
    block: Sequence[InstructionAccesses], model: CoreModel, stores: CoreBound | None
) -> list[CoreBound]:
    """A bound for each scheme whose ports are not known and whose time alone is."""
    described = model.mapping.usage if model.mapping is not None else {}
    counts = Counter(
        instruction.scheme or ""
        for instruction in block
        if instruction.scheme in model.alone
        and instruction.scheme not in described
        and instruction.scheme not in model.moves
        and not _waits_as_store(instruction, model, stores)
    )
    return [
        CoreBound(
            BoundKind.PORTS, count * model.alone[scheme], f"{scheme} takes {model.alone[scheme]:.2f} alone"
        )
        for scheme, count in counts.items()
    ]


def _waits_as_store(instruction: InstructionAccesses, model: CoreModel, stores: CoreBound | None) -> bool:
    """Whether the time of the scheme alone is that of a store to another line than the one before."""
    limit = model.memory.to_another_line
    return (
        stores is not None
        and limit is not None
        and any(access.memory is not None for access in instruction.writes)
        and model.alone[instruction.scheme or ""] < 1.5 * limit  # as long as one store, rather than two
    )
