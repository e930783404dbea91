"""The experiment that would decide has the scheme, tells both possibilities apart, and is short."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.experiment import Experiment
from inference.core.identity import deciding_experiment, structural_agreement
from inference.core.identity.comparison import NOISE
from inference.core.mapping import PortMapping
from inference.core.throughput import inverse_throughput
from tests.core.strategies import mappings

PORTS = ("0", "1", "2", "3")
BLOCKERS = {"a": ((0b0011, 1),), "b": ((0b0100, 1),), "c": ((0b1000, 1),)}


def with_usage(uops, r_max=None) -> PortMapping:
    return PortMapping(PORTS, {**BLOCKERS, "s": uops}, r_max)


@given(mappings(st.sampled_from((3, 5))), st.data())
def test_it_contains_the_scheme_and_tells_apart_by_more_than_the_noise(mapping: PortMapping, data):
    scheme = data.draw(st.sampled_from(sorted(mapping.usage)))
    mask = data.draw(st.integers(1, (1 << len(mapping.ports)) - 1))
    changed = replace(mapping, usage={**mapping.usage, scheme: ((mask, data.draw(st.integers(1, 3))),)})
    found = deciding_experiment(mapping, changed, scheme, mapping.usage.keys() - {scheme})
    if found is None:
        return
    assert scheme in found.experiment.schemes
    first, second = (inverse_throughput(each, found.experiment) for each in (mapping, changed))
    assert (found.first, found.second) == (pytest.approx(first), pytest.approx(second))
    assert abs(first - second) > 2 * NOISE * found.experiment.length


def test_a_scheme_whose_time_alone_differs_is_decided_alone():
    found = deciding_experiment(with_usage(((0b0011, 1),)), with_usage(((0b0001, 1),)), "s", BLOCKERS)
    assert found is not None
    assert found.experiment == Experiment.of(["s"])


def test_one_whose_time_alone_is_equal_is_decided_beside_what_blocks_its_ports():
    found = deciding_experiment(with_usage(((0b0100, 1),)), with_usage(((0b1000, 1),)), "s", BLOCKERS)
    assert found is not None
    assert found.experiment == Experiment.of(["b", "s"])
    assert (found.first, found.second) == (2.0, 1.0)


def test_what_the_bottleneck_hides_is_not_offered():
    """Two instructions per cycle at most: neither possibility can be seen beside anything."""
    narrow = [with_usage(uops, r_max=0.5) for uops in (((0b0100, 1),), ((0b1000, 1),))]
    assert deciding_experiment(*narrow, "s", BLOCKERS) is None


def test_ports_of_the_other_mapping_need_not_have_the_same_names():
    here = with_usage(((0b0100, 1),))
    there = PortMapping(
        ("x", "y", "z", "w"),
        {"a": ((0b1100, 1),), "b": ((0b0001, 1),), "c": ((0b0010, 1),), "s": ((0b0010, 1),)},
    )
    alike = structural_agreement(here, there).agreeing
    assert alike == ("a", "b", "c")
    found = deciding_experiment(here, there, "s", alike)
    assert found is not None
    assert "s" in found.experiment.schemes
