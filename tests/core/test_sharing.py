"""Populations in narrow numbers, and with rows in common, are worth what their mappings are worth alone."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.evaluator import Evaluator
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, uops_of
from inference.core.pmevo.population import concatenate, count_limits, random_population, select, select_among
from inference.core.populations import rows_of
from inference.core.tables import ExperimentTable, Population, row_types
from inference.core.throughput import inverse_throughput
from tests.core.strategies import SCHEMES, experiments
from tests.drawn import examples

PORTS = 6
NAMES = ("a", "b", "c")


def wide(population: Population) -> Population:
    return Population(
        population.offsets,
        population.masks.astype(np.int64),
        population.counts.astype(np.int32),
        population.n_mappings,
        population.n_schemes,
        population.n_ports,
    )


def narrow(n: int, start: int = 0) -> Population:
    seeds = np.arange(start, start + n, dtype=np.uint64)
    return random_population(seeds, count_limits([0.5, 1.0, 4.0], PORTS, 0.05))


def table() -> ExperimentTable:
    mixes = [
        {"a": 1},
        {"a": 1, "b": 1},
        {"b": 3, "a": 1},
        {"c": 2},
        {"a": 1, "b": 2, "c": 1},
        {"b": 1, "c": 5},
    ]
    return ExperimentTable.from_experiments([Experiment.of(mix) for mix in mixes], NAMES)


def same(one: Population, two: Population) -> bool:
    return all(np.array_equal(getattr(one, k), getattr(two, k)) for k in ("offsets", "masks", "counts"))


@examples(30)
@given(st.lists(experiments(6), min_size=1, max_size=12))
def test_experiments_are_grouped_by_their_schemes(mixes: list[Experiment]) -> None:
    grouped = ExperimentTable.from_experiments(mixes, SCHEMES)
    starts, members = grouped.same_schemes
    assert sorted(members.tolist()) == list(range(len(mixes)))
    groups = [members[first:last].tolist() for first, last in pairwise(starts)]
    kinds = [{mixes[e].schemes for e in group} for group in groups]
    assert all(len(kind) == 1 for kind in kinds)
    assert len({min(kind) for kind in kinds}) == len(groups)


def test_populations_are_as_narrow_as_their_ports_and_counts_allow() -> None:
    assert row_types(15, 32_767) == (np.int16, np.int16)
    assert row_types(16, 1) == row_types(4, 32_768) == (np.int64, np.int32)
    assert narrow(3).masks.dtype == narrow(3).counts.dtype == np.int16


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("n", [5, 400])
def test_narrow_numbers_change_no_bit(threads: int, n: int) -> None:
    few = narrow(n)
    # Mothers of few different mappings: many mappings have rows in common, as later in an evolution.
    alike = select(narrow(9), np.random.default_rng(1).integers(0, 9, n))
    evaluator, measured = Evaluator(table(), PORTS, r_max=3.0), np.array([0.4, 1.5, 2.5, 7.0, 9.0, 20.0])
    for population in (few, alike, concatenate([alike, few])):
        errors = evaluator.mean_relative_error(population, measured, threads)
        assert errors.tolist() == evaluator.mean_relative_error(wide(population), measured).tolist()
        assert population.volumes().tolist() == wide(population).volumes().tolist()
        each = [
            evaluator.mean_relative_error(select(population, np.array([m])), measured)[0]
            for m in range(population.n_mappings)
        ]
        assert errors.tolist() == each


def test_volumes_and_masses_do_not_depend_on_how_much_is_looked_at_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    population = narrow(50)
    volumes, most = population.volumes(), population.most_uops()
    plain = [sum(n * m.bit_count() for s in range(3) for m, n in population.row(k, s)) for k in range(50)]
    assert volumes.tolist() == plain
    assert most == max(sum(n for _, n in population.row(k, s)) for k in range(50) for s in range(3))
    monkeypatch.setattr("inference.core.tables._CHUNK_ENTRIES", 7)
    assert (population.volumes().tolist(), population.most_uops()) == (plain, most)


def test_mappings_are_chosen_out_of_several_populations() -> None:
    parts = [narrow(4), wide(narrow(3, start=50)), narrow(2, start=90)]
    picks = np.array([8, 0, 4, 4, 6, 3])
    picked = select_among(parts, picks)
    assert same(picked, select(concatenate(parts), picks))
    for k, pick in enumerate(picks.tolist()):
        assert [picked.row(k, s) for s in range(3)] == [concatenate(parts).row(pick, s) for s in range(3)]
    assert select(narrow(4), picks[1:2]).masks.dtype == np.int16


def test_rows_in_the_middle_of_a_population_are_those_of_its_mappings() -> None:
    population = narrow(9)
    rows = rows_of(population, 3, 5)
    found = [
        uops_of(zip(rows.masks[first:last].tolist(), rows.counts[first:last].tolist(), strict=True))
        for first, last in zip(rows.starts, rows.ends, strict=True)
    ]
    assert found == [population.row(m, s) for m in (3, 4) for s in range(3)]


@pytest.mark.parametrize("total", [254, 255, 256, 257, 65_534, 65_535, 65_536, 65_537])
@pytest.mark.parametrize(
    "times", [{"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": 3, "b": 2}, {"a": 1, "b": 1, "c": 1}]
)
def test_sums_of_tables_hold_as_many_uops_as_they_say(total: int, times: dict[str, int]) -> None:
    """Rows of many kinds whose µops all compete for one port, right around what bytes and words hold."""
    left = total
    usage = {}
    for k, (name, n) in enumerate(times.items()):
        mass = left // n if k == len(times) - 1 else min(60, left // (2 * n))
        left -= mass * n
        usage[name] = tuple(
            (1 | (kind << 1), mass // 8 + (mass % 8 if kind == 0 else 0)) for kind in range(8)
        )
    mapping = PortMapping(tuple("0123"), {name: tuple(u for u in row if u[1]) for name, row in usage.items()})
    mix = Experiment.of(times)
    one = ExperimentTable.from_experiments([mix], sorted(times))
    assert Evaluator(one, 4, compiled=True).mapping_cycles(mapping)[0] == inverse_throughput(mapping, mix)
