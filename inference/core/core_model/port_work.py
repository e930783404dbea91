"""The µops that each instruction of a block gives to ports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from inference.core.core_model.front_end_limits import FrontEndLimits
from inference.core.core_model.memory_bounds import ports_of_loads, shared_stores
from inference.core.core_model.model import CoreModel
from inference.core.core_model.prediction import (
    SLOT,
    CodeShape,
    CoreBound,
    branch_of,
    is_portless,
    is_timed_nop,
)
from inference.core.mapping import PortMapping
from inference.core.schedule import distribution
from inference.core.throughput import port_bound
from inference.isa.dependences import InstructionAccesses

UOP_PARTS = 1000
"""Parts of a µop in which fractions are distributed over ports."""
Work = Mapping[int, float]
"""{port mask: µops}; numbers of µops need not be whole."""


def port_work(
    block: Sequence[InstructionAccesses],
    shape: CodeShape,
    model: CoreModel,
    mapping: PortMapping,
    stores: CoreBound | None = None,
) -> list[Work | None]:
    """The work of each instruction, and of a loop's own jump as the last one; None where it is not known.

    A comparison that is fused with the jump has none where the jump's µops are known.

    Args:
        block: The instructions.
        shape: Their code.
        model: The core.
        mapping: Its ports.
        stores: The bound of the block's stores, whose µops share ports with others less than the mapping
            implies.
    """
    works: list[Work | None] = [work_of_instruction(instruction, model, mapping) for instruction in block]
    if stores is not None:
        works = shared_stores(works, block, mapping, stores.cycles)
    limits = model.front_end or FrontEndLimits()
    if shape.loop and shape.pairs:
        compared = block[-1].scheme or "" if block else ""
        branch = branch_of(
            shape.pairs[-1], shape.jumps, compared, mapping.usage, limits.fused, limits.free_branches
        )
        if branch.replaced:
            works[-1] = _load_work(works[-1], mapping)
        works.append(None if branch.scheme == SLOT else dict(mapping.usage.get(branch.scheme, ())))
    return works


def _load_work(work: Work | None, mapping: PortMapping) -> Work:
    """What remains of a comparison whose jump counts for it: its load."""
    loads = ports_of_loads(mapping) or 0
    return {mask: uops for mask, uops in (work or {}).items() if not mask & ~loads}


def total_work(works: Iterable[Work | None]) -> dict[int, float]:
    """The work of all instructions whose work is known."""
    total: Counter[int] = Counter()
    for work in works:
        for mask, uops in (work or {}).items():
            total[mask] += uops  # type: ignore[assignment]
    return {**total}


def busiest_ports(work: Mapping[int, float]) -> float:
    """The bound of the ports, for numbers of µops that need not be whole."""
    return port_bound({mask: round(mass * UOP_PARTS) for mask, mass in work.items()}) / UOP_PARTS


def work_of_instruction(
    instruction: InstructionAccesses, model: CoreModel, mapping: PortMapping
) -> Work | None:
    """The work of an instruction by itself, None where it is not known."""
    if is_portless(instruction, model):
        return {}
    uops = mapping.usage.get(instruction.scheme or "")
    if uops is None:
        return {} if is_timed_nop(instruction, model) else None
    return dict(uops)


def port_pressures(
    works: Sequence[Work | None], ports: int
) -> tuple[list[tuple[float, ...] | None], tuple[float, ...]]:
    """The cycles of each instruction on each port in a fair optimal distribution, and their sums."""
    total = total_work(works)
    parts = {mask: round(UOP_PARTS * uops) for mask, uops in total.items()}
    spread = distribution({mask: amount for mask, amount in parts.items() if amount}, ports)
    shares: dict[int, list[tuple[int, float]]] = {}
    for (mask, port), amount in spread.shares.items():
        shares.setdefault(mask, []).append((port, amount / UOP_PARTS / total[mask]))
    pressures = [None if work is None else _pressure(work, shares, ports) for work in works]
    return pressures, tuple(load / UOP_PARTS for load in spread.loads)


def _pressure(work: Work, shares: Mapping[int, Sequence[tuple[int, float]]], ports: int) -> tuple[float, ...]:
    cycles = [0.0] * ports
    for mask, uops in work.items():
        for port, share in shares.get(mask, ()):
            cycles[port] += uops * share
    return tuple(cycles)
