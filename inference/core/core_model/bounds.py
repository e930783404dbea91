"""The bounds of a block on a core: each by itself, and the largest of them as the prediction."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from inference.core.core_model.cycles import Edge
from inference.core.core_model.dependences import (
    ChainStep,
    DependenceBound,
    DependenceGraph,
    dependence_bounds,
)
from inference.core.core_model.front_end_bound import front_end_bound, loop_size
from inference.core.core_model.last_writes import blocked_loads, on_one_page
from inference.core.core_model.loads import load_bound, stack_bound
from inference.core.core_model.loop_code import may_be_held_up
from inference.core.core_model.model import CoreModel, CoreScheduler, MemoryTimes
from inference.core.core_model.port_bounds import bounds_of_mapping, busiest_ports, work_of_block
from inference.core.core_model.prediction import BoundKind, CodeShape, CoreBound, CorePrediction
from inference.core.core_model.scheduler import simulated_cycles
from inference.core.core_model.shared_slots import fused_moves, own_jumps, paired_nops
from inference.core.core_model.stores import StoreBound, store_bound
from inference.isa.dependences import InstructionAccesses

HELD_UP = "no loop of this size was measured: fetching may hold it up"
_BLOCKED = "a load wants more than a store before it wrote"
_AS_LONG = 1.01
"""Times the largest other bound, up to which a simulated loop takes as long."""


def predict_core(
    block: Sequence[InstructionAccesses],
    shape: CodeShape,
    model: CoreModel,
    without: Collection[BoundKind] = (),
) -> CorePrediction:
    """The bounds of a block, but those that are left out."""
    lacking: list[str] = []
    unknown: list[str] = []
    bounds: list[CoreBound] = []
    if model.memory.serves_other_pages:
        block = on_one_page(block)
    stores = store_bound(block, model.memory)
    if model.mapping is None:
        lacking.append("no port mapping")
    else:
        usage, moves = model.mapping.usage, model.moves  # what is eliminated has no µops to be described
        without_ports = {_named(one) for one in block if one.scheme not in usage and one.scheme not in moves}
        unknown = sorted(without_ports - model.alone.keys())
        if by_time := sorted(without_ports & model.alone.keys()):
            lacking.append(f"no ports of {'; '.join(by_time)}: what it takes alone counts")
        bounds += bounds_of_mapping(block, shape, model, model.mapping, stores)
    if not model.latencies:
        lacking.append("no latencies: each takes a cycle")
    front_end = [] if model.front_end is None else [front_end_bound(block, shape, model, model.front_end)]
    others = max((bound.cycles for bound in (*bounds, *front_end)), default=0.0)
    registers, whole = _chains(block, model, others, shape.copies)
    bounds.append(_of_chain(BoundKind.DEPENDENCES, registers))
    through_memory = [] if whole is registers else [_of_chain(BoundKind.MEMORY, whole)]
    through_memory += _of_memory(block, model.memory, stores)
    if through_memory:
        bounds.append(max(through_memory, key=lambda bound: bound.cycles))
    if model.front_end is None:
        lacking.append("no front end")
    bounds += front_end
    if model.scheduler is not None and BoundKind.SCHEDULER not in without and not unknown:
        bounds += _of_scheduler(block, shape, model, model.scheduler, bounds, without)
    kept = sorted((bound for bound in bounds if bound.kind not in without), key=lambda bound: -bound.cycles)
    if shape.copied and kept and may_be_held_up(model.loop_code, loop_size(block, shape), kept[0].cycles):
        lacking.append(HELD_UP)
    return CorePrediction(tuple(kept), tuple(lacking), tuple(unknown))


def _of_memory(
    block: Sequence[InstructionAccesses], memory: MemoryTimes, stores: StoreBound | None
) -> list[CoreBound]:
    """What stores, loads and the stack need, whatever waits for them."""
    bounds = []
    if stores is not None:
        bounds.append(CoreBound(BoundKind.MEMORY, stores.cycles, stores.why))
    blocked = blocked_loads(block)
    if blocked.per_iteration and (cycles := memory.blocked_by(vector=blocked.vector)) is not None:
        bounds.append(CoreBound(BoundKind.MEMORY, cycles * blocked.per_iteration, _BLOCKED))
    if (loads := load_bound(block, memory)) is not None:
        bounds.append(CoreBound(BoundKind.MEMORY, loads.cycles, loads.why))
    if (stack := stack_bound(block, memory)) is not None:
        bounds.append(CoreBound(BoundKind.MEMORY, stack.cycles, stack.why))
    return bounds


def _of_scheduler(
    block: Sequence[InstructionAccesses],
    shape: CodeShape,
    model: CoreModel,
    scheduler: CoreScheduler,
    others: Sequence[CoreBound],
    without: Collection[BoundKind],
) -> list[CoreBound]:
    """What the scheduler makes of its ports, where these limit the block.

    A policy is known from code that its ports limit. Where a chain does, simulated schedulers hold up what
    real ones do not: `add rdx, 1; cmp rdx, 64` takes 1.00 cycles on a Zen 5, simulated 1.71.
    """
    shared = paired_nops(block, model) + fused_moves(shape, model.front_end)
    if model.mapping is None or shared:  # how instructions share slots is not simulated
        return []
    work = work_of_block(block, model, model.mapping)
    ports = busiest_ports({mask: uops for mask, uops in work.items() if not mask & ~scheduler.ports})
    largest = max((bound.cycles for bound in others), default=0.0)
    if not ports or ports < shape.limiting * largest:
        return []

    def edges_of(graph: DependenceGraph) -> list[Edge]:
        return [
            edge
            for edge in graph.edges
            if (BoundKind.MEMORY if graph.is_through_memory(edge) else BoundKind.DEPENDENCES) not in without
        ]

    cycles = simulated_cycles(
        block, model, scheduler, jumps=own_jumps(shape, model), copies=shape.copies, edges_of=edges_of
    )
    if cycles is None:
        return []
    if largest < cycles < _AS_LONG * largest:  # within what the end of a simulation changes
        cycles = largest
    why = f"ports allow {ports:.2f}, the scheduler makes it {cycles:.2f}"
    return [CoreBound(BoundKind.SCHEDULER, cycles, why)]


def _chains(
    block: Sequence[InstructionAccesses], model: CoreModel, others: float, copies: int
) -> tuple[DependenceBound, DependenceBound]:
    """Through registers alone, and through all. Where the `others` hold a block up, nothing is queued."""
    if any(one.scheme in model.unqueued for one in block):
        unqueued = dependence_bounds(block, model.without_queues, copies)
        if unqueued[1].cycles <= others:
            return unqueued
    return dependence_bounds(block, model, copies)


def _of_chain(kind: BoundKind, found: DependenceBound) -> CoreBound:
    return CoreBound(kind, found.cycles, _chain_words(found.chain), found.chain)


def _chain_words(chain: Sequence[ChainStep]) -> str:
    if not chain:
        return "nothing waits for the iteration before"
    return f"a chain of {len(chain)} step{'s' if len(chain) > 1 else ''}"


def _named(one: InstructionAccesses) -> str:
    return one.scheme or "an instruction of no scheme"
