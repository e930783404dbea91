"""No core is quicker than its bounds: on random models and blocks, a simulated one never is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.core_model import BoundKind, CodeShape, CoreModel, predict_core
from inference.core.mapping import PortMapping, uops_of
from inference.isa.dependences import InstructionAccesses, OperandAccess
from tests.core.core_model.toy_core import ToyCore
from tests.drawn import examples

PORTS, SCHEMES, REGISTERS = 4, 5, 4
ITERATIONS = 60
CLOSE = 1e-6


@st.composite
def models(draw: st.DrawFn) -> CoreModel:
    """Ports, slots, limits, latencies and idioms of a handful of schemes `s0`, `s1`, …"""
    names = [f"s{number}" for number in range(SCHEMES)]
    uop = st.tuples(st.integers(1, 2**PORTS - 1), st.integers(1, 2))
    usage = {name: uops_of(draw(st.lists(uop, max_size=3))) for name in names}
    pair = st.sampled_from([("1", "1"), ("2", "1"), ("1", "flags"), ("2", "flags"), ("flags", "1")])
    cycles = st.one_of(st.none(), st.integers(0, 7).map(float))
    latencies = {name: draw(st.dictionaries(pair, cycles, max_size=5)) for name in names}
    some = st.sets(st.sampled_from(names), max_size=2).map(frozenset)
    free = draw(some)
    mapping = PortMapping(
        tuple(map(str, range(PORTS))),
        usage,
        draw(st.sampled_from([None, 1.0, 2.5, 4.0])),
        draw(st.sampled_from([None, 2.0, 3.0, 5.0])),
        {name: draw(st.integers(1, 3)) for name in names},
    )
    moves = draw(some)
    return CoreModel(mapping, latencies, free=free, portless=free & draw(some), moves=moves)


@st.composite
def blocks(draw: st.DrawFn) -> list[InstructionAccesses]:
    """Instructions that read two registers or flags, and write one of either, or both."""
    register = st.integers(0, REGISTERS - 1).map(lambda number: f"general {number}")
    found = []
    for _ in range(draw(st.integers(1, 6))):
        first, second = draw(register), draw(register)
        reads = [OperandAccess("1", first), OperandAccess("2", second)]
        writes = [OperandAccess("1", first)]
        if draw(st.booleans()):
            reads.append(OperandAccess("flags", "flag c"))
        if draw(st.booleans()):
            writes.append(OperandAccess("flags", "flag c"))
        scheme = f"s{draw(st.integers(0, SCHEMES - 1))}"
        found.append(InstructionAccesses(scheme, tuple(reads), tuple(writes), first == second))
    return found


@examples(120)
@given(models(), blocks(), st.booleans())
def test_a_simulated_core_is_never_quicker_than_a_bound(
    model: CoreModel, block: list[InstructionAccesses], greedy: bool
) -> None:
    found = predict_core(block, CodeShape(4 * len(block), loop=False), model)
    longest = 1 + sum(max(filter(None, one.values()), default=1.0) for one in model.latencies.values())
    taken = ToyCore(model, greedy=greedy).cycles(block, ITERATIONS)
    for bound in found.bounds:
        assert taken >= bound.cycles * (ITERATIONS - 1) - longest * len(block) - CLOSE, bound


@examples(100)
@given(models(), blocks())
def test_the_prediction_is_the_largest_bound_and_leaving_bounds_out_never_adds(
    model: CoreModel, block: list[InstructionAccesses]
) -> None:
    shape = CodeShape(4 * len(block), loop=False)
    whole = predict_core(block, shape, model)
    assert whole.cycles == max(bound.cycles for bound in whole.bounds)
    for kind in BoundKind:
        assert predict_core(block, shape, model, [kind]).cycles <= whole.cycles


def test_what_only_dependencies_limit_takes_as_long_as_they_say() -> None:
    model = CoreModel(
        PortMapping(("0", "1"), {"s0": ((0b11, 1),), "s1": ((0b01, 1),)}, issue_width=4.0),
        {"s0": {("1", "1"): 3.0, ("2", "1"): 1.0}, "s1": {("1", "1"): 4.0, ("2", "1"): 4.0}},
    )
    a, b = "general 0", "general 1"

    def one(scheme: str, first: str, second: str) -> InstructionAccesses:
        reads = (OperandAccess("1", first), OperandAccess("2", second))
        return InstructionAccesses(scheme, reads, (OperandAccess("1", first),))

    block = [one("s0", a, b), one("s1", b, a)]
    found = predict_core(block, CodeShape(8, loop=False), model)
    simulated = [ToyCore(model, greedy=True).cycles(block, turns) for turns in (100, 200)]
    assert found.cycles == pytest.approx((simulated[1] - simulated[0]) / 100)
