"""A block on a core model as a simulated program.

An instruction issues when the last of its sources is available. A result is available the *least* of its
latencies later; a source with a longer latency to it has to be available correspondingly earlier. So the
address of a load is waited for early and the other sources late, as on a core. Values that are available at
once, such as those of eliminated moves, stores and renamed memory, pass on the dependencies of their sources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import ceil

from inference.core.core_model.critical_cycles import Edge
from inference.core.core_model.dependences import IN_ADDRESS, UNKNOWN_LATENCY, WRITTEN_BASE, DependenceGraph
from inference.core.core_model.memory_bounds import ports_of_loads
from inference.core.core_model.model import CoreModel
from inference.core.core_model.port_work import Work, work_of_instruction
from inference.core.core_model.prediction import takes_index_slot
from inference.core.mapping import PortMapping
from inference.core.simulation.program import (
    MAX_LATENCY,
    IssueOrder,
    SimulatedProgram,
    SimulatedUop,
    Wait,
)
from inference.isa.dependences import InstructionAccesses

_MAX_FORWARDED = 8
"""Values that pass on dependencies one after another: of more, the number of ways could double with each."""


class UndescribedSchemeError(ValueError):
    """The core model does not describe the µops of some instructions of a block: `schemes`."""

    def __init__(self, schemes: Sequence[str]) -> None:
        self.schemes = tuple(dict.fromkeys(schemes))
        super().__init__(f"no µops are known of {'; '.join(self.schemes)}")


def dispatch_width(model: CoreModel) -> int | None:
    """Slots that a core dispatches per cycle, as a whole number; None where they were not measured.

    Of a mapping without a front end, its issue width or the most instructions per cycle.
    """
    front_end, mapping = model.front_end, model.mapping
    rate = None if front_end is None else front_end.dispatched
    if rate is None and mapping is not None:
        rate = mapping.issue_width or mapping.r_max
    return None if rate is None else round(rate) or None


def all_edges(graph: DependenceGraph) -> Iterable[Edge]:
    """Dependences through registers and through memory."""
    return graph.edges


def program_of(
    block: Sequence[InstructionAccesses],
    model: CoreModel,
    width: int,
    memory_ports: int = 0,
    *,
    simulated_ports: int | None = None,
    jumps: int = 0,
    copies: int = 1,
    works: Sequence[Work | None] | None = None,
    interval: float = 0.0,
    edges_of: Callable[[DependenceGraph], Iterable[Edge]] = all_edges,
) -> SimulatedProgram:
    """The block as a loop body.

    Of an instruction that loads and computes, the µop on the ports of loads waits for the address, and the
    others for this µop; where they move the base of the address instead, they do not.

    Args:
        block: Its instructions in program order.
        model: Its mapping has the µops of an instruction, its latencies the availability of results.
        width: Slots that the core dispatches per cycle.
        memory_ports: Bit mask of ports that only load or store. No result waits for µops there: latencies
            from an address include the load.
        simulated_ports: Bit mask of ports; µops that could use others are left out, and only delay
            instructions that wait for them. None for all.
        jumps: Instructions behind the block that take a slot, such as the loop's jump.
        copies: Consecutive copies of the block in the executed loop.
        works: Work as from `port_work`, rounded up to whole µops; by default, that of the mapping.
        interval: Interval as in `SimulatedProgram`.
        edges_of: The dependences that are waited for.

    Raises:
        UndescribedSchemeError: For instructions without known µops.
    """
    mapping = model.mapping
    assert mapping is not None, "a program needs ports"
    if works is None:
        works = [work_of_instruction(instruction, model, mapping) for instruction in block]
    load_ports = ports_of_loads(mapping) or 0
    described, jump_masks = _described_masks(block, works, simulated_ports)
    # In order, a µop that computes with nothing but the loaded value would hold up all behind it.
    computes_loaded = [
        _computes_loaded(work, load_ports) and not (model.issues_in_order and _has_only_addresses(row))
        for row, work in zip(block, works, strict=False)
    ]
    is_portless = [not row for row in described]
    graph = DependenceGraph(block, model, copies)
    waits = _Waits(graph, block, model, is_portless, computes_loaded, edges_of)
    if model.issues_in_order:  # loads issue first, then what has the fewest ports
        described = [
            tuple(sorted(row, key=lambda mask: (bool(mask & ~load_ports), mask.bit_count())))
            for row in described
        ]
    uops = _uops(block, described, model, width, waits, load_ports, memory_ports)
    jump_uops = [
        SimulatedUop(mask, len(block), jumps if number == 0 else 0)
        for number, mask in enumerate(jump_masks or (0,) * jumps)
    ]
    return SimulatedProgram((*uops, *jump_uops), len(mapping.ports), width, interval)


def _uops(
    block: Sequence[InstructionAccesses],
    described: Sequence[Sequence[int]],
    model: CoreModel,
    width: int,
    waits: _Waits,
    load_ports: int,
    memory_ports: int,
) -> list[SimulatedUop]:
    """The µops of a block with what they wait for.

    Args:
        block: The instructions.
        described: The port set of each µop of each instruction, in the order of issue.
        model: Their core.
        width: As of `program_of`.
        waits: Latencies and dependences.
        load_ports: Bit mask of ports that load.
        memory_ports: As of `program_of`.
    """
    assert model.mapping is not None, "a program needs ports"
    uops: list[SimulatedUop] = []
    results: list[list[int]] = [[] for _ in waits.graph.nodes]  # the places of the µops that make them
    loading: dict[int, range] = {}  # of an instruction that loads and computes, those of its loads
    for place, row in enumerate(described):
        slots = _slots(block[place].scheme or "", model.mapping, width)
        slots += takes_index_slot(block[place], model)
        first = len(uops)
        loads = [mask for mask in row if not mask & ~load_ports] if waits.loads_first(place) else []
        computing = [mask for mask in row if mask not in loads]
        is_apart = bool(loads and computing) and _moves_base(block[place])
        if loads and computing and not is_apart:
            loading[place] = range(first, first + len(loads))
        for mask in (*loads, *computing) if loads and computing else row or (0,):
            is_load = len(uops) in loading.get(place, ())
            latency = waits.load_latency(place) if is_load else waits.latency(place)
            uops.append(SimulatedUop(mask, place, slots, min(latency, MAX_LATENCY)))
            slots = 0
        own_uops = range(first + len(loading.get(place, ())), len(uops))
        for node in waits.results(place):
            makers = own_uops
            if is_apart:
                makers = own_uops[len(loads) :] if waits.is_base(node) else own_uops[: len(loads)]
            making = [k for k in makers if uops[k].ports & ~memory_ports] or [*makers]
            # In order, µops of an instruction issue one after another; its latency begins with the first.
            results[node] = making[:1] if model.issues_in_order else making
    return [
        _with_waits(number, uop, waits, results, loading.get(uop.instruction, range(0)))
        for number, uop in enumerate(uops)
    ]


def _described_masks(
    block: Sequence[InstructionAccesses], works: Sequence[Work | None], simulated_ports: int | None
) -> tuple[list[tuple[int, ...]], tuple[int, ...] | None]:
    """The port sets of each instruction's simulated µops, and those of the loop's jump, None where `works`
    has none. Raises `UndescribedSchemeError`.
    """
    masks = [_masks(work) for work in works]
    jump_masks = masks[len(block)] if len(masks) > len(block) else None
    masks = masks[: len(block)]
    if undescribed := [block[k].scheme or "" for k, row in enumerate(masks) if row is None]:
        raise UndescribedSchemeError(undescribed)
    excluded = 0 if simulated_ports is None else ~simulated_ports
    return [tuple(mask for mask in row or () if not mask & excluded) for row in masks], jump_masks


def _slots(scheme: str, mapping: PortMapping, width: int) -> int:
    """Dispatch slots of an instruction. Those of a mapping count only where it has no more per cycle than the
    core dispatches: else they are not slots.
    """
    issued = mapping.issue_width
    return mapping.slots_of(scheme) if issued is not None and round(issued) <= width else 1


def _masks(work: Work | None) -> tuple[int, ...] | None:
    """The port sets of an instruction's µops; () for one without a port, None for an undescribed one."""
    if work is None:
        return None
    return tuple(mask for mask, count in work.items() for _ in range(ceil(count)))


def _computes_loaded(work: Work | None, load_ports: int) -> bool:
    """Whether some µops load and others compute."""
    loads = [not mask & ~load_ports for mask in work or ()]
    return any(loads) and not all(loads)


def _has_only_addresses(row: InstructionAccesses) -> bool:
    return all(read.operand.endswith(IN_ADDRESS) for read in row.reads if read.memory is None)


def _moves_base(row: InstructionAccesses) -> bool:
    """Whether a load computes nothing but the base of its address."""
    return row.only_loads and any(write.operand == WRITTEN_BASE for write in row.writes)


def _with_waits(
    number: int,
    uop: SimulatedUop,
    waits: _Waits,
    results: Sequence[Sequence[int]],
    loads: range,
) -> SimulatedUop:
    """A µop with the values that it waits for.

    Args:
        number: Number of the µop.
        uop: Without them.
        waits: Waits by instructions.
        results: The µops that make each result.
        loads: The µops of its instruction that load for others.
    """
    if not uop.ports:
        return uop
    longest: dict[tuple[int, int], int] = {}
    sources = waits.of(uop.instruction)
    if number in loads:
        sources = waits.of_address(uop.instruction)
    elif loads:
        longest = dict.fromkeys(((load, 0) for load in loads), waits.load_latency(uop.instruction))
        sources = waits.of(uop.instruction, with_address=False)
    for wait in sources:
        cycles = waits.apart(wait, uop.instruction)
        for producer in results[wait.producer]:
            key = producer, wait.iterations
            longest[key] = max(longest.get(key, 0), cycles)
    by_uop = tuple(Wait(producer, iterations, cycles) for (producer, iterations), cycles in longest.items())
    return replace(uop, waits=by_uop)


class _Waits:
    """The results that each instruction of a block waits for; producers are nodes instead of µops.

    A node is a value that an instruction writes, as in `DependenceGraph`. A value that is available as soon
    as one of its sources, such as that of an eliminated move, a store, or a load of renamed memory, is
    replaced by its sources.
    """

    def __init__(
        self,
        graph: DependenceGraph,
        block: Sequence[InstructionAccesses],
        model: CoreModel,
        is_portless: Sequence[bool],
        computes_loaded: Sequence[bool],
        edges_of: Callable[[DependenceGraph], Iterable[Edge]],
    ) -> None:
        self.graph = graph
        self._block = block
        self._model = model
        self._issue = model.issue or IssueOrder(in_order=False)
        self._is_portless = is_portless
        self._computes_loaded = computes_loaded
        self._entering: list[list[Edge]] = [[] for _ in graph.nodes]
        for edge in edges_of(graph):
            self._entering[edge.target].append(edge)
        self._ready = [self._least_latency(node) for node in range(len(graph.nodes))]
        self._results: list[list[int]] = [[] for _ in block]
        for node, (place, _) in enumerate(graph.nodes):
            self._results[place].append(node)

    def latency(self, instruction: int) -> int:
        """Cycles from issue until the last result of an instruction returns, at most `MAX_LATENCY`."""
        result_times = [round(self._ready[node]) for node in self._results[instruction]]
        return min(max([1, *result_times]) + self._issue.stage(self._block[instruction].scheme), MAX_LATENCY)

    def results(self, instruction: int) -> Sequence[int]:
        """The nodes of an instruction."""
        return self._results[instruction]

    def is_base(self, node: int) -> bool:
        """Whether the result is a base that the instruction moves."""
        return self.graph.nodes[node][1] == WRITTEN_BASE

    def apart(self, wait: Wait, instruction: int) -> int:
        """Cycles between the issues of a producer and of an instruction that waits for it."""
        producer, _ = self.graph.nodes[wait.producer]
        schemes = self._block[producer].scheme, self._block[instruction].scheme
        return self._issue.apart(*schemes, wait.cycles)

    def loads_first(self, instruction: int) -> bool:
        """Whether an instruction computes with what it loads, and stores nothing."""
        row, nodes = self._block[instruction], self._results[instruction]
        stores = any(access.memory is not None for access in row.writes)
        computes = self._computes_loaded[instruction] and row.loads and not stores
        return computes and bool(nodes) and not any(map(self._is_forwarded, nodes))

    def load_latency(self, instruction: int) -> int:
        """Cycles from the issue of a load to that of the computation with the loaded value."""
        row = self._block[instruction]
        differences = [
            cycles - self._ready[node]
            for node in self._results[instruction]
            for (source, destination), cycles in self._model.latencies_of(row).items()
            if destination == self.graph.nodes[node][1] and source.endswith(IN_ADDRESS) and cycles
        ]
        if row.latency is not None:
            differences = [row.latency]
        return max(1, round(max(differences, default=self._model.memory.load)))

    def of(self, instruction: int, *, with_address: bool = True) -> Iterator[Wait]:
        """The results that an instruction waits for, of instructions that need a port.

        `with_address`: including those that the address of its load is computed from.
        """
        for node in self._results[instruction]:
            for edge in self._entering[node]:
                if not with_address and edge.operand.endswith(IN_ADDRESS):
                    continue
                if not self._is_forwarded(node):
                    early = max(edge.cycles - self._ready[node], 0.0)
                    yield from self._waits_for(edge.source, edge.iterations, early, frozenset())
                elif not self.graph.is_through_memory(edge):  # renamed memory needs no load to be there
                    yield from self._waits_for(edge.source, edge.iterations, 0.0, frozenset())

    def of_address(self, instruction: int) -> Iterator[Wait]:
        """The results that the address of an instruction's load is computed from."""
        for node in self._results[instruction]:
            for edge in self._entering[node]:
                if edge.operand.endswith(IN_ADDRESS):
                    yield from self._waits_for(edge.source, edge.iterations, 0.0, frozenset())

    def _is_forwarded(self, node: int) -> bool:
        return round(self._ready[node]) == 0

    def _waits_for(self, node: int, iterations: int, early: float, passed: frozenset[int]) -> Iterator[Wait]:
        if not self._is_forwarded(node):
            yield Wait(node, iterations, max(1, round(self._ready[node] + early)))
            return
        if len(passed) >= _MAX_FORWARDED:
            return
        for edge in self._entering[node]:
            if edge.source not in passed:
                yield from self._waits_for(
                    edge.source, iterations + edge.iterations, early + edge.cycles, passed | {node}
                )

    def _least_latency(self, node: int) -> float:
        place, destination = self.graph.nodes[node]
        if self._is_portless[place]:
            return 0.0
        override = self._block[place].latency
        if override is not None:
            return min((edge.cycles for edge in self._entering[node]), default=override)
        measured = [
            cycles
            for (_, other), cycles in self._model.latencies.get(self._block[place].scheme or "", {}).items()
            if other == destination and cycles
        ]
        entering = self._entering[node]
        least = min([*measured, *(edge.cycles for edge in entering)], default=UNKNOWN_LATENCY)
        # `movsx r32, m8`: the only latency is that from the address, which includes the load.
        computes = self._computes_loaded[place] and not _moves_base(self._block[place])
        if computes and all(edge.operand.endswith(IN_ADDRESS) for edge in entering):
            return max(1.0, least - self._model.memory.load)
        return least
