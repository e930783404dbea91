"""The dependence graph of a block, whose largest cycle ratio bounds an iteration.

A node is a value that an instruction writes: (instruction, destination operand). An edge leads to it from the
value of each of its sources, with the latency between these two operands; from the previous iteration where
the source was written there. A stored value reaches a load of the same place after the forwarding latency.
Where the latency of a pair of operands is unknown, it is one cycle, and that of a load the core's load
latency. Neighbours of some kinds take longer together (`BypassTimes`). A destination that an instruction only
writes is a source as well where the core waits for it: a false dependency.

Along a cycle of dependences that spans n iterations and takes c cycles, an iteration takes c / n. Howard's
algorithm finds the largest ratio (Cochet-Terrasson et al. 1998; Dasdan 2004 compares algorithms).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inference.core.core_model.model import CoreModel
from inference.core.core_model.stored_values import LastWrite, StoredValues, last_write, serves
from inference.isa.dependences import InstructionAccesses, MemoryPlace, OperandAccess

_ROUNDING = 1e-9

UNKNOWN_LATENCY = 1.0
ASSUMED_BASIS = "assumed"
"""Basis of the cycles of a pair of operands whose latency is unknown."""
AT_MOST_BASIS = "a bound"
"""Basis of cycles of which only the most is known."""
FALSE_DEPENDENCY_BASIS = "a false dependency"
"""Basis of the cycles from a destination's old value, which the instruction does not read."""
GIVEN_BASIS = "given"
"""Basis of the cycles of an instruction whose latency is an assumption."""
BYPASS_BASIS = "with half of the extra time of both next to each other"
"""Basis of the cycles between neighbours of kinds that delay each other."""
MEMORY = "memory"
_REGISTERS = ("general", "vector")
IN_ADDRESS = ("address", "base", "index")
"""Endings of the names of operands that an address is computed from."""
_MOVES = ("mov", "vmov", "lddqu", "vlddqu", "pop ")
"""Beginnings of schemes whose result is the loaded value itself."""


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


def given_latency(instruction: InstructionAccesses, source: str) -> float | None:
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
        if given_latency(instruction, source) is not None:
            return GIVEN_BASIS
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
        loads = access.operand.endswith("address") and any(read.memory for read in instruction.reads)
        default = UNKNOWN_LATENCY if not loads else self._loaded(instruction.scheme or "")
        if self._is_only_written(place, access.operand):  # it takes as long to each result
            default = self._model.false_dependences[instruction.scheme or ""][access.operand]
        ends = access.operand, destination
        cycles = latencies.get(ends, default)
        if cycles is None:
            return None
        given = given_latency(instruction, access.operand)
        if given is not None:
            return given
        cycles += self._excess((last.writer, last.access.operand), place, ends)
        if not instruction.behind_stack:
            return cycles
        moved = any(written.location == access.location for written in instruction.writes)
        return max(cycles, self._model.memory.behind_pop or 0.0) if moved else cycles

    def _loaded(self, scheme: str) -> float:
        """Cycles from an address to the result, where that was not measured."""
        return self._model.memory.load + (0.0 if scheme.startswith(_MOVES) else UNKNOWN_LATENCY)

    def _through_memory(self, place: int, read: MemoryPlace, last: LastWrite, destination: str) -> float:
        vector = self._block[place].vector or self._block[last.writer].vector
        cycles = self._stored.loaded(place, read, last, vector=vector)
        operation = self._operation(place, destination)
        return cycles + (UNKNOWN_LATENCY if operation is None else operation)

    def _operation(self, place: int, destination: str) -> float | None:
        """Cycles that an instruction takes beyond its load; None where they are not known."""
        instruction = self._block[place]
        if (instruction.scheme or "").startswith(_MOVES):
            return 0.0
        own = [
            (source, cycles)
            for (source, target), cycles in self._model.latencies_of(instruction).items()
            if target == destination and cycles
        ]
        registers = [cycles for source, cycles in own if source.isdecimal()]
        if registers or not own:
            return min(registers, default=None)
        if instruction.vector or destination.endswith("data"):
            return UNKNOWN_LATENCY
        loaded = [cycles - self._model.memory.load for source, cycles in own if source.endswith("address")]
        return max(min(loaded, default=UNKNOWN_LATENCY), 0.0)


@dataclass(frozen=True, slots=True)
class Edge:
    """A dependence between nodes: `cycles` later, `iterations` later.

    `operand`: of the consumer, which reads `location`.
    """

    source: int
    target: int
    cycles: float
    iterations: int
    operand: str = ""
    location: str = ""


@dataclass(frozen=True, slots=True)
class CriticalCycle:
    """Cycles per iteration, and the edges of a cycle that takes as long; no edges where there is no cycle."""

    cycles: float
    edges: tuple[Edge, ...] = ()


def critical_cycle(nodes: int, edges: Sequence[Edge]) -> CriticalCycle:
    """The cycle of the graph with the largest ratio of cycles to iterations; every cycle must span an
    iteration.
    """
    best = CriticalCycle(0.0)
    for component in components(nodes, edges):
        inside = [edge for edge in edges if edge.source in component and edge.target in component]
        if inside:
            cycle = _howard(component, inside)
            if cycle.cycles > best.cycles + _ROUNDING:
                best = cycle
    return best


def _howard(component: set[int], edges: Sequence[Edge]) -> CriticalCycle:
    """The critical cycle of a strongly connected component: the choice of an edge per node is improved until
    no edge is better.
    """
    leaving: dict[int, list[Edge]] = {node: [] for node in component}
    for edge in edges:
        leaving[edge.source].append(edge)
    policy = {node: max(choices, key=lambda edge: edge.cycles) for node, choices in leaving.items()}
    cycle = CriticalCycle(float("-inf"))
    for _ in edges:  # as a rule, three rounds suffice
        cycle = _best_of_policy(policy, cycle)
        values = _values(policy, cycle)
        better = False
        for node, choices in leaving.items():
            for edge in choices:
                value = edge.cycles - cycle.cycles * edge.iterations + values[edge.target]
                if value > values[node] + _ROUNDING:
                    values[node], policy[node], better = value, edge, True
        if not better:
            break
    return cycle


def _best_of_policy(policy: dict[int, Edge], before: CriticalCycle) -> CriticalCycle:
    """The largest ratio of the cycles that a choice of one edge per node has.

    The previous cycle stays if it still exists and no ratio exceeds it by more than rounding: otherwise
    choices could alternate forever between cycles that take equally long.
    """
    is_still_there = all(policy[edge.source] is edge for edge in before.edges)
    best = before if is_still_there else CriticalCycle(float("-inf"))
    walk_of: dict[int, int] = {}
    for walk, start in enumerate(policy):
        path: list[Edge] = []
        node = start
        while node not in walk_of:
            walk_of[node] = walk
            path.append(policy[node])
            node = policy[node].target
        if walk_of[node] != walk:
            continue
        first = next(place for place, edge in enumerate(path) if edge.source == node)
        cycle = path[first:]
        ratio = sum(edge.cycles for edge in cycle) / max(sum(edge.iterations for edge in cycle), 1)
        if ratio > best.cycles + _ROUNDING:
            best = CriticalCycle(ratio, tuple(cycle))
    return best


def _values(policy: dict[int, Edge], cycle: CriticalCycle) -> dict[int, float]:
    """By how much each node's way to the cycle exceeds what the ratio allows; the least value without such
    a way.
    """
    entering: dict[int, list[Edge]] = {node: [] for node in policy}
    for edge in policy.values():
        entering[edge.target].append(edge)
    root = cycle.edges[0].source
    values = {root: 0.0}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        for edge in entering[node]:
            if edge.source not in values:
                values[edge.source] = edge.cycles - cycle.cycles * edge.iterations + values[node]
                waiting.append(edge.source)
    least = min(values.values()) - sum(abs(edge.cycles) for edge in policy.values()) - 1
    return {node: values.get(node, least) for node in policy}


def components(nodes: int, edges: Sequence[Edge]) -> list[set[int]]:
    """Strongly connected components (Tarjan), without recursion."""
    successors: list[list[int]] = [[] for _ in range(nodes)]
    for edge in edges:
        successors[edge.source].append(edge.target)
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    components: list[set[int]] = []
    for start in range(nodes):
        if start in index:
            continue
        work = [(start, iter(successors[start]))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, following = work[-1]
            for target in following:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(successors[target])))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == index[node]:
                    component: set[int] = set()
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        component.add(member)
                        if member == node:
                            break
                    components.append(component)
    return components
