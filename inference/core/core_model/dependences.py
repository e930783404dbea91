"""The dependence graph of a block, whose largest cycle ratio bounds an iteration.

A node is a value that an instruction writes: (instruction, destination operand). An edge leads to it from
the value that one of its sources has, with the latency between these two operands; from the iteration before
where that was written there. A stored value reaches a load of the same place in the time that forwarding
takes. Where nothing is known of a pair of operands, it takes a cycle, and a load what loads take.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inference.core.core_model.cycles import CriticalCycle, Edge, critical_cycle
from inference.core.core_model.model import CoreModel, is_contained
from inference.isa.dependences import InstructionAccesses, MemoryPlace, OperandAccess

UNKNOWN_LATENCY = 1.0
ASSUMED = "assumed"
"""What the cycles of a pair of operands rest on of which nothing is known."""
MEMORY = "memory"
_REGISTERS = ("general", "vector")
_IN_ADDRESS = ("address", "base", "index")
_MOVES = ("mov", "vmov", "lddqu", "vlddqu", "pop ")
"""How schemes begin whose result is what they load."""


@dataclass(frozen=True, slots=True)
class ChainStep:
    """A step of the critical chain: the instruction (by its place), by which operands, and how long.

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
    """Cycles per iteration, and the chain that takes as long."""

    cycles: float
    chain: tuple[ChainStep, ...]

    @property
    def through_memory(self) -> bool:
        """Whether a value is stored and loaded again on the way."""
        return any(step.location == MEMORY for step in self.chain)


def iterations_of_blocked_load(block: Sequence[InstructionAccesses]) -> int:
    """In how many iterations the cache is waited for once; 0 where it is not.

    A load that wants more than the store before it wrote, or has another address for it, waits until the
    cache has that. The next store of this kind waits for the load, since instructions end in their order.
    """
    found = [
        last.iterations + (last.writer < place)
        for place, one in enumerate(block)
        for read in one.reads
        if read.memory is not None
        and (last := _last_write(block, place, read)) is not None
        and (stored := last.memory) is not None
        and not _has_all(stored, read.memory)
    ]
    return min(found, default=0)


def _has_all(stored: MemoryPlace, loaded: MemoryPlace) -> bool:
    """Whether a store wrote all that a load wants, by the same page."""
    contained = is_contained(stored.bits, loaded.bits, loaded.offset - stored.offset)
    return stored.page == loaded.page and contained


@dataclass(frozen=True, slots=True)
class _LastWrite:
    """By which instruction (its place), and how many iterations ago; `memory` is where it stored then."""

    access: OperandAccess
    writer: int
    iterations: int
    memory: MemoryPlace | None


def _last_write(block: Sequence[InstructionAccesses], place: int, read: OperandAccess) -> _LastWrite | None:
    """The last write of any part of what is read: in this iteration before, else in the one before."""
    behind = place if read.memory is None else 0  # before it, in the iteration before, memory was elsewhere
    for iterations, candidates in (
        (0, range(place - 1, -1, -1)),
        (1, range(len(block) - 1, behind - 1, -1)),
    ):
        for writer in candidates:
            for written in block[writer].writes:
                if read.memory is None or written.memory is None:
                    if read.location and written.location == read.location:
                        return _LastWrite(written, writer, iterations, None)
                    continue
                memory = written.memory.an_iteration_ago() if iterations else written.memory
                if memory is not None and memory.overlaps(read.memory):
                    return _LastWrite(written, writer, iterations, memory)
    return None


def _serves(last: _LastWrite | None, read: OperandAccess) -> bool:
    """Whether the last write is a store that has all that is read, by an address without an index."""
    if last is None or last.memory is None or read.memory is None:
        return False
    return not read.memory.is_indexed and _has_all(last.memory, read.memory)


def dependence_bounds(
    block: Sequence[InstructionAccesses], model: CoreModel
) -> tuple[DependenceBound, DependenceBound]:
    """The bounds of a block whose iterations follow each other: through registers alone, and through all."""
    graph = DependenceGraph(block, model)
    whole = graph.bound(graph.edges)
    if not whole.through_memory:
        return whole, whole
    return graph.bound([edge for edge in graph.edges if not graph.is_through_memory(edge)]), whole


class DependenceGraph:
    """`nodes`: (instruction, destination operand) by number; `edges` between them, see the module."""

    def __init__(self, block: Sequence[InstructionAccesses], model: CoreModel) -> None:
        self._block = block
        self._model = model
        self.nodes: list[tuple[int, str]] = []
        self._numbers: dict[tuple[int, str], int] = {}
        self._by: dict[Edge, tuple[str, str]] = {}
        for place, one in enumerate(block):
            for access in one.writes:
                key = place, access.operand
                if key not in self._numbers:
                    self._numbers[key] = len(self.nodes)
                    self.nodes.append(key)
        self.edges = list(self._edges())

    def bound(self, edges: Sequence[Edge]) -> DependenceBound:
        """What these edges allow."""
        found: CriticalCycle = critical_cycle(len(self.nodes), edges)
        return DependenceBound(found.cycles, tuple(self._step(edge) for edge in found.edges))

    def is_through_memory(self, edge: Edge) -> bool:
        """Whether it leads from a store to a load."""
        return self._by[edge][1] == MEMORY

    def _step(self, edge: Edge) -> ChainStep:
        place, destination = self.nodes[edge.target]
        source, location = self._by[edge]
        basis = "" if location == MEMORY else self._basis(place, source, destination)
        return ChainStep(place, source, destination, edge.cycles, location, basis)

    def _basis(self, place: int, source: str, destination: str) -> str:
        scheme = self._block[place].scheme or ""
        if scheme in self._model.moves:
            return ""
        if (source, destination) not in self._model.latencies.get(scheme, {}):
            return ASSUMED
        return self._model.bases.get(scheme, {}).get((source, destination), "")

    def _edges(self) -> Iterator[Edge]:
        for place, one in enumerate(self._block):
            destinations = dict.fromkeys(access.operand for access in one.writes)
            is_foreseen = self._model.memory.foresees and self._is_served(place)
            for access in one.reads:
                last = _last_write(self._block, place, access)
                if last is None or (is_foreseen and access.operand.endswith(_IN_ADDRESS)):
                    continue
                for destination in destinations:
                    cycles = self._latency(place, access, destination, last)
                    if cycles is None:
                        continue
                    edge = Edge(
                        self._numbers[last.writer, last.access.operand],
                        self._numbers[place, destination],
                        cycles,
                        last.iterations,
                    )
                    self._by[edge] = access.operand, access.location or MEMORY
                    yield edge

    def _is_served(self, place: int) -> bool:
        """Whether the block stored all that the instruction loads, by an address without an index."""
        loads = [each for each in self._block[place].reads if each.memory is not None]
        return bool(loads) and all(_serves(_last_write(self._block, place, each), each) for each in loads)

    def _latency(self, place: int, access: OperandAccess, destination: str, last: _LastWrite) -> float | None:
        """From a source to a destination; None where the destination does not wait for it."""
        one = self._block[place]
        scheme = one.scheme or ""
        known = self._model.latencies.get(scheme, {})
        if access.memory is not None and last.memory is not None:
            own = known.get((access.operand, destination))
            if last.writer == place and own is not None and not access.memory.is_indexed:
                return own  # measured as it is: memory that the instruction itself has written
            return self._through_memory(access.memory, last, one)
        if one.one_register and scheme in self._model.free and access.location.startswith(_REGISTERS):
            return None  # flags are waited for all the same
        in_address = access.operand.endswith(_IN_ADDRESS)
        stored = destination.endswith("data") and not in_address  # counts with its load
        if stored or scheme in self._model.moves:
            return 0.0
        loads = access.operand.endswith("address") and any(each.memory for each in one.reads)
        unknown = UNKNOWN_LATENCY if not loads else self._loaded(scheme)
        cycles = known.get((access.operand, destination), unknown)
        if cycles is None or not one.behind_stack:
            return cycles
        moved = any(written.location == access.location for written in one.writes)
        return max(cycles, self._model.memory.behind_pop or 0.0) if moved else cycles

    def _loaded(self, scheme: str) -> float:
        """From an address to the result, where that was not measured."""
        return self._model.memory.load + (0.0 if scheme.startswith(_MOVES) else UNKNOWN_LATENCY)

    def _through_memory(self, read: MemoryPlace, last: _LastWrite, one: InstructionAccesses) -> float:
        assert last.memory is not None, "asked of what was stored"
        vector = one.vector or self._block[last.writer].vector
        cycles = self._model.memory.between(last.memory, read, vector=vector)
        return cycles if (one.scheme or "").startswith(_MOVES) else cycles + UNKNOWN_LATENCY
