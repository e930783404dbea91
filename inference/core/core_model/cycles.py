"""The largest ratio of latency to iterations over the cycles of a dependence graph (Howard's algorithm).

What a loop cannot be quicker than: along a cycle of dependences that spans n iterations and takes c cycles,
an iteration takes c / n (Cochet-Terrasson et al. 1998; Dasdan 2004 compares algorithms).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_CLOSE = 1e-9


@dataclass(frozen=True, slots=True)
class Edge:
    """From a node to a node: `cycles` later, `iterations` later."""

    source: int
    target: int
    cycles: float
    iterations: int


@dataclass(frozen=True, slots=True)
class CriticalCycle:
    """Cycles per iteration, and the edges of a cycle that takes as long; none where there is no cycle."""

    cycles: float
    edges: tuple[Edge, ...] = ()


def critical_cycle(nodes: int, edges: Sequence[Edge]) -> CriticalCycle:
    """The cycle with the largest ratio; each must span an iteration at least."""
    best = CriticalCycle(0.0)
    for component in _components(nodes, edges):
        inside = [edge for edge in edges if edge.source in component and edge.target in component]
        if inside:
            found = _howard(component, inside)
            if found.cycles > best.cycles + _CLOSE:
                best = found
    return best


def _howard(component: set[int], edges: Sequence[Edge]) -> CriticalCycle:
    """Of one strongly connected component: improve the choice of an edge per node until none is better."""
    leaving: dict[int, list[Edge]] = {node: [] for node in component}
    for edge in edges:
        leaving[edge.source].append(edge)
    policy = {node: max(found, key=lambda edge: edge.cycles) for node, found in leaving.items()}
    cycle = CriticalCycle(float("-inf"))
    for _ in edges:  # as a rule, three rounds suffice
        cycle = _best_of_policy(policy, cycle)
        values = _values(policy, cycle)
        better = False
        for node, found in leaving.items():
            for edge in found:
                value = edge.cycles - cycle.cycles * edge.iterations + values[edge.target]
                if value > values[node] + _CLOSE:
                    values[node], policy[node], better = value, edge, True
        if not better:
            break
    return cycle


def _best_of_policy(policy: dict[int, Edge], before: CriticalCycle) -> CriticalCycle:
    """The largest ratio of the cycles that a choice of one edge per node has.

    The cycle of the choice `before`, where it is still there and none is larger but by rounding: from one to
    another of cycles that take as long, choices would go to and fro for ever.
    """
    is_still_there = all(policy[edge.source] is edge for edge in before.edges)
    best = before if is_still_there else CriticalCycle(float("-inf"))
    seen: dict[int, int] = {}
    for walk, start in enumerate(policy):
        path: list[Edge] = []
        node = start
        while node not in seen:
            seen[node] = walk
            path.append(policy[node])
            node = policy[node].target
        if seen[node] != walk:
            continue
        first = next(place for place, edge in enumerate(path) if edge.source == node)
        cycle = path[first:]
        ratio = sum(edge.cycles for edge in cycle) / max(sum(edge.iterations for edge in cycle), 1)
        if ratio > best.cycles + _CLOSE:
            best = CriticalCycle(ratio, tuple(cycle))
    return best


def _values(policy: dict[int, Edge], cycle: CriticalCycle) -> dict[int, float]:
    """How much more than the ratio allows each node's way to the cycle takes; least without such a way."""
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


def _components(nodes: int, edges: Sequence[Edge]) -> list[set[int]]:
    """Strongly connected components (Tarjan), without recursion."""
    after: list[list[int]] = [[] for _ in range(nodes)]
    for edge in edges:
        after[edge.source].append(edge.target)
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[set[int]] = []
    for start in range(nodes):
        if start in index:
            continue
        work = [(start, iter(after[start]))]
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
                    work.append((target, iter(after[target])))
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
                    found.append(component)
    return found
