"""Front ends are found again on processors that have them."""

from __future__ import annotations

import pytest

from inference.core.front_end import FrontEnd, read_front_end
from inference.isa.front_end import Aspect
from inference.isa.x86.front_end import front_end_codes
from inference.measuring.simulated_front_end import SimulatedFrontEnd

CODES = front_end_codes(offsets=True)


def found(core: SimulatedFrontEnd, *, offsets: bool = True) -> FrontEnd:
    codes = CODES if offsets else front_end_codes(offsets=False)
    cycles = {reading.code: reading.cycles for reading in core.time([asked.code for asked in codes])}
    settled = ((asked, cycles[asked.code]) for asked in codes)
    return read_front_end((asked, each) for asked, each in settled if each is not None)


@pytest.mark.parametrize("seed", range(20))
def test_every_number_is_the_cores_own(seed: int) -> None:
    core = SimulatedFrontEnd.sampled(seed, noise=0.002)
    truth = {
        "slots": core.slots,
        "nops": core.slots,
        "straight_instructions": core.decoded,
        "straight_bytes": core.fetched_bytes,
        "loop_capacity": core.capacity,
        "taken": core.taken,
        "untaken": core.untaken,
        "smallest_loop": 1 / core.taken,
        "offset_cost": core.crossing,
        "cost_lea_displacement_loop": (core.wide - 1) / core.slots,
        "cost_load_displacement_code": max(7 / core.fetched_bytes - 1 / core.decoded, 0),
    }
    front_end = found(core)
    for name, true in truth.items():
        assert front_end.number(name).value == pytest.approx(true, rel=0.02, abs=0.03), name
    for pair in front_end.fusion:
        assert pair.is_fused == (pair.name.split()[0] in core.fused), pair.name
    for pair in front_end.moves:
        assert pair.is_fused == (pair.name.partition(" + ")[2].split()[0] in core.moved), pair.name


def test_a_loop_that_nothing_slows_down_is_at_least_as_long() -> None:
    number = found(SimulatedFrontEnd(capacity=10**6)).number("loop_capacity")
    assert number.at_least
    assert number.value == 12_000


@pytest.mark.parametrize(("min_mean_bytes", "least"), [(0, None), (2, None), (4, 4), (5, 5), (9, None)])
def test_short_instructions_are_said_to_be_slow_in_loops_where_they_are(
    min_mean_bytes: int, least: int | None
) -> None:
    front_end = found(SimulatedFrontEnd(min_mean_bytes=min_mean_bytes, noise=0.002))
    assert front_end.full_rate_bytes == least


def test_each_number_names_the_codes_that_it_follows_from() -> None:
    front_end = found(SimulatedFrontEnd())
    for number in front_end.numbers:
        assert number.codes or number.name == "fused", number.name
    longest, longer = front_end.number("loop_capacity").codes
    assert longest[0].value == 4096 < longer[0].value


def test_what_was_not_measured_has_no_number() -> None:
    without = found(SimulatedFrontEnd(), offsets=False)
    assert without.number("offset_cost").value is None
    assert without.offsets == ()
    nothing = read_front_end([])
    assert all(number.value is None for number in nothing.numbers)
    assert nothing.fusion == ()


def test_pairs_are_the_same_instructions_in_two_orders() -> None:
    aspects = (Aspect.FUSION, Aspect.MOVE)
    pairs = [asked for asked in front_end_codes(offsets=False) if asked.aspect in aspects]
    assert len({asked.name for asked in pairs}) > 100
    by_name: dict[str, set[bytes]] = {}
    for asked in pairs:
        by_name.setdefault(asked.name, set()).add(bytes(sorted(asked.code.code)))
    assert all(len(codes) == 1 for codes in by_name.values())


def test_of_several_mixes_of_a_length_the_quickest_counts_and_of_many_the_next() -> None:
    codes = (asked for asked in front_end_codes(offsets=False) if asked.aspect is Aspect.STRAIGHT_MIX)
    mixes = [asked for asked in codes if asked.value / asked.code.instructions == 3.5]
    assert {asked.code.instructions for asked in mixes} == {4, 6, 8}
    quick = mixes[1].code.instructions, mixes[2].code.instructions
    cycles = dict.fromkeys(mixes, 9.0) | {mixes[1]: quick[0] / 6.9, mixes[2]: quick[1] / 5.0}
    assert read_front_end(cycles.items()).straight_lengths == ((3.5, pytest.approx(5.0)),)
    few = {asked: cycles[asked] for asked in mixes[:4]}
    assert read_front_end(few.items()).straight_lengths == ((3.5, pytest.approx(6.9)),)
