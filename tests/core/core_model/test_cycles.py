"""The largest cycle ratio: Howard's algorithm finds what trying all cycles, or all ratios, finds."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.core_model import Edge, critical_cycle
from tests.drawn import examples


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[Edge]]:
    """Dependence graphs: what stays within an iteration leads forwards."""
    nodes = draw(st.integers(1, 7))
    edges = []
    for _ in range(draw(st.integers(0, 16))):
        source, target = draw(st.integers(0, nodes - 1)), draw(st.integers(0, nodes - 1))
        iterations = 0 if source < target and draw(st.booleans()) else 1
        edges.append(Edge(source, target, draw(st.integers(0, 40)) / 4, iterations))
    return nodes, edges


def rings(dice: random.Random) -> tuple[int, list[Edge], float]:
    """Cycles that take as long but for rounding, since their sums begin elsewhere, with ways to the next."""
    size, number = dice.randint(2, 6), dice.randint(2, 4)
    latencies = [dice.choice((1.001, 1.002, 1.003, 3.007)) for _ in range(size)]
    edges = []
    for first in range(0, size * number, size):
        turned, following = dice.randrange(size), (first + size) % (size * number)
        for k in range(size):
            cycles = latencies[(k + turned) % size]
            edges.append(Edge(first + k, first + (k + 1) % size, cycles, int(k == size - 1)))
        edges.append(Edge(first + dice.randrange(size), following + dice.randrange(size), 0.0, 1))
    return size * number, edges, sum(latencies)


def has_longer(nodes: int, edges: list[Edge], ratio: float) -> bool:
    """Whether some cycle takes more than so many cycles per iteration (Bellman and Ford)."""
    values = [0.0] * nodes
    for _ in range(nodes + 1):
        changed = False
        for edge in edges:
            value = values[edge.source] + edge.cycles - ratio * edge.iterations
            if value > values[edge.target] + 1e-9:
                values[edge.target], changed = value, True
        if not changed:
            return False
    return True


def largest_of_all(nodes: int, edges: list[Edge]) -> float:
    """The largest ratio of all cycles that pass each node once, one after the other; 0 without any."""
    leaving: dict[int, list[Edge]] = {node: [] for node in range(nodes)}
    for edge in edges:
        leaving[edge.source].append(edge)
    best = 0.0

    def walk(start: int, node: int, seen: frozenset[int], cycles: float, iterations: int) -> None:
        nonlocal best
        for edge in leaving[node]:
            taken, turns = cycles + edge.cycles, iterations + edge.iterations
            if edge.target == start:
                best = max(best, taken / turns)
            elif edge.target > start and edge.target not in seen:
                walk(start, edge.target, seen | {edge.target}, taken, turns)

    for start in range(nodes):
        walk(start, start, frozenset({start}), 0.0, 0)
    return best


@examples(300)
@given(graphs())
def test_it_is_the_largest_of_all_cycles(graph: tuple[int, list[Edge]]) -> None:
    assert critical_cycle(*graph).cycles == pytest.approx(largest_of_all(*graph))


@examples(400)
@given(graphs())
def test_no_cycle_takes_longer_and_one_takes_as_long(graph: tuple[int, list[Edge]]) -> None:
    nodes, edges = graph
    found = critical_cycle(nodes, edges)
    assert not has_longer(nodes, edges, found.cycles + 1e-6)
    if not found.edges:
        assert found.cycles == 0
        return
    for edge, after in zip(found.edges, (*found.edges[1:], found.edges[0]), strict=True):
        assert edge.target == after.source
        assert edge in edges
    taken = sum(edge.cycles for edge in found.edges)
    assert taken == pytest.approx(found.cycles * sum(edge.iterations for edge in found.edges))


def test_cycles_that_take_as_long_are_not_tried_in_turn_for_ever() -> None:
    """One of 80 such graphs kept a process busy without end."""
    dice = random.Random(1)
    for _ in range(1000):
        nodes, edges, cycles = rings(dice)
        assert critical_cycle(nodes, edges).cycles == pytest.approx(cycles)


def test_without_cycles_there_is_no_bound() -> None:
    assert critical_cycle(3, [Edge(0, 1, 5, 0), Edge(1, 2, 5, 1)]).cycles == 0
    assert critical_cycle(0, []).edges == ()
