"""What the ports, the issue slots and the width of a core allow a block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from inference.core.core_model.model import CoreModel
from inference.core.core_model.prediction import BoundKind, CodeShape, CoreBound
from inference.core.core_model.shared_slots import fused_moves, is_portless, own_jumps, paired_nops
from inference.core.core_model.stores import StoreBound, without_shared_stores
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.throughput import port_bound, work_of
from inference.isa.dependences import InstructionAccesses

_PARTS = 1000
"""Of a µop, in which parts of one are counted."""


def bounds_of_mapping(
    block: Sequence[InstructionAccesses],
    shape: CodeShape,
    model: CoreModel,
    mapping: PortMapping,
    stores: StoreBound | None,
) -> list[CoreBound]:
    """The bounds of ports, issue slots and instructions per cycle, as far as the mapping has them.

    `stores`: the bound of the block's stores, whose µops share ports with others less than the mapping says.
    """
    described = [one for one in block if one.scheme in mapping.usage]
    others = [one for one in block if one.scheme not in mapping.usage]
    alone = Counter(
        one.scheme
        for one in others
        if one.scheme in model.alone and one.scheme not in model.moves and not _is_a_store(one, model, stores)
    )
    bounds = []
    work = work_of_block(block, model, mapping)
    if stores is not None:
        work = without_shared_stores(work, block, mapping, stores)
    ports = CoreBound(BoundKind.PORTS, busiest_ports(work), "the busiest ports")
    by_time = [
        CoreBound(
            BoundKind.PORTS, count * model.alone[scheme], f"{scheme} takes {model.alone[scheme]:.2f} alone"
        )
        for scheme, count in _counted_schemes(alone).items()
    ]
    bounds.append(max([ports, *by_time], key=lambda bound: bound.cycles))
    everything = [
        *described,
        *(one for one in others if one.scheme in model.moves or one.scheme in model.alone),
    ]
    jumps = own_jumps(shape, model) - paired_nops(block, model) - fused_moves(shape, model.front_end)
    if mapping.issue_width is not None:
        slots = sum(mapping.slots_of(one.scheme or "") for one in everything) + jumps
        bounds.append(CoreBound(BoundKind.SLOTS, slots / mapping.issue_width, f"{slots:g} issue slots"))
    if mapping.r_max is not None:
        count = len(everything) + jumps
        bounds.append(CoreBound(BoundKind.INSTRUCTIONS, count / mapping.r_max, f"{count:g} instructions"))
    return bounds


def work_of_block(
    block: Sequence[InstructionAccesses], model: CoreModel, mapping: PortMapping
) -> dict[int, float]:
    """The µops of what is described, {port mask: µops}."""
    working = Counter(
        one.scheme for one in block if one.scheme in mapping.usage and not is_portless(one, model)
    )
    return {**work_of(mapping, Experiment.of(_counted_schemes(working)))} if working else {}


def busiest_ports(work: Mapping[int, float]) -> float:
    """The bound of the ports, for numbers of µops that need not be whole."""
    return port_bound({mask: round(mass * _PARTS) for mask, mass in work.items()}) / _PARTS


def _is_a_store(one: InstructionAccesses, model: CoreModel, stores: StoreBound | None) -> bool:
    """Whether what it takes alone is what a store takes that goes to another line than the one before."""
    limit = model.memory.to_another_line
    return (
        stores is not None
        and limit is not None
        and any(access.memory is not None for access in one.writes)
        and model.alone[one.scheme or ""] < 1.5 * limit  # as long as one store, rather than two
    )


def _counted_schemes(counted: Counter[str | None]) -> dict[str, int]:
    return {scheme: count for scheme, count in counted.items() if scheme is not None}
