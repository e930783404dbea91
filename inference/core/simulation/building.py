"""A block on a core model as a simulated program.

An instruction issues when the last of its sources is there. A result is ready the *least* of its latencies
later; a source with a longer latency to it has to be ready by so much earlier. So what an instruction loads
with is waited for early and the rest of it late, as on a core. Instructions without µops, such as eliminated
moves, hand on what they wait for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from inference.core.core_model.cycles import Edge
from inference.core.core_model.dependences import UNKNOWN_LATENCY, DependenceGraph
from inference.core.core_model.model import CoreModel
from inference.core.mapping import PortMapping
from inference.core.simulation.program import SimulatedProgram, SimulatedUop, Wait
from inference.isa.dependences import InstructionAccesses


class UndescribedSchemeError(ValueError):
    """The core model does not know the µops of some instructions of a block: `schemes`."""

    def __init__(self, schemes: Sequence[str]) -> None:
        self.schemes = tuple(dict.fromkeys(schemes))
        super().__init__(f"no µops are known of {'; '.join(self.schemes)}")


def program_of(
    block: Sequence[InstructionAccesses], model: CoreModel, width: int, memory_ports: int = 0
) -> SimulatedProgram:
    """The block as a loop body.

    Args:
        block: Its instructions in program order.
        model: Its mapping says which µops an instruction has, its latencies when results are ready.
        width: Slots that the core dispatches per cycle.
        memory_ports: Bit mask of ports that only load or store. No result waits for µops there: latencies
            from an address include the load.

    Raises `UndescribedSchemeError` for instructions without known µops.
    """
    mapping = model.mapping
    assert mapping is not None, "a program needs ports"
    masks = [_masks(instruction, model, mapping) for instruction in block]
    if undescribed := [block[k].scheme or "" for k, own in enumerate(masks) if own is None]:
        raise UndescribedSchemeError(undescribed)
    described = [own or () for own in masks]
    waits = _Waits(block, model, [not own for own in described])
    uops: list[SimulatedUop] = []
    results: list[list[int]] = []  # of each instruction, the places of µops that make its results
    for place, own in enumerate(described):
        slots = mapping.slots_of(block[place].scheme or "")
        first = len(uops)
        for mask in own or (0,):
            uops.append(SimulatedUop(mask, place, slots, waits.latency(place)))
            slots = 0
        computing = [k for k in range(first, len(uops)) if uops[k].ports & ~memory_ports]
        results.append(computing or [*range(first, len(uops))])
    return SimulatedProgram(tuple(_waiting(uop, waits, results) for uop in uops), len(mapping.ports), width)


def _masks(
    instruction: InstructionAccesses, model: CoreModel, mapping: PortMapping
) -> tuple[int, ...] | None:
    """The port sets of its µops; () for what needs no port, None for what is not described."""
    scheme = instruction.scheme or ""
    if scheme in model.moves or (instruction.one_register and scheme in model.portless):
        return ()
    if scheme not in mapping.usage:
        return None
    return tuple(mask for mask, count in mapping.usage[scheme] for _ in range(count))


def _waiting(uop: SimulatedUop, waits: _Waits, results: Sequence[Sequence[int]]) -> SimulatedUop:
    if not uop.ports:
        return uop
    longest: dict[tuple[int, int], int] = {}
    for wait in waits.of(uop.instruction):
        for producer in results[wait.producer]:
            key = producer, wait.iterations
            longest[key] = max(longest.get(key, 0), wait.cycles)
    by_uop = tuple(Wait(producer, iterations, cycles) for (producer, iterations), cycles in longest.items())
    return SimulatedUop(uop.ports, uop.instruction, uop.slots, uop.latency, uop.busy, by_uop)


class _Waits:
    """What each instruction of a block waits for, by instructions instead of µops."""

    def __init__(
        self, block: Sequence[InstructionAccesses], model: CoreModel, is_portless: Sequence[bool]
    ) -> None:
        graph = DependenceGraph(block, model)
        self._nodes = graph.nodes
        self._is_portless = is_portless
        self._entering: list[list[Edge]] = [[] for _ in graph.nodes]
        for edge in graph.edges:
            self._entering[edge.target].append(edge)
        self._ready = [self._least_latency(block, model, node) for node in range(len(graph.nodes))]

    def latency(self, instruction: int) -> int:
        """Cycles from issue until the last result of an instruction is ready."""
        own = [
            ready for (place, _), ready in zip(self._nodes, self._ready, strict=True) if place == instruction
        ]
        return max([1, *map(round, own)])

    def of(self, instruction: int) -> Iterator[Wait]:
        """The results that an instruction waits for, made by instructions that need a port."""
        for node, (place, _) in enumerate(self._nodes):
            if place == instruction:
                for edge in self._entering[node]:
                    early = max(edge.cycles - self._ready[node], 0.0)
                    yield from self._made_by(edge.source, edge.iterations, early, frozenset())

    def _made_by(self, node: int, iterations: int, early: float, passed: frozenset[int]) -> Iterator[Wait]:
        place, _ = self._nodes[node]
        if not self._is_portless[place]:
            yield Wait(place, iterations, max(1, round(self._ready[node] + early)))
            return
        for edge in self._entering[node]:
            if edge.source not in passed:
                yield from self._made_by(
                    edge.source, iterations + edge.iterations, early + edge.cycles, passed | {node}
                )

    def _least_latency(self, block: Sequence[InstructionAccesses], model: CoreModel, node: int) -> float:
        place, destination = self._nodes[node]
        if self._is_portless[place]:
            return 0.0
        measured = [
            cycles
            for (_, other), cycles in model.latencies.get(block[place].scheme or "", {}).items()
            if other == destination and cycles
        ]
        entering = [edge.cycles for edge in self._entering[node] if edge.cycles]
        return min(measured or entering, default=UNKNOWN_LATENCY)
