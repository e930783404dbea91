"""The range of each port's load is that of the linear program, and no optimal distribution leaves it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.errors import InvalidInputError
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, ports_in
from inference.core.schedule import Interval, load_intervals, schedule
from inference.core.throughput import densest_ports, port_bound, work_of
from tests.core.strategies import experiments, mappings, masks
from tests.drawn import examples


def lp_interval(work: Mapping[int, int], n_ports: int, time: float, port: int) -> tuple[float, float]:
    """Least and greatest load of a port when every µop is placed and no port works longer than `time`."""
    from scipy.optimize import linprog

    kinds = sorted(work)
    places = [(row, k) for row, mask in enumerate(kinds) for k in ports_in(mask)]
    placed = np.zeros((len(kinds), len(places)))
    loads = np.zeros((n_ports, len(places)))
    for column, (row, k) in enumerate(places):
        placed[row, column] = loads[k, column] = 1
    total = [work[mask] for mask in kinds]
    # The solver is asked for shares of the time: its tolerances are absolute.
    solved = [
        linprog(
            sign * loads[port],
            A_ub=loads,
            b_ub=np.full(n_ports, 1 + 1e-12),
            A_eq=placed,
            b_eq=np.array(total) / time,
            bounds=(0, None),
            method="highs",
        )
        for sign in (1, -1)
    ]
    assert all(each.success for each in solved)
    return solved[0].fun * time, -solved[1].fun * time


def held_against_the_linear_program(work: Mapping[int, int], n_ports: int, time: float, port: int) -> None:
    least, greatest = lp_interval(work, n_ports, time, port)
    exact = _shortest(work) if time == port_bound(work) else Fraction(time)
    found = load_intervals(work, n_ports, exact)[port]
    assert found.least == pytest.approx(least, rel=1e-6, abs=1e-6 * time)
    assert found.greatest == pytest.approx(greatest, rel=1e-6, abs=1e-6 * time)


def _shortest(work: Mapping[int, int]) -> Fraction:
    densest = densest_ports(work)
    return Fraction(densest.mass, densest.width)


def works(n_ports: int, max_kinds: int) -> st.SearchStrategy[dict[int, int]]:
    return st.dictionaries(masks(n_ports), st.integers(1, 300), min_size=1, max_size=max_kinds)


@examples(60)
@given(data=st.data(), n_ports=st.integers(1, 8), slack=st.sampled_from((1.0, 1.0, 1.25, 3.0)))
def test_the_ranges_on_few_ports_are_those_of_the_linear_program(
    data: st.DataObject, n_ports: int, slack: float
) -> None:
    work = data.draw(works(n_ports, 10))
    for port in range(n_ports):
        held_against_the_linear_program(work, n_ports, port_bound(work) * slack, port)


@examples(60)
@given(data=st.data(), n_ports=st.integers(9, 24), slack=st.sampled_from((1.0, 1.0, 1.1)))
def test_the_ranges_on_many_ports_with_many_kinds_of_uops_are_those_of_the_linear_program(
    data: st.DataObject, n_ports: int, slack: float
) -> None:
    work = data.draw(works(n_ports, 60))
    port = data.draw(st.integers(0, n_ports - 1))
    held_against_the_linear_program(work, n_ports, port_bound(work) * slack, port)


@examples(60)
@given(
    mapping=st.one_of(mappings(st.integers(1, 9)), mappings(st.integers(10, 63), max_kinds=2)),
    experiment=experiments(),
)
def test_the_fair_schedule_lies_within_the_ranges(mapping: PortMapping, experiment: Experiment) -> None:
    plan = schedule(mapping, experiment)
    for load, (least, greatest) in zip(plan.loads, plan.intervals, strict=True):
        assert 0 <= least <= load <= greatest <= plan.cycles
    work = work_of(mapping, experiment)
    fixed = load_intervals(work, len(mapping.ports), _shortest(work)) if work else ()
    always_full = [port for port, (least, _) in enumerate(fixed) if least == plan.port_cycles > 0]
    assert always_full == list(plan.bottleneck)


def test_what_the_other_ports_cannot_take_is_the_least_load() -> None:
    # Port 0 is full with the µops that have no other; the four others share ports 1 and 2, three cycles each.
    ranges = load_intervals({0b001: 3, 0b110: 4}, 3, Fraction(3))
    assert ranges == (Interval(3, 3), Interval(1, 3), Interval(1, 3))
    assert [each.is_fixed for each in ranges] == [True, False, False]


def test_work_that_is_pushed_off_a_port_may_push_other_work_on() -> None:
    # To empty port 0, [0,1] goes to port 1, from where [1,2] goes to port 2.
    assert load_intervals({0b0011: 2, 0b0110: 2, 0b1000: 2}, 4, Fraction(2))[0] == Interval(0, 2)


def test_more_time_means_more_freedom() -> None:
    work = {0b01: 2, 0b11: 2}
    assert load_intervals(work, 2, Fraction(2)) == ((2, 2), (2, 2))
    assert load_intervals(work, 2, Fraction(3)) == ((2, 3), (1, 2))
    assert load_intervals(work, 2, Fraction(8, 3)) == ((2, 8 / 3), (4 / 3, 2))


def test_a_bottleneck_beside_the_ports_leaves_them_their_freedom() -> None:
    usage = {"add": ((0b11, 1),)}
    free = schedule(PortMapping(("0", "1"), usage, r_max=1.0), Experiment.of({"add": 4}))
    assert (free.cycles, free.loads, free.intervals) == (4, (2, 2), ((0, 4), (0, 4)))
    bound = schedule(PortMapping(("0", "1"), usage, r_max=8.0), Experiment.of({"add": 4}))
    assert (bound.cycles, bound.intervals) == (2, ((2, 2), (2, 2)))


def test_a_port_without_uops_is_always_empty() -> None:
    assert load_intervals({0b1: 2}, 3, Fraction(2)) == ((2, 2), (0, 0), (0, 0))
    assert load_intervals({}, 2, Fraction(0)) == load_intervals({0b1: 0}, 2, Fraction(7)) == ((0, 0), (0, 0))


@pytest.mark.parametrize("time", [1.999, 0, -1])
def test_a_time_in_which_nothing_fits_is_refused(time: float) -> None:
    with pytest.raises(InvalidInputError, match="2 cycles"):
        load_intervals({0b1: 2}, 1, Fraction(time))
