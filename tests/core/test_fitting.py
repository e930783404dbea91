"""The smallest change that makes a mapping fit, against trying all of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.errors import InvalidInputError, UnknownSchemeError
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, uops_of
from inference.core.misfits import MAX_CHANGE, is_within_tolerance, smallest_changes
from inference.core.throughput import inverse_throughput

SCHEMES = ("a", "b", "c")
masks = st.integers(1, 0b1111)
usages = st.lists(st.tuples(masks, st.integers(1, 3)), max_size=3).map(uops_of)


@st.composite
def mappings(draw: st.DrawFn) -> PortMapping:
    usage = {scheme: draw(usages) for scheme in SCHEMES}
    width = draw(st.sampled_from([None, 2.0, 4.0]))
    slots = {scheme: draw(st.integers(1, 3)) for scheme in SCHEMES} if width else {}
    return PortMapping(("0", "1", "2", "3"), usage, issue_width=width, slots=slots)


experiments = st.dictionaries(st.sampled_from(SCHEMES), st.integers(1, 3), min_size=1).map(Experiment.of)


def all_changes(
    mapping: PortMapping, experiment: Experiment, measured: float
) -> set[tuple[int, str, int | None]]:
    """(number, scheme, mask) of every change of the smallest size that fits: each is tried."""
    kinds = {mask for uops in mapping.usage.values() for mask, _ in uops}
    for size in range(1, MAX_CHANGE + 1):
        found = set()
        for number in (size, -size):
            for scheme in experiment.schemes:
                for mask in kinds:
                    counts = dict(mapping.usage[scheme])
                    counts[mask] = counts.get(mask, 0) + number
                    if counts[mask] >= 0:
                        uops = uops_of((kind, count) for kind, count in counts.items() if count)
                        changed = replace(mapping, usage={**mapping.usage, scheme: uops})
                        if is_within_tolerance(inverse_throughput(changed, experiment), measured):
                            found.add((number, scheme, mask))
                slots = mapping.slots_of(scheme) + number
                if mapping.issue_width is not None and slots >= 1:
                    changed = replace(mapping, slots={**mapping.slots, scheme: slots})
                    if is_within_tolerance(inverse_throughput(changed, experiment), measured):
                        found.add((number, scheme, None))
        if found:
            return found
    return set()


@given(mappings(), experiments, st.integers(1, 40))
def test_the_smallest_changes_are_those_that_trying_all_of_them_finds(
    mapping: PortMapping, experiment: Experiment, quarters: int
) -> None:
    measured = quarters / 4
    found = smallest_changes(mapping, experiment, measured)
    if is_within_tolerance(inverse_throughput(mapping, experiment), measured):
        assert found == ()
    else:
        assert {(c.number, c.scheme, c.mask) for c in found} == all_changes(mapping, experiment, measured)
    errors = [abs(change.cycles - measured) for change in found]
    assert errors == sorted(errors)


def test_a_missing_uop_is_found_with_its_kind() -> None:
    mapping = PortMapping(("0", "1"), {"add": ((0b11, 1),), "div": ((0b01, 1),)})
    experiment = Experiment.of({"add": 2, "div": 1})
    assert inverse_throughput(mapping, experiment) == 1.5
    first = smallest_changes(mapping, experiment, 2.5)[0]
    assert (first.scheme, first.mask, first.number, first.cycles) == ("add", 0b11, 1, 2.5)
    second = smallest_changes(mapping, experiment, 2.0, kinds=[0b01])
    assert [(c.scheme, c.mask, c.number) for c in second] == [("div", 0b01, 1)]


def test_what_is_no_time_and_what_the_mapping_does_not_know_is_refused() -> None:
    mapping = PortMapping(("0",), {"add": ((1, 1),)})
    for measured in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InvalidInputError):
            smallest_changes(mapping, Experiment.of({"add": 1}), measured)
    with pytest.raises(UnknownSchemeError):
        smallest_changes(mapping, Experiment.of({"mul": 1}), 1.0)
