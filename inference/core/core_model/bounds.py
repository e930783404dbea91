"""The bounds of a block on a core: each by itself, and the largest of them as the prediction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from inference.core.core_model.cycles import Edge
from inference.core.core_model.dependences import (
    ChainStep,
    DependenceBound,
    DependenceGraph,
    dependence_bounds,
)
from inference.core.core_model.last_writes import blocked_loads, on_one_page
from inference.core.core_model.loads import load_bound, stack_bound
from inference.core.core_model.loop_code import closing_slots, may_be_held_up, time_of_code
from inference.core.core_model.model import CoreModel, CoreScheduler, FrontEndLimits, MemoryTimes
from inference.core.core_model.scheduler import simulated_cycles
from inference.core.core_model.stores import StoreBound, store_bound, without_shared_stores
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.throughput import port_bound, work_of
from inference.isa.dependences import InstructionAccesses, reads_of_kept_flags
from inference.isa.unrolling import LoopSize

HELD_UP = "no loop of this size was measured: fetching may hold it up"
_BLOCKED = "a load wants more than a store before it wrote"
_PARTS = 1000
"""Of a µop, in which parts of one are counted."""
_NEARLY = 0.94
"""Share of the instructions per cycle that a core can execute, from which decoding does not hold it up: NOPs
are timed a few per cent slower than they are."""
LIMITING = 0.9
"""Share of the largest other bound from which on the scheduler's ports limit a block."""
_AS_LONG = 1.01
"""Times the largest other bound, up to which a simulated loop takes as long."""


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
class TakenScheme:
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
    taken: tuple[TakenScheme, ...] = ()

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
    register moves and operations on the copy right behind them.
    """

    size: int
    loop: bool
    pairs: tuple[str, ...] = ()
    copied: bool = False
    copies: int = 1
    moves: tuple[str, ...] = ()


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
        bounds += _of_mapping(block, shape, model, model.mapping, stores)
    if not model.latencies:
        lacking.append("no latencies: each takes a cycle")
    front_end = [] if model.front_end is None else [_front_end(block, shape, model, model.front_end)]
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
    if shape.copied and kept and may_be_held_up(model.loop_code, _loop_size(block, shape), kept[0].cycles):
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


def _of_mapping(
    block: Sequence[InstructionAccesses],
    shape: CodeShape,
    model: CoreModel,
    mapping: PortMapping,
    stores: StoreBound | None,
) -> list[CoreBound]:
    described = [one for one in block if one.scheme in mapping.usage]
    others = [one for one in block if one.scheme not in mapping.usage]
    alone = Counter(
        one.scheme
        for one in others
        if one.scheme in model.alone and one.scheme not in model.moves and not _is_a_store(one, model, stores)
    )
    bounds = []
    work = _work(block, model, mapping)
    if stores is not None:
        work = without_shared_stores(work, block, mapping, stores)
    ports = CoreBound(BoundKind.PORTS, _busiest(work), "the busiest ports")
    by_time = [
        CoreBound(
            BoundKind.PORTS, count * model.alone[scheme], f"{scheme} takes {model.alone[scheme]:.2f} alone"
        )
        for scheme, count in _named_only(alone).items()
    ]
    bounds.append(max([ports, *by_time], key=lambda bound: bound.cycles))
    everything = [
        *described,
        *(one for one in others if one.scheme in model.moves or one.scheme in model.alone),
    ]
    jumps = _jumps(shape, model) - _paired_nops(block, model) - _fused_moves(shape, model.front_end)
    if mapping.issue_width is not None:
        slots = sum(mapping.slots_of(one.scheme or "") for one in everything) + jumps
        bounds.append(CoreBound(BoundKind.SLOTS, slots / mapping.issue_width, f"{slots:g} issue slots"))
    if mapping.r_max is not None:
        count = len(everything) + jumps
        bounds.append(CoreBound(BoundKind.INSTRUCTIONS, count / mapping.r_max, f"{count:g} instructions"))
    return bounds


def _work(block: Sequence[InstructionAccesses], model: CoreModel, mapping: PortMapping) -> dict[int, float]:
    """The µops of what is described, {port mask: µops}."""
    working = Counter(
        one.scheme for one in block if one.scheme in mapping.usage and not _is_portless(one, model)
    )
    return {**work_of(mapping, Experiment.of(_named_only(working)))} if working else {}


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
    shared = _paired_nops(block, model) + _fused_moves(shape, model.front_end)
    if model.mapping is None or shared:  # how instructions share slots is not simulated
        return []
    work = _work(block, model, model.mapping)
    ports = _busiest({mask: uops for mask, uops in work.items() if not mask & ~scheduler.ports})
    largest = max((bound.cycles for bound in others), default=0.0)
    if not ports or ports < LIMITING * largest:
        return []

    def edges_of(graph: DependenceGraph) -> list[Edge]:
        return [
            edge
            for edge in graph.edges
            if (BoundKind.MEMORY if graph.is_through_memory(edge) else BoundKind.DEPENDENCES) not in without
        ]

    cycles = simulated_cycles(
        block, model, scheduler, jumps=_jumps(shape, model), copies=shape.copies, edges_of=edges_of
    )
    if cycles is None:
        return []
    if largest < cycles < _AS_LONG * largest:  # within what the end of a simulation changes
        cycles = largest
    why = f"ports allow {ports:.2f}, the scheduler makes it {cycles:.2f}"
    return [CoreBound(BoundKind.SCHEDULER, cycles, why)]


def _is_a_store(one: InstructionAccesses, model: CoreModel, stores: StoreBound | None) -> bool:
    """Whether what it takes alone is what a store takes that goes to another line than the one before."""
    limit = model.memory.to_another_line
    return (
        stores is not None
        and limit is not None
        and any(access.memory is not None for access in one.writes)
        and model.alone[one.scheme or ""] < 1.5 * limit  # as long as one store, rather than two
    )


def _busiest(work: Mapping[int, float]) -> float:
    """The bound of the ports, for numbers of µops that need not be whole."""
    return port_bound({mask: round(mass * _PARTS) for mask, mass in work.items()}) / _PARTS


def _paired_nops(block: Sequence[InstructionAccesses], model: CoreModel) -> float:
    """NOPs that take no slot of their own, but share that of the instruction beside them."""
    if model.front_end is None or not model.front_end.pairs_nops:
        return 0
    nops = sum(_is_nop(one) for one in block)
    return min(nops, len(block) / 2)


def _is_nop(one: InstructionAccesses) -> bool:
    return one.scheme is not None and one.scheme.partition(" ")[0] == "nop"


def _jumps(shape: CodeShape, model: CoreModel) -> int:
    """Instructions that a loop has beyond those of its body: its own jump, less those that become a part of
    the instruction before; 0 where it is not known which do."""
    fused = None if model.front_end is None else model.front_end.fused
    if not shape.loop or fused is None:
        return 0
    return 1 - _fused(shape, fused)


def _fused(shape: CodeShape, fused: Collection[str]) -> int:
    return sum(pair in fused for pair in shape.pairs)


def _chains(
    block: Sequence[InstructionAccesses], model: CoreModel, others: float, copies: int
) -> tuple[DependenceBound, DependenceBound]:
    """Through registers alone, and through all. Where the `others` hold a block up, nothing is queued."""
    if any(one.scheme in model.unqueued for one in block):
        unqueued = dependence_bounds(block, model.without_queues, copies)
        if unqueued[1].cycles <= others:
            return unqueued
    return dependence_bounds(block, model, copies)


def _fused_moves(shape: CodeShape, front_end: FrontEndLimits | None) -> int:
    """Moves that take no slot of their own, but that of the operation on the copy."""
    fused = () if front_end is None or front_end.fused is None else front_end.fused
    return sum(pair in fused for pair in shape.moves)


def _of_chain(kind: BoundKind, found: DependenceBound) -> CoreBound:
    return CoreBound(kind, found.cycles, _chain_words(found.chain), found.chain)


def _is_portless(one: InstructionAccesses, model: CoreModel) -> bool:
    if one.scheme in model.moves:
        return True
    return one.one_register and one.scheme in model.portless


def _front_end(
    block: Sequence[InstructionAccesses], shape: CodeShape, model: CoreModel, limits: FrontEndLimits
) -> CoreBound:
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
    paired = _paired_nops(block, model) + _fused_moves(shape, limits)
    width = None if model.mapping is None else model.mapping.r_max
    # Whatever runs at the core's width has passed the front end at that rate.
    most = limits.dispatched
    if most is not None and width is not None:
        most = max(most, width)
    if shape.loop and (limits.loop_capacity is None or instructions <= limits.loop_capacity):
        slots = instructions + 1 - _fused(shape, limits.fused or ()) - paired
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
    if shape.copied and (held_up := time_of_code(model.loop_code, _loop_size(block, shape))) is not None:
        known.append(held_up)
    cycles, why = max(known, default=(0.0, "nothing is known of it"))
    return CoreBound(BoundKind.FRONT_END, cycles, why)


def _portless(
    block: Sequence[InstructionAccesses], shape: CodeShape, model: CoreModel, limits: FrontEndLimits
) -> tuple[float, float | None, str]:
    """Moves and idioms that need no port: of these alone, `FrontEndLimits.slots` are handed over per cycle,
    which some cores do with more slots of anything else (Zen 5: 7.1 and 8)."""
    count = sum(_is_portless(one, model) for one in block) - _fused_moves(shape, limits)
    return count, limits.slots, f"{count} moves and idioms without a port"


def _loop_size(block: Sequence[InstructionAccesses], shape: CodeShape) -> LoopSize:
    return LoopSize(shape.copies * len(block), shape.copies * shape.size, shape.copies)


def _chain_words(chain: Sequence[ChainStep]) -> str:
    if not chain:
        return "nothing waits for the iteration before"
    return f"a chain of {len(chain)} step{'s' if len(chain) > 1 else ''}"


def _named(one: InstructionAccesses) -> str:
    return one.scheme or "an instruction of no scheme"


def _named_only(counted: Counter[str | None]) -> dict[str, int]:
    return {scheme: count for scheme, count in counted.items() if scheme is not None}
