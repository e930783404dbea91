"""Codes that show slots of index registers, branches without a port, and short loops."""

from __future__ import annotations

from itertools import pairwise

import pytest

from inference.core.core_model.front_end_limits import front_end_limits
from inference.core.front_end import FrontEnd, read_front_end
from inference.isa.blocks import accesses_of, block_of_bytes
from inference.isa.bodies import front_end_maker
from inference.isa.front_end import AddressUse, Aspect, FrontEndCode
from inference.isa.targets import RISCV
from inference.isa.x86.front_end import front_end_codes
from inference.measuring.simulated_front_end import SimulatedFrontEnd

CODES = front_end_codes(offsets=False)
CORE = SimulatedFrontEnd(slots=6, fused=frozenset({"cmp", "dec"}))


def read(cycles_of: dict[tuple[Aspect, str, int], float]) -> FrontEnd:
    """The simulated front end but for the codes whose cycles are given."""
    times = {reading.code: reading.cycles for reading in CORE.time([asked.code for asked in CODES])}

    def cycles(asked: FrontEndCode) -> float:
        found = times[asked.code]
        assert found is not None
        return cycles_of.get((asked.aspect, asked.name, asked.value), found)

    return read_front_end((asked, cycles(asked)) for asked in CODES)


def test_an_index_register_that_costs_a_slot_is_found() -> None:
    assert not front_end_limits(read({})).indexed
    slower = {
        (Aspect.INDEXED, str(AddressUse.STORE), 1): 14 / 6,
        (Aspect.INDEXED, str(AddressUse.LOAD), 1): 13.3 / 6,
    }
    assert front_end_limits(read(slower)).indexed == {AddressUse.STORE}


@pytest.mark.parametrize(
    ("alone", "fused", "is_free"),
    [(2.25, 2.0, True), (2.25, 2.05, True), (2.25, 2.25, False), (2.25, 2.2, False), (2.0, 2.0, False)],
)
def test_a_branch_is_free_where_it_costs_less_than_the_comparison(
    alone: float, fused: float, is_free: bool
) -> None:
    name = "cmp reg, reg"
    times = {
        (Aspect.BRANCH_PORT, "", 0): 2.0,
        (Aspect.BRANCH_PORT, name, 1): alone,
        (Aspect.BRANCH_PORT, name, 2): fused,
    }
    assert (name in front_end_limits(read(times)).free_branches) == is_free


def test_short_loops_take_the_cycles_of_their_slots() -> None:
    fillers = {code.name for code in CODES if code.aspect is Aspect.SHORT_LOOP}
    times = {(Aspect.SHORT_LOOP, name, 8): 3.0 for name in fillers}
    loops = front_end_limits(read(times)).loops
    closing = len(loops) - 32  # slots of the decrement and the branch
    assert loops[: closing + 7] == tuple(max(1.0, slots / 6) for slots in range(1, closing + 8))
    assert loops[closing + 7] == 3.0
    assert all(first <= second for first, second in pairwise(loops))


@pytest.mark.parametrize("use", AddressUse)
def test_codes_use_memory_as_they_say(use: AddressUse) -> None:
    """With and without an index, the code differs in that alone."""
    codes = [code.code.code for code in CODES if code.aspect is Aspect.INDEXED and code.name == use]
    both = [accesses_of(block_of_bytes(code)) for code in codes]
    assert [[row.scheme for row in rows] for rows in both[:1]] == [[row.scheme for row in both[1]]]
    places = [
        [access.memory for row in rows for access in (*row.reads, *row.writes) if access.memory]
        for rows in both
    ]
    assert [any(place.is_indexed for place in of_code) for of_code in places] == [False, True]


def test_short_loops_are_known_where_no_comparison_is_fused_with_a_branch() -> None:
    riscv = front_end_maker(RISCV).front_end_codes(offsets=False)
    counted = (Aspect.SHORT_LOOP, Aspect.MOVE, Aspect.SIZE)
    limits = front_end_limits(
        read_front_end((code, code.value / 4 + 1) for code in riscv if code.aspect in counted)
    )
    assert limits.fused is not None
    assert not limits.fused
    closing = 2  # a decrement and a branch, which no core fuses
    assert limits.loops[7 + closing] == pytest.approx(8 / 4 + 1)
