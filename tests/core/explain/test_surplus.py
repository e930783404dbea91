"""The formulas of §6.1 and §6.2.2, and the counter-example of appendix E.1."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from inference.core.explain.surplus import (
    copies_to_flood,
    flood_of,
    split_surplus,
    surplus_by_time,
    usage_from,
)
from inference.core.mapping import PortMapping, Uops
from inference.core.throughput import inverse_throughput
from tests.core.explain.small import mapping_of

E1 = mapping_of("012", {"I": "1 01 02 02 02 02", "B1": "1", "B01": "01", "B02": "02", "B12": "12"})
"""The processor of appendix E.1."""

NARROW_FIRST = ("B1", "B01", "B02", "B12")


def characterised(mapping: PortMapping, copies: dict[str, int]) -> Uops | None:
    """The usage of I by time, with so many copies of each blocking instruction."""
    masks = {blocker: mapping.usage[blocker][0][0] for blocker in NARROW_FIRST}
    surpluses = {}
    for blocker in NARROW_FIRST:
        base = inverse_throughput(mapping, flood_of(blocker, copies[blocker]))
        tested = inverse_throughput(mapping, flood_of(blocker, copies[blocker], "I"))
        surpluses[blocker] = round(surplus_by_time(base, tested, masks[blocker].bit_count()))
    return usage_from(surpluses, masks)


def test_too_few_blocking_instructions_find_a_uop_that_is_not_there() -> None:
    paper = dict.fromkeys(NARROW_FIRST, 3 * 2)  # ports times the largest latency, as the article has it
    found = characterised(E1, paper)
    assert found != E1.usage["I"]
    assert found is None or any(mask == 0b110 for mask, _ in found)


def test_as_many_as_the_program_of_uops_info_uses_find_the_truth() -> None:
    alone = inverse_throughput(E1, flood_of("I", 1))
    enough = {
        blocker: copies_to_flood(E1.usage[blocker][0][0].bit_count(), alone, 6, 100)
        for blocker in NARROW_FIRST
    }
    assert characterised(E1, enough) == E1.usage["I"]


def test_the_number_of_copies_follows_time_uops_and_bounds() -> None:
    assert copies_to_flood(1, 0.25, 1, 100) == 10
    assert copies_to_flood(4, 3.9, 2, 100) == 24
    assert copies_to_flood(4, 1.0, 9, 100) == 36
    assert copies_to_flood(4, 30.0, None, 100) == 100


def test_a_surplus_is_divided_among_subsets() -> None:
    assert split_surplus(3, 0b110, {0b010: 1, 0b001: 5}).uops == 2
    assert split_surplus(3, 0b110, {0b110: 2}).below == 0


def test_uops_on_ports_that_blocked_sets_have_in_common_are_theirs_where_nothing_else_is_possible() -> None:
    masks = {"p01": 0b011, "p12": 0b110, "p012": 0b111}
    assert usage_from({"p01": 2, "p12": 2, "p012": 2}, masks) == ((0b010, 2),)
    assert usage_from({"p01": 2, "p12": 2, "p012": 3}, masks) is None  # one or two of them
    assert usage_from({"p01": 2, "p12": 2, "p012": 1}, masks) is None


@given(
    st.lists(
        st.tuples(st.sampled_from([0b1, 0b10, 0b11, 0b100, 0b111, 0b1100]), st.integers(1, 4)), max_size=5
    )
)
def test_the_usage_follows_from_exact_floods(pairs: list[tuple[int, int]]) -> None:
    masks = {"p0": 0b1, "p1": 0b10, "p01": 0b11, "p2": 0b100, "p012": 0b111, "p23": 0b1100}
    total: dict[int, int] = {}
    for mask, count in pairs:
        total[mask] = total.get(mask, 0) + count
    surpluses = {
        name: sum(count for other, count in total.items() if other & mask == other)
        for name, mask in masks.items()
    }
    assert usage_from(surpluses, masks) == tuple(sorted(total.items()))
