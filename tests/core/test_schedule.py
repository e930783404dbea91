"""The distribution of µops to ports is optimal, fair and determined."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.errors import UnknownSchemeError
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, uops_of
from inference.core.schedule import Schedule, schedule
from inference.core.throughput import port_bound, work_of
from tests.core.strategies import experiments, mappings
from tests.drawn import examples


@examples(70)
@given(
    mapping=st.one_of(mappings(st.integers(1, 8)), mappings(st.integers(9, 63), max_kinds=2)),
    experiment=experiments(),
)
def test_a_schedule_places_all_work_within_the_optimal_time(
    mapping: PortMapping, experiment: Experiment
) -> None:
    plan = schedule(mapping, experiment)
    work = work_of(mapping, experiment)
    optimum = port_bound(work)
    assert plan.port_cycles == optimum
    assert max(plan.loads) == optimum
    for mask, amount in work.items():
        assert sum(part for (uops, _), part in plan.shares.items() if uops == mask) == pytest.approx(amount)
    for port, load in enumerate(plan.loads):
        on_port = sum(part for (_, where), part in plan.shares.items() if where == port)
        assert on_port == pytest.approx(load, rel=1e-9, abs=1e-9)
    assert all(part > 0 and mask >> port & 1 for (mask, port), part in plan.shares.items())
    for (mask, port), part in plan.shares.items():
        of_schemes = sum(own.get((mask, port), 0) for own in plan.scheme_shares.values())
        assert of_schemes == pytest.approx(part)


@examples(70)
@given(mapping=mappings(st.integers(1, 8)), experiment=experiments())
def test_no_work_could_move_to_a_port_with_less_load(mapping: PortMapping, experiment: Experiment) -> None:
    plan = schedule(mapping, experiment)
    for mask, port in plan.shares:
        for other in range(len(plan.ports)):
            if mask >> other & 1:
                assert plan.loads[other] >= plan.loads[port]


@examples(30)
@given(mapping=mappings(st.integers(1, 8)), experiment=experiments(), seed=st.integers(0, 99))
def test_renaming_the_ports_renames_the_schedule(
    mapping: PortMapping, experiment: Experiment, seed: int
) -> None:
    n = len(mapping.ports)
    new = list(range(n))
    random.Random(seed).shuffle(new)

    def renamed(mask: int) -> int:
        return sum(1 << new[port] for port in range(n) if mask >> port & 1)

    usage = {
        scheme: uops_of((renamed(mask), count) for mask, count in uops)
        for scheme, uops in mapping.usage.items()
    }
    before = schedule(mapping, experiment)
    after = schedule(replace(mapping, usage=usage), experiment)
    assert [after.loads[new[port]] for port in range(n)] == list(before.loads)
    assert set(after.bottleneck) == {new[port] for port in before.bottleneck}
    moved = {(renamed(mask), new[port]): part for (mask, port), part in before.shares.items()}
    assert after.shares == pytest.approx(moved, rel=1e-6, abs=1e-9)


def plan_of(usage: dict[str, tuple[tuple[int, int], ...]], n_ports: int, mix: dict[str, int]) -> Schedule:
    return schedule(PortMapping(tuple(map(str, range(n_ports))), usage), Experiment.of(mix))


def test_freedom_is_used_evenly() -> None:
    plan = plan_of({"add": ((0b1111, 1),)}, 4, {"add": 1})
    assert plan.shares == {(0b1111, port): 0.25 for port in range(4)}
    assert plan.bottleneck == (0, 1, 2, 3)


def test_ports_beside_the_bottleneck_are_even_too() -> None:
    plan = plan_of({"mul": ((0b001, 3),), "add": ((0b111, 1),)}, 3, {"mul": 1, "add": 1})
    assert plan.loads == (3, 0.5, 0.5)
    assert plan.bottleneck == (0,)
    assert plan.shares == {(0b001, 0): 3, (0b111, 1): 0.5, (0b111, 2): 0.5}


def test_a_forced_place_leaves_no_trace_elsewhere() -> None:
    # Each of ports 0 and 1 is full with one µop; the wide µop must go to port 2 altogether.
    plan = plan_of({"a": ((0b011, 2),), "b": ((0b111, 1),)}, 3, {"a": 1, "b": 1})
    assert plan.loads == (1, 1, 1)
    assert plan.shares == {(0b011, 0): 1, (0b011, 1): 1, (0b111, 2): 1}


def test_equal_uops_of_two_schemes_are_shared_in_proportion() -> None:
    plan = plan_of({"a": ((0b11, 3),), "b": ((0b11, 1),)}, 2, {"a": 1, "b": 1})
    assert plan.scheme_shares == {"a": {(3, 0): 1.5, (3, 1): 1.5}, "b": {(3, 0): 0.5, (3, 1): 0.5}}


def test_the_bottleneck_outside_the_ports_is_told() -> None:
    mapping = PortMapping(("0", "1"), {"a": ((0b11, 1),)}, r_max=1)
    plan = schedule(mapping, Experiment.of(["a"]))
    assert (plan.cycles, plan.port_cycles, plan.limited_by_r_max) == (1, 0.5, True)


def test_schemes_without_ports_have_an_empty_schedule() -> None:
    plan = plan_of({"nop": ()}, 2, {"nop": 3})
    assert (plan.cycles, plan.loads, plan.bottleneck) == (0, (0, 0), ())
    assert plan.scheme_shares == {"nop": {}}


def test_an_unknown_scheme_is_named() -> None:
    with pytest.raises(UnknownSchemeError, match="div"):
        plan_of({"a": ((1, 1),)}, 1, {"div": 1})


def test_what_takes_longest_outside_the_ports_is_named() -> None:
    mapping = PortMapping(("0", "1"), {"a": ((0b11, 1),), "b": ()}, 4, 4, {"b": 3})
    found = {
        text: schedule(mapping, Experiment.of(terms)).limited_by
        for text, terms in {"aaaa": {"a": 4}, "bb": {"b": 2}, "aab": {"a": 2, "b": 1}}.items()
    }
    assert found == {"aaaa": "ports", "bb": "slots", "aab": "slots"}
    plan = schedule(mapping, Experiment.of({"a": 2, "b": 1}))
    assert (plan.cycles, plan.limits) == (1.25, {"instructions": 0.75, "slots": 1.25})
    assert plan.slots == {"a": 2, "b": 3}
    assert not plan.limited_by_r_max
