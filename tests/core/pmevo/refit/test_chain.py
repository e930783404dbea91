"""A chain of the re-fit: it finds the processor, with few distinct µops, wherever it was interrupted."""

from __future__ import annotations

import json

import numpy as np
import pytest

from inference.core.pmevo.refit.chain import DONE, FEWER, LAST, NARROW, OPEN, Chain
from inference.core.pmevo.refit.chain_states import ChainState, pack_chains, unpack_chains
from inference.core.pmevo.refit.front import cheapest
from inference.core.pmevo.refit.port_sets import PortSets
from inference.core.pmevo.refit.usage import Usage
from tests.core.pmevo.refit.small import SCHEMES, SETTINGS, TRUTH, arrays, measured


def chain(noise: float = 0.0, seed: int = 1) -> Chain:
    times = measured(noise)[: len(SCHEMES)]
    start = Usage.random(times, 4, np.random.default_rng(seed))
    return Chain(arrays(noise), start, SETTINGS, lambda sweep: np.random.default_rng([seed, sweep]))


@pytest.fixture(scope="module")
def whole() -> tuple[Chain, list[str]]:
    one, stages = chain(), []
    while not one.done:
        one.advance()
        stages.append(one.place.stage)
    return one, stages


def test_a_processor_without_noise_is_found_with_its_kinds(whole: tuple[Chain, list[str]]) -> None:
    best = cheapest(whole[0].front)
    assert best.error < 1e-9
    assert best.kinds <= TRUTH.uop_kinds


def test_noise_is_not_explained_by_more_kinds() -> None:
    one = chain(noise=0.01)
    while not one.done:
        one.advance()
    best = cheapest(one.front)
    assert best.error < 0.012
    assert best.kinds <= TRUTH.uop_kinds


def test_rounds_open_and_leave_out_before_the_last_descent(whole: tuple[Chain, list[str]]) -> None:
    stages = [stage for stage, before in zip(whole[1], ["", *whole[1]], strict=False) if stage != before]
    assert stages[-3:] == [LAST, NARROW, DONE]
    assert stages[: len(stages) - 3] == [OPEN, FEWER] * ((len(stages) - 3) // 2)


def test_the_front_reaches_from_accurate_to_compact(whole: tuple[Chain, list[str]]) -> None:
    front = whole[0].front
    assert min(point.kinds for point in front) <= 2
    most_accurate = min(front, key=lambda point: point.error)
    assert min(point.volume for point in front) < most_accurate.volume


def test_a_chain_stopped_and_saved_anywhere_goes_on_to_the_same_end(whole: tuple[Chain, list[str]]) -> None:
    steps = len(whole[1])
    for stop in {1, len(SCHEMES) + 3, steps // 3, steps // 2, steps - 2}:
        first = chain()
        for _ in range(stop):
            first.advance()
        facts, arrays = pack_chains([ChainState.of(first)], 4)
        (state,) = unpack_chains(json.loads(json.dumps(facts, allow_nan=False)), arrays, 4)
        second = chain()
        state.restore(second)
        assert second.place == first.place
        while not second.done:
            second.advance()
        ends = [sorted(point.objectives for point in one.front) for one in (whole[0], second)]
        assert ends[0] == ends[1], stop
        assert cheapest(second.front).usage.row(4) == cheapest(whole[0].front).usage.row(4)


def test_a_chain_packed_between_any_two_pieces_stays_the_same() -> None:
    """Without noise many candidates are equally good: then the order of a scheme's kinds decides."""
    straight, packed = chain(), chain()
    while not straight.done:
        straight.advance()
        packed.advance()
        facts, arrays = pack_chains([ChainState.of(packed)], 4)
        unpack_chains(facts, arrays, 4)[0].restore(packed)
        assert packed.place == straight.place
    assert [p.objectives for p in packed.front] == [p.objectives for p in straight.front]


def test_all_port_sets_are_tried_where_they_are_few_and_the_narrow_ones_where_not() -> None:
    assert PortSets.of(3, 5).listed.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert len(PortSets.of(9, 5).listed) == 9 + 36 + 84 + 126 + 126
    assert not PortSets.of(9, 5).is_partial
    many = PortSets.of(40, 5)
    assert many.is_partial
    assert len(many.listed) == 40 + 40 * 39 // 2
    assert max(int(mask).bit_count() for mask in many.listed) == 2


def test_where_port_sets_are_many_the_neighbours_of_those_in_use_are_tried_too() -> None:
    sets = PortSets.of(16, 6)
    near = sets.around(np.array([0b1111])).tolist()
    assert {0b111, 0b11111, 0b10111} <= set(near)  # a port less, more, and another
    assert 0b110011 not in near


def test_of_many_sets_that_differ_in_the_names_of_ports_alone_one_is_tried() -> None:
    sets = PortSets.of(16, 5)
    used = [0b0000000000000111, 0b0000000000000011, 0b0000001111111000]

    def numbers(mask: int) -> tuple[int, ...]:
        groups = (0b11, 0b100, 0b1111111000, 0b1111110000000000)
        return tuple((mask & ports).bit_count() for ports in groups)

    tried = sets.around(np.array(used)).tolist()
    assert set(used) <= set(tried)
    alike = sorted(map(numbers, tried))
    assert alike == sorted(set(alike))
    assert {numbers(int(mask)) for mask in sets.listed} <= set(alike)


def test_ports_that_are_allowed_are_no_others_alike() -> None:
    allowed = 0b1111000011110110
    tried = PortSets.of(16, 5).around(np.array([0b111]), allowed).tolist()
    assert all(not mask & ~allowed for mask in tried)
    assert {0b10, 0b10000, 0b1000000000000} & set(tried)
    assert {(mask & 0b110).bit_count() for mask in tried} == {0, 1, 2}
