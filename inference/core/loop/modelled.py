"""A block as a core model sees it, under assumptions and with hypothetical changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from inference.core.core_model.bounds import predict_core
from inference.core.core_model.critical_cycles import Edge
from inference.core.core_model.dependences import MEMORY, ChainStep, DependenceGraph
from inference.core.core_model.memory_bounds import memory_bounds, store_bound
from inference.core.core_model.model import CoreModel
from inference.core.core_model.nearest import NearestSchemes
from inference.core.core_model.port_work import Work, port_pressures, port_work
from inference.core.core_model.prediction import (
    Assumptions,
    BoundKind,
    CodeShape,
    CoreBound,
    CorePrediction,
    SchemeSubstitution,
    jump_schemes,
    shape_of,
)
from inference.core.core_model.stored_values import last_write, with_single_page
from inference.core.loop.values import Changes
from inference.isa.blocks import Block, accesses_of, fused_places, name_of_location
from inference.isa.dependences import InstructionAccesses, OperandAccess

_FULL = 0.99
"""Share of the largest load from which on a port is as busy."""


@dataclass(frozen=True)
class ModelledBlock:
    """A block with what a core model needs to know of it.

    Args:
        block: The block.
        accesses: Reads and writes of its instructions, with the hypothetical changes.
        shape: Its code.
        model: The core, extended by the substitutions.
        substitutions: {scheme: those of it}.
        without: Bounds that are left out.
        ports: Names of the ports, as pages show them.
        may_compile: Whether the simulation may be compiled first, which takes half a minute.
    """

    block: Block
    accesses: tuple[InstructionAccesses, ...]
    shape: CodeShape
    model: CoreModel
    substitutions: Mapping[str, tuple[SchemeSubstitution, ...]]
    without: Collection[BoundKind]
    ports: tuple[str, ...] = ()
    may_compile: bool = True

    def mnemonic(self, place: int) -> str:
        """The operation of an instruction of the listing."""
        instruction, text = self.block.listing[place]
        return (instruction.scheme or text).partition(" ")[0]

    @cached_property
    def prediction(self) -> CorePrediction:
        return predict_core(self.accesses, self.shape, self.model, self.without)

    @cached_property
    def graph(self) -> DependenceGraph:
        return DependenceGraph(self.accesses, self.model, self.shape.copies)

    @cached_property
    def stores(self) -> CoreBound | None:
        """The bound of the block's stores."""
        return store_bound(self.accesses, self.model.memory)

    @cached_property
    def fused(self) -> frozenset[int]:
        """The places of instructions that share the slot of the one behind them."""
        front_end = self.model.front_end
        return frozenset() if front_end is None else fused_places(self.block, front_end.fused or ())

    @cached_property
    def memory_throughput(self) -> float:
        """Cycles of the block's loads and stores, without what waits for them."""
        if BoundKind.MEMORY in self.without:
            return 0.0
        bounds = memory_bounds(self.accesses, self.model.memory, self.stores)
        return max((bound.cycles for bound in bounds), default=0.0)

    @cached_property
    def works(self) -> Sequence[Work | None]:
        """The work of each instruction of the listing; None where it is not known."""
        if self.model.mapping is None:
            return [None] * len(self.block.listing)
        return port_work(self.accesses, self.shape, self.model, self.model.mapping, self.stores)

    @cached_property
    def pressures(self) -> Sequence[tuple[float, ...] | None]:
        """Cycles of each instruction of the listing on each port in a fair optimal distribution."""
        return self._distribute[0]

    @cached_property
    def port_loads(self) -> tuple[float, ...]:
        """The sums of `pressures` over the instructions."""
        return self._distribute[1]

    @property
    def busiest_ports(self) -> tuple[str, ...]:
        """The names of the ports with the largest load; () where no port has any."""
        highest_load = max(self.port_loads, default=0.0)
        loads = zip(self.ports, self.port_loads, strict=True)
        return tuple(port for port, load in loads if highest_load and load >= _FULL * highest_load)

    @cached_property
    def _distribute(self) -> tuple[list[tuple[float, ...] | None], tuple[float, ...]]:
        return port_pressures(self.works, len(self.ports))


def modelled(
    block: Block,
    model: CoreModel,
    nearest: NearestSchemes | None,
    assumed: Assumptions,
    changes: Changes,
    port_names: Mapping[str, str] | None = None,
) -> ModelledBlock:
    """The block on the core under assumptions.

    Args:
        block: The block.
        model: The core.
        nearest: Substitutes undescribed schemes of the model; None to leave them unknown.
        assumed: Its `nearest` is ignored.
        changes: Hypothetical changes of the block.
        port_names: {port: its name}; others are called as in the mapping.
    """
    accesses = accesses_of(block, equal_start=assumed.alike)
    if model.memory.serves_other_pages:
        accesses = with_single_page(accesses)
    substitutions: dict[str, tuple[SchemeSubstitution, ...]] = {}
    if nearest is not None:
        texts = [instruction.scheme for instruction in accesses if instruction.scheme is not None]
        for substitution in nearest.substitutions([*texts, *jump_schemes(block)]):
            uops = substitutions.get(substitution.scheme, ())
            substitutions[substitution.scheme] = (*uops, substitution)
        model = nearest.model
    shape = shape_of(block, in_loop=assumed.in_loop)
    changed = _with_changes(accesses, changes, block.isa)
    ports = () if model.mapping is None else model.mapping.ports
    names = tuple((port_names or {}).get(port, port) for port in ports)
    return ModelledBlock(block, changed, shape, model, substitutions, assumed.without, names)


def dependence_key(producer: int, consumer: int, location: str, isa: str) -> str:
    """The key of a dependence in `Changes.without_dependences`; `location`: as in accesses."""
    return f"{producer}-{consumer}-{location_name(location, isa)}"


def critical_chain(prediction: CorePrediction) -> tuple[ChainStep, ...]:
    """The longest chain of all bounds, () without any."""
    chains = [bound for bound in prediction.bounds if bound.chain]
    return max(chains, key=lambda bound: bound.cycles).chain if chains else ()


def critical_keys(chain: Sequence[ChainStep], isa: str) -> dict[str, ChainStep]:
    """{key of a dependence: the step that waits for it}, in the order of a chain."""
    return {
        dependence_key(chain[k - 1].instruction, step.instruction, step.location, isa): step
        for k, step in enumerate(chain)
    }


def key_of_edge(graph: DependenceGraph, edge: Edge, isa: str) -> str:
    """The key of the dependence that an edge belongs to."""
    return dependence_key(graph.nodes[edge.source][0], graph.nodes[edge.target][0], edge.location, isa)


def location_name(location: str, isa: str) -> str:
    """The name of a location of an instruction set, or `MEMORY`."""
    return MEMORY if location in ("", MEMORY) else name_of_location(location, isa)


def _with_changes(
    block: tuple[InstructionAccesses, ...], changes: Changes, isa: str
) -> tuple[InstructionAccesses, ...]:
    def changed(place: int, access: OperandAccess) -> OperandAccess:
        last = last_write(block, place, access)
        if last is None:
            return access
        key = dependence_key(last.writer, place, access.location, isa)
        return access._replace(is_independent=True) if key in changes.without_dependences else access

    latencies = {
        place: cycles
        for place, cycles in changes.latencies.items()
        if place < len(block) and not (changes.loads_hit and block[place].loads)
    }
    result = []
    for place, instruction in enumerate(block):
        row = instruction
        if changes.without_dependences:
            row = row._replace(
                reads=tuple(changed(place, access) for access in row.reads),
                writes=tuple(changed(place, access) for access in row.writes),  # for false dependencies
            )
        result.append(row._replace(latency=latencies[place]) if place in latencies else row)
    return tuple(result)
