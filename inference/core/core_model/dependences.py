"""The dependence graph of a block, whose largest cycle ratio bounds an iteration.

A node is a value that an instruction writes: (instruction, destination operand). An edge leads to it from the
value of each of its sources, with the latency between these two operands; from the previous iteration where
the source was written there. A stored value reaches a load of the same place after the forwarding latency.
Where the latency of a pair of operands is unknown, it is one cycle, and that of a load the core's load
latency. Neighbours of some kinds take longer together (`BypassTimes`). A destination that an instruction only
writes is a source as well where the core waits for it: a false dependency.

The largest ratio of cycles to iterations bounds an iteration (`critical_cycles`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inference.core.core_model.critical_cycles import CriticalCycle, Edge, critical_cycle
from inference.core.core_model.model import CoreModel
from inference.core.core_model.stored_values import LastWrite, StoredValues, last_write, serves
from inference.isa.dependences import InstructionAccesses, MemoryPlace, OperandAccess

UNKNOWN_LATENCY = 1.0
ASSUMED_BASIS = "assumed"
"""Basis of the cycles of a pair of operands whose latency is unknown."""
AT_MOST_BASIS = "a bound"
"""Basis of cycles of which only the most is known."""
FALSE_DEPENDENCY_BASIS = "a false dependency"
"""Basis of the cycles from a destination's old value, which the instruction does not read."""
OVERRIDE_BASIS = "given"
"""Basis of the cycles of an instruction whose latency is an assumption."""
BYPASS_BASIS = "with half of the extra time of both next to each other"
"""Basis of the cycles between neighbours of kinds that delay each other."""
MEMORY = "memory"
_REGISTERS = ("general", "vector")
IN_ADDRESS = ("address", "base", "index")
"""Endings of the names of operands that an address is computed from."""
WRITTEN_BASE = "base"
"""The address register that a pre- or post-indexed access moves: it does not wait for what is loaded."""


@dataclass(frozen=True, slots=True)
class ChainStep:
    """A step of the critical chain: the instruction's index, its operands, and the cycles between them.

    `basis`: what the cycles rest on, "" where they were measured by themselves.
    """

    instruction: int
    source: str
    destination: str
    cycles: float
    location: str
    basis: str = ""


@dataclass(frozen=True, slots=True)
class DependenceBound:
    """Cycles per iteration, and a chain that takes as long."""

    cycles: float
    chain: tuple[ChainStep, ...]

    @property
    def through_memory(self) -> bool:
        """Whether the chain contains a store and a load of its value."""
        return any(step.location == MEMORY for step in self.chain)


def overriding_latency(instruction: InstructionAccesses, source: str) -> float | None:
    """The cycles from a source to a result by assumption, None where it is the core's own."""
    is_late = instruction.loads and not source.endswith(IN_ADDRESS)
    return None if is_late else instruction.latency


def _counts_with_load(source: str, destination: str) -> bool:
    """Whether a value is stored: the latency of its load then includes that of the store."""
    return destination.endswith("data") and not source.endswith(IN_ADDRESS)


def dependence_bounds(
    block: Sequence[InstructionAccesses], model: CoreModel, copies: int = 1
) -> tuple[DependenceBound, DependenceBound]:
    """The bounds of a block in a loop: through registers alone, and through registers and memory.

    `copies`: see `DependenceGraph`.
    """
    graph = DependenceGraph(block, model, copies)
    bound = graph.bound(graph.edges)
    if not bound.through_memory:
        return bound, bound
    return graph.bound([edge for edge in graph.edges if not graph.is_through_memory(edge)]), bound


class DependenceGraph:
    """`nodes`: (instruction, destination operand) by number; `edges` between them, see the module.

    `copies`: consecutive copies of the block in the executed loop.
    """

    def __init__(self, block: Sequence[InstructionAccesses], model: CoreModel, copies: int = 1) -> None:
        self._block = block
        self._model = model
        self._stored = StoredValues(block, model.memory, copies)
        self.nodes: list[tuple[int, str]] = []
        self._numbers: dict[tuple[int, str], int] = {}
        for place, instruction in enumerate(block):
            for access in instruction.writes:
                key = place, access.operand
                if key not in self._numbers:
                    self._numbers[key] = len(self.nodes)
                    self.nodes.append(key)
        writes = [access for instruction in block for access in instruction.writes]
        self._registers = {access.location for access in writes}
        self._has_stores = any(access.memory is not None for access in writes)
        self.edges = list(self._edges())

    def bound(self, edges: Sequence[Edge]) -> DependenceBound:
        critical: CriticalCycle = critical_cycle(len(self.nodes), edges)
        return DependenceBound(critical.cycles, tuple(self._step(edge) for edge in critical.edges))

    def is_through_memory(self, edge: Edge) -> bool:
        """Whether the edge leads from a store to a load."""
        return edge.location == MEMORY

    def _step(self, edge: Edge) -> ChainStep:
        place, destination = self.nodes[edge.target]
        return ChainStep(place, edge.operand, destination, edge.cycles, edge.location, self.basis(edge))

    def basis(self, edge: Edge) -> str:
        """What the cycles of an edge rest on, as in `ChainStep`."""
        place, destination = self.nodes[edge.target]
        if edge.location == MEMORY:
            is_known = self._operation(place, destination) is not None
            return "" if is_known or self.nodes[edge.source][0] == place else ASSUMED_BASIS
        basis = self._basis(place, edge.operand, destination)
        if self._excess(self.nodes[edge.source], place, (edge.operand, destination)):
            basis = ", ".join(filter(None, (basis, BYPASS_BASIS)))
        return basis

    def is_assumed(self, edge: Edge) -> bool:
        return self.basis(edge).startswith(ASSUMED_BASIS)

    def computation(self, edge: Edge) -> float:
        """Cycles of an edge through memory without storing and loading the value."""
        operation = self._operation(*self.nodes[edge.target])
        return min(edge.cycles, UNKNOWN_LATENCY if operation is None else operation)

    def _basis(self, place: int, source: str, destination: str) -> str:
        instruction = self._block[place]
        scheme = instruction.scheme or ""
        if _counts_with_load(source, destination):
            return ""
        if overriding_latency(instruction, source) is not None:
            return OVERRIDE_BASIS
        if scheme in self._model.moves:
            return ""
        if self._is_only_written(place, source):
            return FALSE_DEPENDENCY_BASIS
        if (source, destination) not in self._model.latencies_of(self._block[place]):
            return ASSUMED_BASIS
        return self._model.bases.get(scheme, {}).get((source, destination), "")

    def _edges(self) -> Iterator[Edge]:
        for place, instruction in enumerate(self._block):
            destinations = dict.fromkeys(access.operand for access in instruction.writes)
            is_foreseen = self._model.memory.foresees and self._is_served(place)
            for access in (*instruction.reads, *self._false_reads(instruction)):
                if not self._is_written(access):
                    continue
                last = last_write(self._block, place, access)
                if last is None or (is_foreseen and access.operand.endswith(IN_ADDRESS)):
                    continue
                for destination in destinations:
                    cycles = self._latency(place, access, destination, last)
                    if cycles is None:
                        continue
                    yield Edge(
                        self._numbers[last.writer, last.access.operand],
                        self._numbers[place, destination],
                        cycles,
                        last.iterations,
                        access.operand,
                        access.location or MEMORY,
                    )

    def _excess(self, producer: tuple[int, str], place: int, ends: tuple[str, str]) -> float:
        """Additional cycles of an instruction with these operands because of the kind of its producer."""
        writer, written = producer
        producing, waiting = self._block[writer].scheme or "", self._block[place].scheme or ""
        return self._model.bypasses.between(producing, written, waiting, ends)

    def _false_reads(self, instruction: InstructionAccesses) -> list[OperandAccess]:
        """Registers that the instruction waits for although it only writes them."""
        waited = self._model.false_dependences.get(instruction.scheme or "", {})
        operands = waited.keys() - {access.operand for access in instruction.reads}
        return [access for access in instruction.writes if access.operand in operands]

    def _is_only_written(self, place: int, operand: str) -> bool:
        return all(access.operand != operand for access in self._block[place].reads)

    def _is_written(self, access: OperandAccess) -> bool:
        """Whether the block may write what is read: most loop bodies of experiments write few registers."""
        return self._has_stores if access.memory is not None else access.location in self._registers

    def _is_served(self, place: int) -> bool:
        """Whether the block stored everything that the instruction loads, by an address without an index."""
        loads = [access for access in self._block[place].reads if access.memory is not None]
        return bool(loads) and all(serves(last_write(self._block, place, access), access) for access in loads)

    def _latency(self, place: int, access: OperandAccess, destination: str, last: LastWrite) -> float | None:
        """Cycles from a source to a destination; None where the destination does not wait for it."""
        instruction = self._block[place]
        scheme = instruction.scheme or ""
        latencies = self._model.latencies_of(instruction)
        if access.memory is not None and last.memory is not None:
            measured = latencies.get((access.operand, destination))
            if last.writer == place and measured is not None:
                updated = self._stored.updated(place, access.memory, last, measured)
                # Measured by an address without an index.
                if updated > measured or not access.memory.is_indexed:
                    return updated
            cycles = self._stored.updated_elsewhere(place, access.memory, last)
            return self._through_memory(place, access.memory, last, destination) if cycles is None else cycles
        is_free = instruction.same_register and scheme in self._model.free
        if is_free and access.location.startswith(_REGISTERS):
            return None  # flags are waited for all the same
        if _counts_with_load(access.operand, destination):
            return 0.0
        if scheme in self._model.moves and instruction.latency is None:
            return 0.0
        return self._through_register(place, access, destination, last)

    def _through_register(
        self, place: int, access: OperandAccess, destination: str, last: LastWrite
    ) -> float | None:
        """Cycles from a register or flags to a destination; None where the destination does not wait."""
        instruction = self._block[place]
        latencies = self._model.latencies_of(instruction)
        loads = access.operand.endswith("address") and instruction.loads and destination != WRITTEN_BASE
        default = UNKNOWN_LATENCY if not loads else self._load_to_result(instruction)
        if self._is_only_written(place, access.operand):  # it takes as long to each result
            default = self._model.false_dependences[instruction.scheme or ""][access.operand]
        ends = access.operand, destination
        cycles = latencies.get(ends, default)
        if cycles is None:
            return None
        override = overriding_latency(instruction, access.operand)
        if override is not None:
            return override
        cycles += self._excess((last.writer, last.access.operand), place, ends)
        if not instruction.behind_stack:
            return cycles
        moved = any(written.location == access.location for written in instruction.writes)
        return max(cycles, self._model.memory.behind_pop or 0.0) if moved else cycles

    def _load_to_result(self, instruction: InstructionAccesses) -> float:
        """Cycles from an address to the result, where that was not measured."""
        return self._model.memory.load + (0.0 if instruction.only_loads else UNKNOWN_LATENCY)

    def _through_memory(self, place: int, read: MemoryPlace, last: LastWrite, destination: str) -> float:
        vector = self._block[place].vector or self._block[last.writer].vector
        cycles = self._stored.loaded(place, read, last, vector=vector)
        operation = self._operation(place, destination)
        return cycles + (UNKNOWN_LATENCY if operation is None else operation)

    def _operation(self, place: int, destination: str) -> float | None:
        """Cycles that an instruction takes beyond its load; None where they are not known."""
        instruction = self._block[place]
        if instruction.only_loads:
            return 0.0
        inner_edges = [
            (source, cycles)
            for (source, target), cycles in self._model.latencies_of(instruction).items()
            if target == destination and cycles
        ]
        registers = [cycles for source, cycles in inner_edges if source.isdecimal()]
        if registers or not inner_edges:
            return min(registers, default=None)
        if instruction.vector or destination.endswith("data"):
            return UNKNOWN_LATENCY
        loaded = [
            cycles - self._model.memory.load for source, cycles in inner_edges if source.endswith("address")
        ]
        return max(min(loaded, default=UNKNOWN_LATENCY), 0.0)
