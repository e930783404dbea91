"""Inverse throughput on the examples of the thesis, at the edges, and of invalid input."""

from __future__ import annotations

import pytest

from inference.core.errors import InvalidInputError, UnknownSchemeError
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.throughput import inverse_throughput, port_bound, union_bound
from tests.core.oracle import lp_inverse_throughput, lp_port_bounds, over_ports

# The two-level example of thesis Figs. 3.1 and 3.2: mul on p1, add on p1 and p2, store on p3.
EXAMPLE = PortMapping(("p1", "p2", "p3"), {"mul": ((1, 1),), "add": ((3, 1),), "store": ((4, 1),)})


def test_the_example_of_the_thesis_takes_one_and_a_half_cycles() -> None:
    assert inverse_throughput(EXAMPLE, Experiment.of({"add": 2, "mul": 1, "store": 1})) == 1.5


def test_a_lone_scheme_spreads_over_its_ports() -> None:
    assert inverse_throughput(EXAMPLE, Experiment.of(["add"])) == 0.5


def test_dozens_of_uop_kinds_on_sixty_ports_take_no_exponential_time() -> None:
    masses = {(0b1011 << k) % (1 << 60) | 1 << (7 * k) % 60: 1 + k % 5 for k in range(56)}
    assert port_bound(masses) == pytest.approx(lp_port_bounds([masses])[0], rel=1e-6)


def test_a_bottleneck_outside_the_ports_counts_instructions() -> None:
    mapping = PortMapping(EXAMPLE.ports, EXAMPLE.usage, r_max=4)
    assert inverse_throughput(mapping, Experiment.of({"store": 1, "add": 1, "mul": 1})) == 1.0
    assert inverse_throughput(mapping, Experiment.of({"store": 1, "add": 4, "mul": 4})) == 4.0
    free = PortMapping(("p",), {"nop": ()}, r_max=4)
    assert inverse_throughput(free, Experiment.of(["nop"])) == 0.25


def test_no_ports_and_no_bottleneck_take_no_time() -> None:
    assert inverse_throughput(PortMapping(("p",), {"nop": ()}), Experiment.of(["nop"])) == 0.0
    assert union_bound({}) == over_ports({}, 3) == port_bound({3: 0}) == 0.0
    assert lp_port_bounds([{}, {1: 3}, {3: 0}]).tolist() == [0, 3, 0]


def test_an_unknown_scheme_is_named() -> None:
    with pytest.raises(UnknownSchemeError, match="div"):
        inverse_throughput(EXAMPLE, Experiment.of(["add", "div"]))
    with pytest.raises(UnknownSchemeError, match="div"):
        lp_inverse_throughput(EXAMPLE, Experiment.of(["div"]))


@pytest.mark.parametrize(
    ("masses", "complaint"),
    [
        ({0: 1}, "mask 0"),
        ({1 << 63: 1}, "1 to 63 ports"),
        ({True: 1}, "mask True"),
        ({1: -1}, "not -1"),
        ({1: 0.5}, "not 0.5"),
        ({1: 1 << 53}, "2\\^53"),
    ],
)
def test_work_that_cannot_be_is_refused(masses: dict[int, int], complaint: str) -> None:
    for compute in (port_bound, union_bound, lambda work: over_ports(work, 3)):
        with pytest.raises(InvalidInputError, match=complaint):
            compute(masses)


def test_all_port_sets_are_listed_for_few_ports_only() -> None:
    with pytest.raises(InvalidInputError, match="not for 21"):
        over_ports({1: 1}, 21)
    with pytest.raises(InvalidInputError, match="beyond the 2"):
        over_ports({4: 1}, 2)
