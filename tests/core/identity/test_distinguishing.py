"""The distinguishing experiment distinguishes, is the smallest, and is missing only where there is none."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.errors import InvalidInputError, UnknownSchemeError
from inference.core.experiment import Experiment
from inference.core.identity import (
    Distinction,
    distinguishing_experiment,
    same_up_to_renaming,
    searching,
)
from inference.core.mapping import PortMapping
from inference.core.throughput import inverse_throughput
from tests.core.identity.small import (
    edited,
    exact_cycles,
    mapping,
    shuffled,
    smallest_by_trying_all,
    three_level,
    two_level,
)
from tests.drawn import examples

NOISE = st.sampled_from((0.0, 0.0, 0.01, 0.02, 0.05, 0.2))
R_MAX = st.sampled_from((None, None, 1.0, 2.0, 2.5, 4.0))


def checked(
    a: PortMapping,
    b: PortMapping,
    expected: Experiment | None,
    found: Distinction | None,
    r_max: float | None,
) -> None:
    assert (None if found is None else found.experiment) == expected
    if found is not None:
        assert found.first == float(exact_cycles(a, found.experiment, r_max))
        assert found.second == float(exact_cycles(b, found.experiment, r_max))


@examples(80)
@given(data=st.data(), noise=NOISE, r_max=R_MAX)
def test_two_levels_give_the_first_of_the_smallest(
    data: st.DataObject, noise: float, r_max: float | None
) -> None:
    first = data.draw(two_level(st.integers(1, 5), portless=True))
    second = edited(data.draw, first) if data.draw(st.booleans()) else data.draw(two_level(st.integers(1, 5)))
    found = distinguishing_experiment(first, second, noise=noise, r_max=r_max)
    longest = max(len(first.ports), len(second.ports))  # the construction says that these are enough
    expected = smallest_by_trying_all(first, second, longest, noise, r_max)
    checked(first, second, expected, found, r_max)
    bounded = distinguishing_experiment(first, second, noise=noise, r_max=r_max, max_length=2)
    assert bounded == (found if found is not None and found.experiment.length <= 2 else None)


@examples(60)
@given(data=st.data(), noise=NOISE, r_max=R_MAX)
def test_three_levels_give_the_first_of_the_smallest(
    data: st.DataObject, noise: float, r_max: float | None
) -> None:
    first = data.draw(three_level(st.integers(1, 5)))
    second = (
        edited(data.draw, first) if data.draw(st.booleans()) else data.draw(three_level(st.integers(1, 5)))
    )
    expected = smallest_by_trying_all(first, second, 4, noise, r_max)
    found = distinguishing_experiment(first, second, noise=noise, r_max=r_max, max_length=4)
    checked(first, second, expected, found, r_max)


@examples(60)
@given(data=st.data())
def test_without_noise_two_levels_are_told_apart_unless_they_are_the_same(data: st.DataObject) -> None:
    first = data.draw(two_level(st.integers(2, 9), schemes="abcdefg"))
    second = edited(data.draw, first)
    found = distinguishing_experiment(first, second)
    assert (found is None) == same_up_to_renaming(first, second)
    if found is not None:
        assert found.first == inverse_throughput(first, found.experiment)
        assert found.second == inverse_throughput(second, found.experiment)
        assert found.first != found.second
        assert found.experiment.length <= len(first.ports)


@examples(60)
@given(data=st.data(), rates=st.tuples(R_MAX, R_MAX), noise=NOISE)
def test_without_an_r_max_each_mapping_has_its_own(
    data: st.DataObject, rates: tuple[float | None, float | None], noise: float
) -> None:
    first = data.draw(two_level(st.integers(1, 4), "abc") | three_level(st.integers(1, 4), "abc"))
    second = PortMapping(first.ports, edited(data.draw, first).usage, rates[1])
    first = PortMapping(first.ports, first.usage, rates[0])
    found = distinguishing_experiment(first, second, noise=noise, max_length=4)
    checked(first, second, smallest_by_trying_all(first, second, 4, noise), found, None)


def test_a_lone_scheme_hides_whether_its_uops_share_ports() -> None:
    """{1} + {2} and 2 × {1,2}: not the same, yet indistinguishable; a second scheme changes that."""
    split, shared = mapping({"a": "0 + 1"}), mapping({"a": "01 + 01"})
    assert not same_up_to_renaming(split, shared)
    assert distinguishing_experiment(split, shared, max_length=12) is None
    split, shared = mapping({"a": "0 + 1", "b": "0"}), mapping({"a": "01 + 01", "b": "0"})
    assert distinguishing_experiment(split, shared) == Distinction(Experiment.of("ab"), 2.0, 1.5)


def test_a_difference_of_exactly_twice_the_noise_is_not_enough() -> None:
    """Five ports or four: 0.05 cycles per instruction apart (thesis §4.4)."""
    four, five = mapping({"a": "0123"}, ports=5), mapping({"a": "01234"})
    assert distinguishing_experiment(four, five, noise=0.025) is None
    assert distinguishing_experiment(four, five, noise=0.0249) == Distinction(Experiment.of("a"), 0.25, 0.2)


def test_r_max_hides_what_is_beyond_it() -> None:
    four, five = mapping({"a": "0123"}, ports=5), mapping({"a": "01234"})
    assert distinguishing_experiment(four, five, r_max=4) is None
    assert distinguishing_experiment(four, five, r_max=4.5) is not None


def test_pairs_that_agree_may_differ_as_triples() -> None:
    """A ring of three overlapping port sets, and three sets that overlap in one port."""
    ring, star = mapping({"a": "01", "b": "12", "c": "02"}), mapping({"a": "01", "b": "02", "c": "03"})
    assert distinguishing_experiment(ring, star) == Distinction(Experiment.of("abc"), 1.0, 0.75)


def test_only_the_schemes_that_are_asked_for_are_used() -> None:
    first, second = mapping({"a": "0", "b": "01", "c": "0"}), mapping({"a": "01", "b": "0", "c": "0"})
    found = distinguishing_experiment(first, second, schemes=["b", "c"])
    assert found is not None
    assert found.experiment == Experiment.of("b")
    assert distinguishing_experiment(first, second, schemes=["c"]) is None
    with pytest.raises(UnknownSchemeError, match="nowhere"):
        distinguishing_experiment(first, second, schemes=["a", "nowhere"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": -0.1}, "noise"),
        ({"noise": float("nan")}, "noise"),
        ({"r_max": 0.0}, "R_max"),
        ({"r_max": float("inf")}, "R_max"),
        ({"max_length": 0}, "max_length"),
    ],
)
def test_numbers_out_of_range_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        distinguishing_experiment(mapping({"a": "0"}), mapping({"a": "01"}), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", ["MAX_UNIONS", "_MAX_UOPS"])
def test_with_too_many_port_sets_for_a_table_the_answer_is_the_same(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (
        mapping({"a": "0 + 1", "b": "12", "c": "2"}),
        mapping({"a": "01 + 01", "b": "12", "c": "2"}),
    )
    expected = distinguishing_experiment(first, second, noise=0.02, r_max=3.0)
    assert expected is not None
    monkeypatch.setattr(searching, limit, 1)
    assert distinguishing_experiment(first, second, noise=0.02, r_max=3.0) == expected


def test_wide_machines_and_fine_noise_need_more_than_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The common unit of 1/1 … 1/40 cycles and of the noise does not fit into a machine word."""
    usage = {f"s{k:02}": (((1 << k) - 1, 2),) for k in range(2, 41)}
    first = PortMapping(tuple(f"p{k}" for k in range(40)), usage)
    second = PortMapping(first.ports, {**usage, "s40": usage["s39"], "s39": usage["s38"]})
    for noise, scheme in ((0.000674123456789, "s39"), (0.000675123456789, None)):
        found = distinguishing_experiment(first, second, noise=noise, max_length=2)
        assert (None if found is None else str(found.experiment)) == scheme
        with monkeypatch.context() as patched:
            patched.setattr(searching, "MAX_UNIONS", 1)
            assert distinguishing_experiment(first, second, noise=noise, max_length=2) == found


@pytest.mark.parametrize("kinds", [1, 2])
def test_two_candidates_of_an_inference_are_told_apart_quickly(kinds: int) -> None:
    chance = random.Random(3)
    usage = {
        f"s{k:02}": tuple((mask, 1) for mask in sorted({chance.randrange(1, 1 << 10) for _ in range(kinds)}))
        for k in range(20)
    }
    first = PortMapping(tuple(f"p{k}" for k in range(10)), usage)
    mask, count = usage["s07"][0]
    other = mask ^ (1 << 9) ^ (mask & -mask) or mask
    second = shuffled(PortMapping(first.ports, {**usage, "s07": ((other, count),)}))
    start = time.process_time()
    distinguishing_experiment(first, second, noise=0.02, r_max=5, max_length=5)
    distinguishing_experiment(first, second, noise=0.4, r_max=5, max_length=5)
    assert time.process_time() - start < 5


def test_slots_alone_tell_mappings_without_uops_apart() -> None:
    one = PortMapping(("0",), {"a": ()}, issue_width=2.0)
    two = PortMapping(("0",), {"a": ()}, issue_width=2.0, slots={"a": 2})
    found = distinguishing_experiment(one, two, max_length=1)
    assert found is not None
    assert (str(found.experiment), found.first, found.second) == ("a", 0.5, 1.0)
