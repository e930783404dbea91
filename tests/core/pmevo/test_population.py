from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import pytest

from inference.core.errors import InvalidInputError
from inference.core.pmevo import kernels
from inference.core.pmevo.population import (
    children,
    concatenate,
    count_limits,
    pack,
    random_population,
    select,
    unpack,
)
from inference.core.tables import Int64s, Population

TIMES = [0.26, 1.0, 3.2, 12.0]
PORTS = 4


def seeds(n: int, start: int = 0) -> np.ndarray:
    return np.arange(start, start + n, dtype=np.uint64)


def some(n: int = 40, start: int = 0) -> Population:
    return random_population(seeds(n, start), count_limits(TIMES, PORTS, 0.05))


def parents(n_pairs: int) -> Int64s:
    return np.stack([np.arange(n_pairs), np.arange(n_pairs) + n_pairs], axis=1)


def same(one: Population, two: Population) -> bool:
    return all(np.array_equal(getattr(one, k), getattr(two, k)) for k in ("offsets", "masks", "counts"))


def test_limits_are_time_times_width_rounded_up() -> None:
    assert count_limits([0.26, 2.5], 4, 0.05).tolist() == [[1, 1, 1, 1], [3, 5, 8, 10]]


def test_random_mappings_stay_within_the_paper_s_bounds_and_reach_them() -> None:
    population, limits = some(2000), count_limits(TIMES, PORTS, 0.05)
    kinds: list[Counter[int]] = [Counter() for _ in TIMES]
    widest: list[Counter[int]] = [Counter() for _ in TIMES]
    for m in range(population.n_mappings):
        for s in range(len(TIMES)):
            span = slice(*population.offsets[m * len(TIMES) + s : m * len(TIMES) + s + 2].tolist())
            masks, counts = population.masks[span].tolist(), population.counts[span].tolist()
            assert len(set(masks)) == len(masks)
            kinds[s][len(masks)] += 1
            for mask, count in zip(masks, counts, strict=True):
                limit = int(limits[s, mask.bit_count() - 1])
                assert 1 <= count <= limit
                widest[s][mask.bit_count()] += count == limit
    for s in range(len(TIMES)):
        assert set(kinds[s]) == set(range(1, PORTS + 1))
        assert min(kinds[s].values()) > 2000 / PORTS * 0.8  # uniform
        assert all(widest[s][width] for width in range(1, PORTS + 1))
    assert set(population.masks.tolist()) == set(range(1, 1 << PORTS))


def test_one_port_has_only_one_kind_of_uop() -> None:
    population = random_population(seeds(20), count_limits([2.0], 1, 0.05))
    assert set(population.masks.tolist()) == {1}
    assert len(population.masks) == 20


def test_children_share_out_exactly_what_their_parents_have() -> None:
    population = some()
    born = children(population, parents(20), seeds(20), drop=False)
    for p in range(20):
        for s in range(len(TIMES)):
            given = Counter(dict(population.row(p, s))) + Counter(dict(population.row(p + 20, s)))
            got = Counter(dict(born.row(2 * p, s))) + Counter(dict(born.row(2 * p + 1, s)))
            assert got == given


@pytest.mark.parametrize("drop", [False, True])
def test_no_child_has_a_scheme_without_uops_and_no_uop_is_listed_twice(drop: bool) -> None:
    born = children(some(), parents(20), seeds(20), drop=drop)
    assert born.n_mappings == 40
    for m in range(40):
        for s in range(len(TIMES)):
            span = slice(*born.offsets[m * len(TIMES) + s : m * len(TIMES) + s + 2].tolist())
            masks = born.masks[span].tolist()
            assert masks
            assert masks == sorted(set(masks))


def test_dropping_keeps_one_of_the_parents_counts() -> None:
    population = some()
    born = children(population, parents(20), seeds(20), drop=True)
    for p in range(20):
        for s in range(len(TIMES)):
            inherited = set(population.row(p, s)) | set(population.row(p + 20, s))
            assert set(born.row(2 * p, s)) | set(born.row(2 * p + 1, s)) <= inherited


def test_parents_with_one_uop_each_pass_one_to_either_child() -> None:
    rows = [((1, 2),), ((6, 1),)]
    population = Population.from_rows(rows, 2, 3)
    for seed in range(20):
        born = children(population, np.array([[0, 1]]), seeds(1, seed), drop=False)
        assert {born.row(0, 0), born.row(1, 0)} == set(rows)


def test_every_split_point_and_side_occurs() -> None:
    population = Population.from_rows([((1, 1), (2, 1)), ((4, 1), (7, 1))], 2, 3)
    born = children(population, np.tile([0, 1], (600, 1)), seeds(600), drop=False)
    sizes = Counter(len(born.row(2 * p, 0)) for p in range(600))
    assert set(sizes) == {1, 2, 3}
    assert min(sizes.values()) > 150  # uniform: 200 each
    assert {mask for p in range(600) for mask, _ in born.row(2 * p, 0)} == {1, 2, 4, 7}


def test_a_pair_s_children_depend_on_its_seed_alone() -> None:
    population = some()
    whole = children(population, parents(20), seeds(20), drop=False)
    halves = [
        children(population, parents(20)[part], seeds(20)[part], drop=False)
        for part in (slice(0, 7), slice(7, 20))
    ]
    assert same(whole, concatenate(halves))
    other = children(population, parents(20), seeds(20, start=99), drop=False)
    assert not same(whole, other)


def test_random_mappings_depend_on_their_own_seed_alone() -> None:
    assert same(some(40), concatenate([some(13), some(27, start=13)]))


@pytest.mark.parametrize("drop", [False, True])
def test_compiled_and_interpreted_loops_agree(drop: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    population = some(8)
    compiled = children(population, parents(4), seeds(4), drop=drop)
    for name in ("sample", "recombine", "below", "_shuffle", "_keep", "_most_entries"):
        monkeypatch.setattr(kernels, name, getattr(kernels, name).py_func)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # numpy scalars warn where they wrap around
        assert same(population, some(8))
        assert same(compiled, children(population, parents(4), seeds(4), drop=drop))


def test_choosing_takes_whole_mappings_in_the_order_named() -> None:
    population = some(10)
    picked = select(population, np.array([7, 2, 7]))
    assert picked.n_mappings == 3
    for k, m in enumerate((7, 2, 7)):
        assert all(picked.row(k, s) == population.row(m, s) for s in range(len(TIMES)))


@pytest.mark.parametrize("times", [[0.01], TIMES, [0.26, 1e9]])
@pytest.mark.parametrize("n_ports", [1, PORTS, 15, 16, 63])
def test_packing_loses_nothing_and_is_small(times: list[float], n_ports: int) -> None:
    population = random_population(seeds(100), count_limits(times, n_ports, 0.05))
    arrays = pack(population)
    again = unpack(arrays, population.n_schemes, population.n_ports)
    assert same(population, again)
    assert (again.masks.dtype, again.counts.dtype) == (population.masks.dtype, population.counts.dtype)
    bits = n_ports + int(population.counts.max()).bit_length()
    rows = len(population.offsets)
    assert sum(a.nbytes for a in arrays.values()) <= 60 + (bits * len(population.masks) + 6 * rows) / 8


def test_packed_mappings_that_were_cut_short_are_refused() -> None:
    arrays = pack(some(10))
    with pytest.raises(InvalidInputError, match="bytes"):
        unpack({**arrays, "masks": arrays["masks"][:-1]}, len(TIMES), PORTS)
