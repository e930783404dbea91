from __future__ import annotations

import dataclasses
import warnings
from collections import Counter

import numpy as np
import pytest

from inference.core.errors import InvalidInputError
from inference.core.pmevo import PMEvoSettings, variation_kernels
from inference.core.pmevo.breeding import Evolution
from inference.core.pmevo.evolution import evolve
from inference.core.pmevo.population import concatenate, count_limits, random_population, select
from inference.core.pmevo.settings import PRESETS
from inference.core.pmevo.variation import fingerprints, inherit_rows, mutate
from inference.core.tables import Population
from tests.core.pmevo.islanders import judge_of
from tests.core.pmevo.small import SETTINGS, Listener

TIMES = [0.26, 1.0, 3.2, 12.0]
PORTS = 4
LIMITS = count_limits(TIMES, PORTS, 0.05)


def seeds(n: int, start: int = 0) -> np.ndarray:
    return np.arange(start, start + n, dtype=np.uint64)


def some(n: int, start: int = 0) -> Population:
    return random_population(seeds(n, start), LIMITS)


def rows(population: Population) -> list[tuple[tuple[int, int], ...]]:
    each = range(population.n_mappings)
    return [population.row(m, s) for m in each for s in range(population.n_schemes)]


def test_each_scheme_comes_whole_from_one_parent_and_its_sibling_has_the_other_s() -> None:
    population = some(40)
    pairs = np.stack([np.arange(20), np.arange(20) + 20], axis=1)
    born = inherit_rows(population, pairs, seeds(20))
    mothers = 0
    for p in range(20):
        for s in range(len(TIMES)):
            given = [population.row(p, s), population.row(p + 20, s)]
            got = [born.row(2 * p, s), born.row(2 * p + 1, s)]
            assert got in (given, given[::-1])
            mothers += got == given
    assert 20 < mothers < 60  # of 80


def test_a_pair_s_children_depend_on_its_seed_alone() -> None:
    population = some(8)
    pairs = np.array([[0, 1], [2, 3], [4, 5]])
    whole = inherit_rows(population, pairs, seeds(3))
    parts = [inherit_rows(population, pairs[k : k + 1], seeds(1, k)) for k in range(3)]
    assert rows(whole) == rows(concatenate(parts))


def test_a_rate_of_0_changes_nothing_and_one_of_1_nearly_every_scheme() -> None:
    population = some(200)
    assert rows(mutate(population, seeds(200), 0.0, LIMITS)) == rows(population)
    changed = rows(mutate(population, seeds(200), 1.0, LIMITS))
    differ = sum(a != b for a, b in zip(rows(population), changed, strict=True))
    assert differ > 0.6 * len(changed)


def test_a_fraction_of_the_schemes_changes_where_the_rate_is_lower() -> None:
    population = random_population(seeds(500), LIMITS)
    always = mutate(population, seeds(500), 1.0, LIMITS)
    rarely = mutate(population, seeds(500), 0.1, LIMITS)
    before = rows(population)
    some_of, all_of = (
        sum(a != b for a, b in zip(before, rows(after), strict=True)) for after in (rarely, always)
    )
    assert 0.05 * all_of < some_of < 0.2 * all_of


def test_what_mutations_make_stays_within_the_paper_s_bounds() -> None:
    population = some(500)
    for round_ in range(5):
        population = mutate(population, seeds(500, 1000 * round_), 1.0, LIMITS)
    for m in range(500):
        for s in range(len(TIMES)):
            span = slice(*population.offsets[m * len(TIMES) + s : m * len(TIMES) + s + 2].tolist())
            masks = population.masks[span].tolist()
            assert masks
            assert len(set(masks)) == len(masks)
            for mask, count in population.row(m, s):
                assert 1 <= count <= LIMITS[s, mask.bit_count() - 1]


@pytest.mark.parametrize("ports", [32, 33, 63])
def test_mutations_reach_every_port(ports: int) -> None:
    population = Population.from_rows([((1, 1),)] * 400, 400, ports)
    after = mutate(population, seeds(400), 1.0, np.full((1, ports), 4))
    masks = [mask for row in rows(after) for mask, _ in row]
    seen = int(np.bitwise_or.reduce(np.array(masks)))
    assert seen == (1 << ports) - 1
    assert all(0 < mask <= seen for mask in masks)


def test_every_way_to_change_a_scheme_occurs() -> None:
    before = ((0b0011, 2), (0b0100, 2))
    ways: Counter[str] = Counter()
    population = Population.from_rows([before] * 600, 600, PORTS)
    for after in rows(mutate(population, seeds(600), 1.0, np.full((1, PORTS), 4))):
        masks, counts = {mask for mask, _ in after}, sorted(count for _, count in after)
        if after == before:
            ways["none"] += 1
        elif masks == {0b0011, 0b0100}:
            ways["more" if counts == [2, 3] else "less" if counts == [1, 2] else "?"] += 1
        elif len(after) == 3:
            ways["added"] += 1
        elif len(after) == 1:
            ways["dropped" if after[0] in before else "renewed"] += 1
        else:
            ways["port"] += 1
    assert ways.keys() <= {"none", "more", "less", "added", "dropped", "renewed", "port"}
    assert min(ways[way] for way in ("more", "less", "added", "dropped", "renewed", "port")) > 30


def test_equal_mappings_have_equal_fingerprints_and_others_do_not() -> None:
    population = some(300)
    twice = select(population, np.concatenate([np.arange(300), [7, 7, 299]]))
    found = fingerprints(twice)
    assert found[300] == found[301] == found[7]
    assert found[302] == found[299]
    assert len(set(found.tolist())) == len(
        {tuple(rows(select(population, np.array([m])))) for m in range(300)}
    )
    swapped = Population.from_rows([((1, 1),), ((2, 1),), ((2, 1),), ((1, 1),)], 2, 2)
    assert len(set(fingerprints(swapped).tolist())) == 2


def test_compiled_and_interpreted_loops_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    population = some(6)
    pairs = np.array([[0, 1], [2, 3], [4, 5]])

    def results() -> list[object]:
        children = inherit_rows(population, pairs, seeds(3))
        return [
            rows(children),
            rows(mutate(children, seeds(6), 0.7, LIMITS)),
            fingerprints(children).tolist(),
        ]

    compiled = results()
    for name, value in vars(variation_kernels).copy().items():
        if hasattr(value, "py_func"):
            monkeypatch.setattr(variation_kernels, name, value.py_func)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # numpy scalars warn where they wrap around
        assert results() == compiled


def end_of(**changes: object) -> Evolution:
    settings = dataclasses.replace(SETTINGS, population=30, max_generations=15, **changes)
    judge, times = judge_of(Listener(), settings)
    return evolve(judge, times, 5, None, lambda state: None)


def test_repeats_give_way_to_mappings_that_differ() -> None:
    assert len(set(fingerprints(end_of().population).tolist())) < 30
    assert len(set(fingerprints(end_of(repeats="replace", mutation=1.0).population).tolist())) == 30


@pytest.mark.parametrize(
    "changes", [{"inheritance": "rows"}, {"mutation": 2.0}, {"parents": "tournament"}], ids=str
)
def test_each_switch_changes_the_search_and_is_deterministic(changes: dict[str, object]) -> None:
    plain, first, second = end_of(), end_of(**changes), end_of(**changes)
    assert first.errors.tolist() == second.errors.tolist()
    assert first.errors.tolist() != plain.errors.tolist()
    assert np.all(np.diff(first.slopes.fitness(first.errors, first.volumes)) >= 0)


def test_the_paper_s_variant_has_none_of_it() -> None:
    paper = PMEvoSettings.parse(PRESETS["paper"])
    chosen_ = (paper.inheritance, paper.mutation, paper.parents, paper.repeats, paper.islands)
    assert chosen_ == ("split", 0.0, "uniform", "keep", 1)


@pytest.mark.parametrize(
    "options",
    [{"inheritance": "half"}, {"mutation": -1.0}, {"parents": "none"}, {"repeats": "drop"}],
    ids=str,
)
def test_impossible_settings_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        PMEvoSettings(**options)


def test_counts_grow_beyond_what_the_parents_types_hold() -> None:
    narrow = Population(np.arange(51), np.ones(50, dtype=np.int16), np.ones(50, dtype=np.int16), 50, 1, PORTS)
    grown = rows(mutate(narrow, seeds(50), 1.0, np.full((1, PORTS), 100_000)))
    assert max(count for row in grown for _, count in row) > np.iinfo(np.int16).max
    assert min(count for row in grown for _, count in row) >= 1
