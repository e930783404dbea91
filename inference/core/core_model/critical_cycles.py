"""The cycle of a graph with the largest ratio of latency to iterations.

Along a cycle of dependences that spans n iterations and takes c cycles, an iteration takes c / n. Howard's
algorithm finds the largest ratio (Cochet-Terrasson et al. 1998; Dasdan 2004 compares algorithms).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_ROUNDING = 1e-9


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
    lower_bound = min(values.values()) - sum(abs(edge.cycles) for edge in policy.values()) - 1
    return {node: values.get(node, lower_bound) for node in policy}


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
