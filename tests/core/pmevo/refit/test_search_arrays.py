"""Re-fitting one scheme is exact: what it finds has the error that it says, and nothing tried is better."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.evaluator import Evaluator
from inference.core.experiment import Experiment
from inference.core.metrics import bounded_loss
from inference.core.pmevo.refit.objective import Objective, Prices
from inference.core.pmevo.refit.search_arrays import Lists, SearchArrays
from inference.core.pmevo.refit.usage import MAX_KINDS, Usage
from inference.core.tables import ExperimentTable
from tests.core.pmevo.refit.small import SCHEMES, arrays, evaluator, mapping_of, measured, truth
from tests.drawn import examples

EVERY = np.arange(1, 16, dtype=np.int64)
ALL = Lists(EVERY, EVERY, EVERY)
NONE = np.empty(0, dtype=np.int64)
FREE = Prices(0.0, 0.0)

uops = st.dictionaries(st.integers(1, 15), st.integers(1, 3), min_size=1, max_size=MAX_KINDS)
usages = st.lists(uops, min_size=len(SCHEMES), max_size=len(SCHEMES))


def usage_of(rows: list[dict[int, int]]) -> Usage:
    usage = Usage.empty(len(rows))
    for scheme, row in enumerate(rows):
        usage.set_row(scheme, sorted(row.items()))
    return usage


def total_error(usage: Usage) -> float:
    """The sum of relative errors, from the mapping itself."""
    judge = evaluator()
    return float(judge.mean_relative_error(usage.population(4), measured())[0]) * len(judge.table)


@given(usages, st.integers(0, len(SCHEMES) - 1))
@examples(40)
def test_what_changes_is_the_error_of_the_whole_mapping(rows: list[dict[int, int]], scheme: int) -> None:
    usage = usage_of(rows)
    before = total_error(usage)
    change = arrays().refit(usage, scheme, ALL, FREE, keep=True)
    assert change <= 0
    assert total_error(usage) == pytest.approx(before + change, abs=1e-6)


@given(usages, st.integers(0, len(SCHEMES) - 1), st.integers(1, 15), st.integers(1, 4))
@examples(40)
def test_no_single_kind_of_uop_is_better(
    rows: list[dict[int, int]], scheme: int, mask: int, more: int
) -> None:
    usage, on = usage_of(rows), arrays()
    on.refit(usage, scheme, ALL, FREE, keep=True)
    best = total_error(usage)
    time = measured()[scheme]
    usage.set_row(scheme, [(mask, max(1, int(time * mask.bit_count()) - 2 + more))])
    assert total_error(usage) >= best - 1e-6


@pytest.mark.parametrize("scheme", range(len(SCHEMES)))
def test_a_scheme_gets_its_uops_back_when_all_others_are_right(scheme: int) -> None:
    usage = truth()
    wanted = usage.row(scheme)
    usage.set_row(scheme, [(0b1111, 7)])
    arrays().refit(usage, scheme, ALL, Prices(0.0, 1e-6), keep=True)
    assert total_error(usage) == pytest.approx(0, abs=1e-6)
    assert sum(count for _, count in usage.row(scheme)) <= sum(count for _, count in wanted) + 1


def test_without_keeping_only_what_is_listed_is_used() -> None:
    usage = truth()
    listed = np.array([0b0001, 0b1100], dtype=np.int64)
    loss = arrays().refit(usage, 0, Lists(listed, listed, listed), FREE, keep=False)
    assert loss > 0
    assert {mask for mask, _ in usage.row(0)} <= {0b0001, 0b1100}


def test_kinds_that_cost_too_much_are_not_used() -> None:
    usage = truth()
    usage.set_row(0, [(0b0001, 2)])
    beside = set(usage.used_beside(0)[0].tolist())
    arrays().refit(usage, 0, ALL, Prices(1e6, 0.0), keep=True)
    assert set(usage.kinds()) <= beside


def test_having_no_uops_has_its_price() -> None:
    usage, objective = truth(), Objective(bounded_loss(0.025), 0.0)
    usage.set_row(0, [])
    free, dear = (arrays().value(usage, objective, Prices(0.0, 0.0, none=none)) for none in (0.0, 7.0))
    assert dear == pytest.approx(free + 7)
    found = usage.copy()
    arrays().refit(found, 0, ALL, Prices(0.0, 0.0, uop=500.0, none=1000.0), keep=True)
    assert len(found.row(0)) == 1


@pytest.mark.parametrize(("scheme", "price"), [("add", 0.0), ("mul", 7.0)])
def test_what_takes_no_longer_than_a_slot_may_have_no_uops(scheme: str, price: float) -> None:
    usage, objective = truth(), Objective(bounded_loss(0.025), per_slot=0.5)
    usage.set_row(SCHEMES.index(scheme), [])
    free, dear = (arrays().value(usage, objective, Prices(0.0, 0.0, none=none)) for none in (0.0, 7.0))
    assert dear == pytest.approx(free + price)


def test_dear_volume_makes_for_narrow_port_sets() -> None:
    cheap, dear = truth(), truth()
    on = arrays()
    for scheme in range(len(SCHEMES)):
        on.refit(cheap, scheme, ALL, FREE, keep=True)
        on.refit(dear, scheme, ALL, Prices(0.0, 100.0), keep=True)
    assert on.point(dear).volume < on.point(cheap).volume


def test_nothing_to_choose_from_changes_nothing() -> None:
    usage = truth()
    before = usage.row(2)
    assert arrays().refit(usage, 2, Lists(NONE, NONE, NONE), FREE, keep=False) == 0
    assert usage.row(2) == before


def one_kind_per_port(n: int) -> tuple[SearchArrays, Usage]:
    """As many schemes as ports, each with a port of its own, alone and all together."""
    schemes = tuple(f"i{k:02}" for k in range(n))
    table = ExperimentTable.from_experiments(
        [*(Experiment.of([s]) for s in schemes), Experiment.of(list(schemes))], schemes
    )
    usage = usage_of([{1 << k: 1} for k in range(n)])
    return SearchArrays(
        Evaluator(table, n), np.ones(len(table)), np.ones(n), np.ones(n, dtype=np.int64)
    ), usage


def test_mixes_of_many_kinds_get_the_room_that_they_need() -> None:
    """Ten kinds on ports of their own have 1,023 unions; 60 such mixes are more than there is room for."""
    on, usage = one_kind_per_port(10)
    singles = np.array([1 << k for k in range(10)], dtype=np.int64)
    assert on.refit(usage, 0, Lists(singles, NONE, NONE), FREE, keep=True) == 0
    assert on.point(usage).error == 0
    many = ExperimentTable.from_experiments(
        [Experiment.of({f"i{k}": n for k in range(10)}) for n in range(1, 61)]
    )
    times = np.arange(1.0, 61.0)
    crowded = SearchArrays(Evaluator(many, 10), times, np.ones(10), np.ones(10, dtype=np.int64))
    assert crowded.refit(usage, 0, Lists(singles, NONE, NONE), FREE, keep=True) == 0


def test_a_mix_of_more_kinds_than_can_be_looked_at_is_passed_over() -> None:
    """Sixteen kinds on ports of their own have 65,535 unions: what is alone decides."""
    on, usage = one_kind_per_port(16)
    usage.set_row(0, [(1, 3)])
    singles = np.array([1 << k for k in range(16)], dtype=np.int64)
    on.refit(usage, 0, Lists(singles, NONE, NONE), FREE, keep=True)
    assert [count for _, count in usage.row(0)] == [1]


def test_a_mapping_survives_the_way_into_arrays_and_back() -> None:
    usage = truth()
    assert mapping_of(usage).usage == {s: usage.row(k) for k, s in enumerate(SCHEMES)}
    assert usage.kinds() == {1: 2, 2: 1, 3: 3, 4: 1, 8: 1, 12: 2}
    assert usage.users(12) == [3, 4]
    kinds, rarity, rarest = usage.used_beside(2)
    assert kinds.tolist() == [1, 3, 4, 8, 12]
    users = [usage.kinds()[kind] - (kind in dict(usage.row(2))) for kind in kinds.tolist()]
    assert rarity.tolist() == [math.log(len(SCHEMES) / n) for n in users]
    assert rarest == math.log(len(SCHEMES))
    assert arrays().point(usage).volume == mapping_of(usage).volume


def test_of_too_many_kinds_those_that_take_most_time_stay() -> None:
    rows = [{1: 5, 2: 4, 4: 3, 8: 2, 15: 1}] * 2
    population = _population(rows)
    assert Usage.of(population, 0).row(0) == ((1, 5), (2, 4), (4, 3), (8, 2))


def _population(rows: list[dict[int, int]]):
    from inference.core.tables import Population

    return Population.from_rows([tuple(sorted(row.items())) for row in rows], 1, 4)


@given(usages)
@examples(40)
def test_spread_evenly_no_experiment_is_quicker_than_at_best(rows: list[dict[int, int]]) -> None:
    usage = usage_of(rows)
    table = evaluator().table
    pressure = usage.pressure(4)
    assert pressure.sum(axis=1) == pytest.approx([sum(row.values()) for row in rows])
    for experiment, best in enumerate(evaluator().cycles(usage.population(4))[0]):
        terms = slice(table.offsets[experiment], table.offsets[experiment + 1])
        even = (pressure[table.scheme[terms]] * table.count[terms, np.newaxis]).sum(axis=0).max()
        assert even >= best - 1e-9


@pytest.mark.parametrize(("cycles", "explained"), [(1.25, True), (1.63, True), (2.02, True), (2.2, False)])
def test_waste_is_what_takes_no_longer_than_spreading_evenly(cycles: float, explained: bool) -> None:
    schemes = ("add", "mul")
    flood = Experiment.of({"add": 4, "mul": 1})
    times = {Experiment.of(["add"]): 0.25, Experiment.of(["mul"]): 1.0, flood: cycles}
    judge = Evaluator(ExperimentTable.from_experiments(times, schemes), 4)
    on = SearchArrays(judge, np.array([*times.values()]), np.array([0.25, 1.0]), np.ones(2, dtype=np.int64))
    usage = usage_of([{0b1111: 1}, {0b0001: 1}])
    objective = Objective(bounded_loss(0.025), per_slot=0.0)
    assert (on.value(usage, objective, FREE) < 0.01) == (cycles == 1.25)
    assert (on.value(usage, objective, FREE, forgive_waste=True) < 0.01) == explained
    too_slow = usage_of([{0b0011: 1}, {0b0001: 1}])
    assert on.value(too_slow, objective, FREE, forgive_waste=True) > 1.0, (
        "a bound that is too high stays wrong"
    )


def test_random_starts_are_as_wide_as_the_times_say() -> None:
    usage = Usage.random(np.array([0.25, 0.5, 1.0, 3.0]), 8, np.random.default_rng(0))
    widths = [[(mask.bit_count(), count) for mask, count in usage.row(s)] for s in range(4)]
    assert widths == [[(4, 1)], [(2, 1)], [(1, 1)], [(1, 3)]]


def test_every_pair_of_counts_within_the_scheme_s_time_is_tried() -> None:
    """Two kinds that only together explain: brute force over counts agrees."""
    usage = truth()
    scheme = SCHEMES.index("lookup")
    usage.set_row(scheme, [(0b1111, 1)])
    on = arrays()
    pool = np.array([0b0011, 0b1100], dtype=np.int64)
    on.refit(usage, scheme, Lists(NONE, pool, NONE), FREE, keep=False)
    found = total_error(usage)
    for a, b in itertools.product(range(1, 4), repeat=2):
        usage.set_row(scheme, [(0b0011, a), (0b1100, b)])
        assert total_error(usage) >= found - 1e-6
