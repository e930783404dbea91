"""The four abstractions of Table 8.2, held against their definitions."""

from __future__ import annotations

import itertools
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anica_app.core.domain.abstractions import (
    NO_ELEMENTS,
    UP,
    EditDistances,
    LogSizes,
    Singletons,
    Subsets,
    edit_distance,
)
from anica_app.core.domain.features import full_vocabulary, weaker_access, weaker_operand
from anica_app.core.errors import AnicaError

WORDS = st.text("abc", max_size=5)


def slow_distance(one: str, other: str) -> int:
    if not one or not other:
        return len(one) + len(other)
    if one[0] == other[0]:
        return slow_distance(one[1:], other[1:])
    return 1 + min(
        slow_distance(one[1:], other), slow_distance(one, other[1:]), slow_distance(one[1:], other[1:])
    )


@given(WORDS, WORDS)
def test_the_distance_is_the_least_number_of_edits(one: str, other: str) -> None:
    assert edit_distance(one, other) == slow_distance(one, other)


def test_mnemonics_grow_apart_edit_by_edit_until_any_will_do() -> None:
    edits = EditDistances(3)
    value = edits.represent("vaddpd")
    assert value == ("vaddpd", 0)
    assert [word for word in ("vaddpd", "vaddps", "vaddss") if edits.represents(value, word)] == ["vaddpd"]
    chain = [value]
    while (value := edits.expand(value, UP)) is not None:
        chain.append(value)
    assert chain == [("vaddpd", 0), ("vaddpd", 1), ("vaddpd", 2), ("vaddpd", 3)]
    assert edits.represents(("vaddpd", 2), "vaddss")
    assert not edits.represents(("vaddpd", 1), "vaddss")
    assert not edits.is_below(("vaddpd", 0), ("vaddps", 3))


@pytest.mark.parametrize(
    ("uops", "least"), [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (16, 5), (31, 5), (32, None), (99, None)]
)
def test_numbers_of_uops_are_represented_as_the_thesis_corrects_it(uops: int, least: int | None) -> None:
    sizes = LogSizes(5)
    assert sizes.represent(uops) == least
    for bound in range(6):
        assert sizes.represents(bound, uops) == (uops < 2**bound)
        assert sizes.represents(bound, uops) == sizes.is_below(sizes.represent(uops), bound)


def test_an_unknown_number_of_uops_is_in_no_bound_but_the_top() -> None:
    assert LogSizes(5).represent(None) is None
    assert not LogSizes(5).represents(5, None)


def test_a_set_is_relaxed_element_by_element_and_none_is_apart() -> None:
    subsets = Subsets()
    value = subsets.represent(frozenset({"R", "size:64"}))
    assert subsets.steps(value) == ("R", "size:64")
    sized = subsets.expand(value, "R")
    some = subsets.expand(sized, "size:64")
    assert (sized, some) == (frozenset({"size:64"}), frozenset())
    assert subsets.expand(some, UP) is None
    assert subsets.represents(some, frozenset({"W"}))
    assert not subsets.represents(some, frozenset())
    assert subsets.represent(frozenset()) == NO_ELEMENTS
    assert subsets.represents(NO_ELEMENTS, frozenset())
    assert not subsets.represents(NO_ELEMENTS, frozenset({"R"}))
    assert subsets.expand(NO_ELEMENTS, UP) is None
    assert not subsets.is_below(NO_ELEMENTS, some)
    assert not subsets.is_below(some, NO_ELEMENTS)


@pytest.mark.parametrize(
    ("element", "weaker"),
    [
        ("size:64", {"size<=64", "size>=64"}),
        ("size:80", {"size<=128", "size>=64"}),
        ("size:4096", {"size>=512"}),
        ("size:0", {"size<=8"}),
        ("size:8", {"size<=8"}),
        ("size:512", {"size>=512"}),
        ("size<=64", {"size<=128"}),
        ("size>=64", {"size>=32"}),
        ("size<=256", set()),
        ("size>=16", set()),
        ("R", set()),
    ],
)
def test_a_width_is_weakened_to_the_next_on_either_side(element: str, weaker: set[str]) -> None:
    assert weaker_access(element) == weaker


@pytest.mark.parametrize(
    ("element", "weaker"),
    [
        ("cf:R", {"flags:R"}),
        ("cf:RW", {"cf:R", "cf:W"}),
        ("cf:W", set()),
        ("flags:R", set()),
        ("GPR[64]:RW", {"GPR:RW"}),
        ("GPR:RW", {"GPR:R", "GPR:W"}),
        ("GPR:R", set()),
        ("cl:R", {"GPR:R"}),
        ("rsp:RW", set()),
        ("YMM:W", {"vector:W"}),
        ("xmm0:R", {"vector:R"}),
        ("ZMM{k}{z}:W", {"vector:W"}),
        ("vector:RW", {"vector:R", "vector:W"}),
        ("0x0", set()),
        ("MEM[64,rsp]:W", set()),
        ("MEM[16]:RW", {"MEM[<=16]:RW", "MEM[>=16]:RW"}),
        ("MEM[>=32]:R", {"MEM[>=16]:R"}),
    ],
)
def test_a_flag_that_is_read_is_weakened_to_any_and_memory_by_its_width(
    element: str, weaker: set[str]
) -> None:
    assert weaker_operand(full_vocabulary().operands, element) == weaker


_ACCESSES = ("R", "W", *(f"size:{bits}" for bits in (0, 8, 16, 32, 48, 64, 80, 128, 256, 512, 4096)))


def _climbed(subsets: Subsets, value: object, choices: list[int]) -> list[object]:
    """The values on a way up from one, by steps of both kinds."""
    found = [value]
    for choice in choices:
        value = found[-1]
        steps = () if value is None else (*subsets.steps(value), *subsets.small_steps(value))
        if not steps:
            break
        found.append(subsets.expand(value, steps[choice % len(steps)]))
    return found


@given(st.frozensets(st.sampled_from(_ACCESSES), max_size=4), st.lists(st.integers(0, 99), max_size=12))
def test_small_steps_lead_up_and_less_far_than_dropping(elements: frozenset[str], choices) -> None:
    subsets = Subsets(weaker_access)
    way = _climbed(subsets, subsets.represent(elements), choices)
    for low, high in itertools.pairwise(way):
        assert high != low
        assert subsets.is_below(low, high)
        assert high is None or subsets.represents(high, elements)
    for value in (one for one in way if one is not None):
        for step in subsets.small_steps(value):
            small, dropped = subsets.expand(value, step), subsets.expand(value, step.split(" > ")[0])
            assert subsets.is_below(value, small)
            assert subsets.is_below(small, dropped)
            assert small != value


@given(
    st.frozensets(st.sampled_from(_ACCESSES), max_size=4),
    st.lists(st.integers(0, 99), max_size=6),
    st.lists(st.integers(0, 99), max_size=6),
)
def test_small_steps_are_monotone(elements: frozenset[str], choices, more) -> None:
    subsets = Subsets(weaker_access)
    low = _climbed(subsets, subsets.represent(elements), choices)[-1]
    high = _climbed(subsets, low, more)[-1]
    if low is not None and high is not None:
        for step in set(subsets.small_steps(low)) & set(subsets.small_steps(high)):
            assert subsets.is_below(subsets.expand(low, step), subsets.expand(high, step))


def test_one_side_of_a_width_is_relaxed_while_the_other_stays() -> None:
    subsets = Subsets(weaker_access)
    value = frozenset({"W", "size:32"})
    assert subsets.small_steps(value)[0] in ("size:32 > size<=256", "size:32 > size>=16")
    assert subsets.expand(value, "size:32 > size<=128") == {"W", "size<=128"}
    assert subsets.expand(value, "size:32 > size<=32 & size>=32") == {"W", "size<=32", "size>=32"}
    assert subsets.small_steps(value)[-1] == "size:32 > size<=32 & size>=32"
    assert subsets.represents(frozenset({"size<=128", "size>=32"}), frozenset({"R", "size:80"}))
    assert not subsets.represents(frozenset({"size<=128", "size>=32"}), frozenset({"R", "size:16"}))
    flags = Subsets(partial(weaker_operand, full_vocabulary().operands))
    assert flags.expand(frozenset({"cf:RW", "zf:R"}), "zf:R > flags:R") == {"cf:RW"}
    assert flags.expand(frozenset({"cf:RW"}), "cf:RW > flags:R") == {"flags:R"}
    assert flags.expand(frozenset({"cf:RW"}), "cf:RW > cf:R & cf:W") == {"cf:R", "cf:W"}
    assert flags.represents(frozenset({"flags:R"}), frozenset({"cf:RW"}))


def test_the_paper_s_sets_know_no_small_steps() -> None:
    subsets = Subsets(weaker_access, gradual=False)
    value = frozenset({"W", "size:32"})
    assert subsets.small_steps(value) == ()
    assert subsets.small_steps(NO_ELEMENTS) == ()
    assert Subsets(weaker_access).small_steps(NO_ELEMENTS) == ()


def test_one_word_has_nothing_between_itself_and_any() -> None:
    words = Singletons()
    assert words.represents(words.represent("shift"), "shift")
    assert not words.represents(("shift",), "rotate")
    assert words.represents(("rotate", "shift"), "rotate")
    assert not words.is_below(("shift",), ("rotate", "shift"))
    assert words.expand(("shift",), UP) is None


@pytest.mark.parametrize(
    ("abstraction", "values"),
    [
        (Singletons(), [("a",), ("a", "b")]),
        (EditDistances(3), [("add", 0), ("add", 3)]),
        (LogSizes(5), [0, 1, 5]),
        (Subsets(), [NO_ELEMENTS, frozenset(), frozenset({"R", "W"})]),
    ],
)
def test_values_come_back_from_their_documents(abstraction, values) -> None:
    for value in values:
        assert abstraction.read(abstraction.document(value)) == value


@pytest.mark.parametrize(
    ("abstraction", "wrong", "wanted"),
    [
        (Singletons(), [], "a word or a list of words"),
        (Singletons(), 3, "a word or a list of words"),
        (EditDistances(3), {"base": "add", "edits": 4}, "0 to 3"),
        (EditDistances(3), "add", "a mnemonic"),
        (EditDistances(3), {"base": "add", "edits": 1, "more": 1}, "a mnemonic"),
        (LogSizes(5), {"fewer_than": 3}, "a power of two up to 32"),
        (LogSizes(5), {"fewer_than": 64}, "a power of two up to 32"),
        (Subsets(), "some", 'a list of words or "none"'),
        (Subsets(), [1], 'a list of words or "none"'),
    ],
)
def test_what_is_no_value_is_refused_with_what_would_be(abstraction, wrong: object, wanted: str) -> None:
    with pytest.raises(AnicaError, match=wanted):
        abstraction.read(wrong)
