"""Numbers of two cores side by side."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.core_model import CoreModel, CoreOverview, FrontEndLimits, MemoryTimes, core_overview
from inference.core.core_model.differences import ComparedCore, CoreNumber, core_numbers
from inference.core.mapping import PortMapping

NOTHING = ComparedCore(CoreOverview((), (), (), None, None, None))


def core(alus: int, *, r_max: float = 4.0, latency: float = 1.0) -> ComparedCore:
    ports = tuple(map(str, range(alus)))
    mapping = PortMapping(ports, {"add": ((2**alus - 1, 1),)}, r_max=r_max)
    model = CoreModel(mapping, {"add": {("1", "1"): latency}}, front_end=FrontEndLimits(slots=r_max))
    return ComparedCore(core_overview(model, {"add": "ALU"}, ("ALU",), ()), MemoryTimes(load=5.0))


def differing(first: ComparedCore, second: ComparedCore) -> dict[tuple[str, str], tuple[object, object]]:
    return {
        (number.subject, number.aspect): (number.first, number.second)
        for number in core_numbers(first, second)
        if number.differs
    }


def test_a_core_does_not_differ_from_itself():
    numbers = core_numbers(core(4), core(4))
    assert {number.subject for number in numbers} == {"issue", "front end", "memory", "ALU"}
    assert not any(number.differs for number in numbers)


def test_what_differs_is_counted_and_timed():
    assert differing(core(6, r_max=8.0), core(4, latency=2.0)) == {
        ("issue", "instructions"): (8.0, 4.0),
        ("front end", "slots in loops"): (8.0, 4.0),
        ("ALU", "ports"): (6, 4),
        ("ALU", "quickest alone"): (pytest.approx(1 / 6), 0.25),
        ("ALU", "least latency"): (1.0, 2.0),
        ("ALU", "largest latency"): (1.0, 2.0),
    }


def test_what_one_core_lacks_is_listed_and_no_difference():
    numbers = core_numbers(core(4), NOTHING)
    assert numbers
    assert all(number.second is None and not number.differs for number in numbers)
    assert core_numbers(NOTHING, NOTHING) == []


@given(st.floats(0.1, 100), st.floats(0.1, 100))
def test_difference_is_symmetric(first: float, second: float):
    there = CoreNumber("ALU", "ports", "", first, second)
    back = CoreNumber("ALU", "ports", "", second, first)
    assert there.differs == back.differs
    assert not CoreNumber("ALU", "ports", "", first, first * 1.029).differs
