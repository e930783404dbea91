"""What would make a block faster, each with the cycles that would remain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from inference.core.core_model.bounds import front_end_bound
from inference.core.core_model.critical_cycles import Edge
from inference.core.core_model.dependences import MEMORY, ChainStep
from inference.core.core_model.port_work import busiest_ports, total_work
from inference.core.core_model.prediction import BoundKind
from inference.core.loop.modelled import ModelledBlock, critical_chain, critical_keys, key_of_edge
from inference.core.loop.values import LoopBound, Remedy, RemedyKind
from inference.isa.blocks import reduction_of

MAX_REMEDIES = 4
_GAIN = 0.95
"""Share of the cycles below which a change is worth to be named."""
_MAX_EDGES = 6
"""Dependences of a chain that are tried without."""
_MAX_NAMES = 4
_MAX_ACCUMULATORS = 8
_FULL = 0.99
_CHAINS = (BoundKind.DEPENDENCES, BoundKind.MEMORY)


def remedies_of(modelled: ModelledBlock, bounds: Sequence[LoopBound]) -> tuple[Remedy, ...]:
    """Changes of what the largest bound rests on, the most effective first.

    There are none where something unknown may make a bound larger than what would remain.
    """
    if not bounds or not bounds[0].usual or any(bound.is_unknown for bound in bounds):
        return ()
    largest = bounds[0]
    remaining = _Remaining(modelled, bounds)
    makers = {
        BoundKind.DEPENDENCES: _of_chain,
        BoundKind.MEMORY: _of_chain,
        BoundKind.PORTS: _of_ports,
        BoundKind.FRONT_END: _of_front_end,
        BoundKind.SLOTS: _of_slots,
        BoundKind.INSTRUCTIONS: _of_slots,
        BoundKind.SCHEDULER: _of_scheduler,
        BoundKind.ORDER: _of_order,
    }
    remedies = [
        remedy
        for remedy in [*_of_loads(modelled), *makers[largest.kind](modelled, largest, remaining)]
        if remedy.cycles < _GAIN * largest.usual
    ]
    return tuple(sorted(remedies, key=lambda remedy: remedy.cycles)[:MAX_REMEDIES])


class _Remaining:
    """The cycles of a block after a change of one of its bounds."""

    def __init__(self, modelled: ModelledBlock, bounds: Sequence[LoopBound]) -> None:
        self._modelled = modelled
        self._isa = modelled.block.isa
        self._bounds = bounds

    def beside(self, *kinds: BoundKind) -> float:
        """The largest bound of other kinds."""
        return max((bound.usual for bound in self._bounds if bound.kind not in kinds), default=0.0)

    def without_dependence(self, key: str) -> float:
        """The largest bound without a dependence."""
        graph = self._modelled.graph
        return self._with_edges([edge for edge in self._edges if key_of_edge(graph, edge, self._isa) != key])

    def in_register(self, key: str) -> float:
        """The largest bound where a dependence through memory takes no longer than its computation."""
        graph = self._modelled.graph
        return self._with_edges(
            [
                edge
                if key_of_edge(graph, edge, self._isa) != key
                else replace(edge, cycles=graph.computation(edge))
                for edge in self._edges
            ]
        )

    def _with_edges(self, edges: Sequence[Edge]) -> float:
        return max(self._beside_chains, self._modelled.graph.bound(edges).cycles)

    @property
    def _edges(self) -> list[Edge]:
        graph, excluded = self._modelled.graph, self._modelled.without
        kinds = {True: BoundKind.MEMORY, False: BoundKind.DEPENDENCES}
        return [edge for edge in graph.edges if kinds[graph.is_through_memory(edge)] not in excluded]

    @property
    def _beside_chains(self) -> float:
        bounds = [bound.usual for bound in self._bounds if not bound.chain]
        return max([self._modelled.memory_throughput, *bounds])


def _of_chain(modelled: ModelledBlock, bound: LoopBound, remaining: _Remaining) -> Iterator[Remedy]:
    chain = critical_chain(modelled.prediction)
    if not bound.chain or not chain:
        return
    steps = critical_keys(chain, modelled.block.isa)
    (first, *other_steps) = steps
    if not other_steps and (rounding := _accumulates(modelled, steps[first])) is not None:
        yield from _accumulators(bound.usual, remaining.without_dependence(first), rounding)
        return
    by_effect: dict[float, list[str]] = {}
    for key in islice(sorted(steps, key=lambda key: -steps[key].cycles), _MAX_EDGES):
        by_effect.setdefault(round(remaining.without_dependence(key), 2), []).append(key)
    for cycles, keys in by_effect.items():
        names = _names(modelled, [*steps.values()])
        text = f"Without this chain ({names})" if other_steps and len(keys) > 1 else ""
        yield Remedy(
            RemedyKind.DEPENDENCE,
            text or _without_text(modelled, keys[0], steps[keys[0]]),
            cycles,
            keys[0],
        )
    for key, step in steps.items():
        if step.location == MEMORY:
            producer = modelled.mnemonic(int(key.partition("-")[0]))
            text = f"Value kept in a register from `{producer}` to `{modelled.mnemonic(step.instruction)}`"
            yield Remedy(RemedyKind.DEPENDENCE, text, remaining.in_register(key))


def _names(modelled: ModelledBlock, steps: Sequence[ChainStep]) -> str:
    """`xor` → `imul`, in the order of the block; of a long chain, its ends."""
    places = sorted({step.instruction for step in steps})
    names = [f"`{modelled.mnemonic(place)}`" for place in places]
    return " → ".join(names if len(names) <= _MAX_NAMES else [names[0], "…", names[-1]])


def _without_text(modelled: ModelledBlock, key: str, step: ChainStep) -> str:
    producer, consumer = int(key.partition("-")[0]), step.instruction
    names = modelled.mnemonic(producer), modelled.mnemonic(consumer)
    through = key.split("-", 2)[2]
    if producer == consumer:
        return f"Without `{names[0]}` waiting for its own result in {through}"
    return f"Without `{names[1]}` waiting for {through} of `{names[0]}`"


def _accumulators(usual: float, remainder: float, note: str) -> Iterator[Remedy]:
    """Two accumulators, and as many as the chain needs in order not to limit the block."""
    needed = next((n for n in range(2, _MAX_ACCUMULATORS + 1) if usual / n <= remainder), _MAX_ACCUMULATORS)
    for number in sorted({2, needed}):
        text = f"{number} accumulators{note}"
        yield Remedy(RemedyKind.DEPENDENCE, text, max(usual / number, remainder))


def _accumulates(modelled: ModelledBlock, step: ChainStep) -> str | None:
    """What an accumulating instruction's sums have to be reminded of, None where it does not accumulate.

    It does where nothing else reads the accumulator, and each iteration adds another value.
    """
    place = step.instruction
    reduction = reduction_of(modelled.block.instructions[place])
    if reduction is None or step.source not in reduction.accumulators:
        return None
    graph = modelled.graph
    readers = {
        graph.nodes[edge.target][0]
        for edge in graph.edges
        if graph.nodes[edge.source][0] == place and edge.location == step.location
    }
    written = {access.location for row in modelled.accesses for access in row.writes if access.location}
    reads = [read for read in modelled.accesses[place].reads if read.operand != step.source]
    varies = any(read.location in written and read.location != step.location for read in reads)
    if readers != {place} or not varies:
        return None
    return "" if reduction.is_exact else " (sums are rounded differently)"


def _of_loads(modelled: ModelledBlock) -> Iterator[Remedy]:
    """The block without the latencies that were given for its loads."""
    loads = [row for row in modelled.accesses if row.loads and row.latency is not None]
    if not loads:
        return
    accesses = tuple(row._replace(latency=None) if row.loads else row for row in modelled.accesses)
    hit = replace(modelled, accesses=accesses).prediction
    text = f"{len(loads)} loads hit" if len(loads) > 1 else "load hits"
    yield Remedy(RemedyKind.LOADS, f"If the {text} the first-level cache", hit.cycles)


def _of_ports(modelled: ModelledBlock, bound: LoopBound, remaining: _Remaining) -> Iterator[Remedy]:
    """The block without an instruction of the busiest ports."""
    ports = modelled.port_loads
    if not ports or max(ports) < _FULL * bound.usual:  # of a scheme of which the time alone is known
        return
    names = modelled.busiest_ports
    busiest = sum(1 << modelled.ports.index(name) for name in names)
    works = modelled.works
    on_busiest = [
        place for place, work in enumerate(works) if work and any(not mask & ~busiest for mask in work)
    ]
    counts = Counter(modelled.mnemonic(place) for place in on_busiest)
    on_ports = f"on port{'s' if len(names) > 1 else ''} {', '.join(names)}"
    beside = remaining.beside(BoundKind.PORTS, BoundKind.SCHEDULER)
    for name, count in counts.items():
        place = next(place for place in on_busiest if modelled.mnemonic(place) == name)
        less = [work for index, work in enumerate(works) if index != place]
        cycles = max(beside, busiest_ports(total_work(less)))
        change = f"one `{name}` less" if count > 1 else f"no `{name}`"
        yield Remedy(RemedyKind.PORTS, f"With {change} {on_ports}", cycles)


def _of_front_end(modelled: ModelledBlock, bound: LoopBound, remaining: _Remaining) -> Iterator[Remedy]:
    """The loop, unrolled; the jump is taken half as often."""
    model, shape, block = modelled.model, modelled.shape, modelled.accesses
    beside = remaining.beside(BoundKind.FRONT_END)
    if model.front_end is None:
        return
    if shape.loop:
        jump = len(modelled.block.code) - len(modelled.block.body)
        twice = replace(shape, size=2 * shape.size - jump)
        unrolled = front_end_bound([*block, *block], twice, model, model.front_end).cycles / 2
        yield Remedy(RemedyKind.FRONT_END, "Unrolled twice", max(beside, unrolled))
    yield from _of_slots(modelled, bound, remaining)


def _of_slots(modelled: ModelledBlock, bound: LoopBound, remaining: _Remaining) -> Iterator[Remedy]:
    """The block with one instruction less."""
    count = len(modelled.block.listing)
    if count > 1 and bound.why.endswith(("slots", "slot", "instructions", "to decode")):
        beside = remaining.beside(BoundKind.FRONT_END, BoundKind.SLOTS, BoundKind.INSTRUCTIONS)
        cycles = max(beside, bound.usual * (count - 1) / count)
        yield Remedy(RemedyKind.FRONT_END, "With one instruction less", cycles)


def _of_order(modelled: ModelledBlock, bound: LoopBound, remaining: _Remaining) -> Iterator[Remedy]:
    """The block in an order in which no instruction waits."""
    text = "With other instructions between each result and its use, at best"
    yield Remedy(RemedyKind.ORDER, text, remaining.beside(BoundKind.ORDER))


def _of_scheduler(modelled: ModelledBlock, bound: LoopBound, remaining: _Remaining) -> Iterator[Remedy]:
    """The block on an ideal scheduler, and with less work for its ports."""
    cycles = remaining.beside(BoundKind.SCHEDULER)
    yield Remedy(RemedyKind.SCHEDULER, "If the scheduler spread µops over ports evenly", cycles)
