"""The evaluator gives the same bits compiled or not, with any number of threads, and after any change."""

from __future__ import annotations

import numpy as np
import pytest

from inference.core.errors import InvalidInputError, UnknownSchemeError
from inference.core.evaluator import Evaluator
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, uops_of
from inference.core.metrics import ERROR_UNIT, Loss, bounded_loss
from inference.core.tables import ExperimentTable, Population
from inference.core.throughput import inverse_throughput
from tests.core.strategies import SCHEMES

PORTS = ("0", "1", "2", "3")


def test_more_than_2_to_the_53_uops_are_refused() -> None:
    table = ExperimentTable.from_experiments([Experiment.of({"a": 1 << 24})])
    for ports in (PORTS, tuple(map(str, range(20)))):
        evaluator = Evaluator(table, len(ports))
        with pytest.raises(InvalidInputError, match="2\\^53"):
            evaluator.mapping_cycles(PortMapping(ports, {"a": ((1, 1 << 30),)}))


def test_experiments_with_too_many_unions_to_look_at_go_through_the_flow() -> None:
    ports = tuple(map(str, range(40)))
    usage = {
        scheme: uops_of((1 << (5 * k + j) % 40 | 1 << (11 * k + 3 * j) % 40, 1 + j) for j in range(6))
        for k, scheme in enumerate(SCHEMES)
    }
    # Single ports with equally many µops: every union of them could still be the densest until the very end.
    usage["even"] = uops_of((1 << k, 1) for k in range(20))
    usage["uneven"] = uops_of(((3 << 2 * k) % (1 << 40), 2) for k in range(20))
    schemes = (*SCHEMES, "even", "uneven")
    mixes = [
        Experiment.of(part) for part in (schemes, SCHEMES, SCHEMES[:4], SCHEMES[:1], ["even"], schemes[-2:])
    ]
    mapping = PortMapping(ports, usage)
    table = ExperimentTable.from_experiments(mixes, schemes)
    expected = [inverse_throughput(mapping, mix) for mix in mixes]
    assert Evaluator(table, 40, compiled=True).mapping_cycles(mapping).tolist() == expected
    assert Evaluator(table, 40, compiled=False).mapping_cycles(mapping).tolist() == expected


def random_population(
    n_mappings: int, n_ports: int = 6, seed: int = 5
) -> tuple[ExperimentTable, Population, np.ndarray]:
    rng = np.random.default_rng(seed)
    usage = [
        uops_of(
            (int(rng.integers(1, 1 << n_ports)), int(rng.integers(1, 4)))
            for _ in range(int(rng.integers(1, 4)))
        )
        for _ in range(n_mappings * len(SCHEMES))
    ]
    mixes = [
        Experiment.of(rng.choice(SCHEMES[:5], size=int(rng.integers(1, 5))).tolist()) for _ in range(101)
    ]
    table = ExperimentTable.from_experiments(mixes, SCHEMES)
    return table, Population.from_rows(usage, n_mappings, n_ports), rng.uniform(0.2, 9, len(table))


def test_the_mean_relative_error_is_that_of_the_cycles() -> None:
    table, population, measured = random_population(7)
    evaluator = Evaluator(table, 6, r_max=2.5)
    cycles = evaluator.cycles(population)
    expected = np.mean(np.abs(cycles - measured) / measured, axis=1)
    assert evaluator.mean_relative_error(population, measured) == pytest.approx(expected, abs=2**-32)


@pytest.mark.parametrize("n_mappings", [3, 40])
def test_a_bounded_loss_is_that_of_its_definition_with_any_number_of_threads(n_mappings: int) -> None:
    table, population, measured = random_population(n_mappings)
    evaluator, loss = Evaluator(table, 6), bounded_loss(0.03)
    found = evaluator.mean_loss(population, measured, loss)
    units = np.floor(losses(evaluator.cycles(population), measured, loss) / ERROR_UNIT + 0.5)
    assert found.tolist() == evaluator.mean_of(units.sum(axis=1)).tolist()
    assert found.tolist() == evaluator.mean_loss(population, measured, bounded_loss(0.03), 3).tolist()
    assert (found < 2 + 0.15).all()


def losses(cycles: np.ndarray, measured: np.ndarray, loss: Loss) -> np.ndarray:
    """What each prediction counts: float64[n_mappings, n_experiments]."""
    errors = (cycles - measured) / measured
    if loss.spread == 0:
        return np.abs(errors)
    errors = np.where(errors < 0, np.minimum(errors + loss.forgiven, 0.0), errors)
    sizes = np.abs(errors)
    squares = errors * errors
    spreads = np.where(errors > 0, loss.spread, loss.waste * loss.spread)
    bounded = squares / (squares + spreads * spreads)
    one_sided = np.where(errors > 0, bounded * loss.over, bounded)
    return one_sided + loss.distance * np.minimum(sizes, 1.0)


@pytest.mark.parametrize("n_ports", [6, 20])
def test_threads_and_kernels_do_not_change_a_bit(n_ports: int) -> None:
    table, population, measured = random_population(7, n_ports)
    evaluator = Evaluator(table, n_ports, r_max=2.5)
    errors = evaluator.mean_relative_error(population, measured)
    plain = Evaluator(table, n_ports, r_max=2.5, compiled=False)
    assert plain.cycles(population).tolist() == evaluator.cycles(population).tolist()
    for threads in (2, 3, 16):
        assert evaluator.mean_relative_error(population, measured, threads).tolist() == errors.tolist()
        assert evaluator.cycles(population, threads).tolist() == evaluator.cycles(population).tolist()


def few_variants(n_mappings: int, n_ports: int, seed: int) -> Population:
    """Mappings that have most of their rows in common, but for one scheme, as after some generations."""
    rng = np.random.default_rng(seed)
    variants = [
        [
            uops_of(
                (int(rng.integers(1, 1 << n_ports)), int(rng.integers(1, 4)))
                for _ in range(int(rng.integers(1, 4)))
            )
            for _ in range(100 if scheme == 2 else 1 + scheme)
        ]
        for scheme in range(len(SCHEMES))
    ]
    rows = [each[int(rng.integers(len(each)))] for _ in range(n_mappings) for each in variants]
    return Population.from_rows(rows, n_mappings, n_ports)


@pytest.mark.parametrize(("n_ports", "threads"), [(6, 1), (6, 3), (20, 1)])
def test_what_mappings_have_in_common_changes_no_bit_of_their_errors(n_ports: int, threads: int) -> None:
    table, _, measured = random_population(1, n_ports)
    evaluator = Evaluator(table, n_ports, r_max=30.0)
    population = few_variants(200, n_ports, seed=3)
    errors = evaluator.mean_relative_error(population, measured, threads)
    alone = [
        evaluator.mean_relative_error(
            Population.from_rows([population.row(m, s) for s in range(len(SCHEMES))], 1, n_ports), measured
        )[0]
        for m in range(population.n_mappings)
    ]
    assert errors.tolist() == alone
    assert len(set(alone)) > 10


def test_the_pulse_of_an_evaluation_can_end_it() -> None:
    table, population, measured = random_population(7)

    def stop() -> None:
        raise KeyboardInterrupt

    for threads in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            Evaluator(table, 6).mean_relative_error(population, measured, threads, stop)


def test_absurd_errors_do_not_overflow_their_sum() -> None:
    table = ExperimentTable.from_experiments([Experiment.of(["a"])] * 1000)
    population = Population.from_rows([((1, 10**9),)], 1, 1)
    error = Evaluator(table, 1).mean_relative_error(population, np.full(1000, 1e-9))
    assert error.tolist() == [2**30 / 1000]


@pytest.mark.parametrize("repeats", [1, 3, 100])
@pytest.mark.parametrize("n_ports", [1, 5, 10, 13, 14, 24])
@pytest.mark.parametrize("uops", [2, 7, 40, 30_000])
def test_every_way_to_the_answer_gives_the_same(n_ports: int, uops: int, repeats: int) -> None:
    """Crossed unions, tables, narrow tables, branch and bound: chosen by ports, kinds, repeats and masses."""
    rng = np.random.default_rng(n_ports * 1000 + uops)
    names = [f"s{k:02}" for k in range(30)]
    usage = {
        name: uops_of(
            (int(rng.integers(1, 1 << n_ports)), int(rng.integers(1, uops)))
            for _ in range(int(rng.integers(1, min(uops, 11))))
        )
        for name in names
    }
    mixes = [
        Experiment.of({s: int(rng.integers(1, repeats + 1)) for s in rng.choice(names, size, replace=False)})
        for size in (1, 2, 2, 2, 3, 4, 5, 6, 7, 30)
    ]
    mapping = PortMapping(tuple(map(str, range(n_ports))), usage, r_max=2.0)
    table = ExperimentTable.from_experiments(mixes, names)
    expected = [inverse_throughput(mapping, mix) for mix in mixes]
    assert Evaluator(table, n_ports, compiled=True).mapping_cycles(mapping).tolist() == expected
    assert Evaluator(table, n_ports, compiled=False).mapping_cycles(mapping).tolist() == expected


def test_a_population_of_another_shape_is_refused() -> None:
    table, population, measured = random_population(2)
    with pytest.raises(InvalidInputError, match="6 schemes and 5 ports"):
        Evaluator(table, 5).cycles(population)
    with pytest.raises(InvalidInputError, match="as many measurements"):
        Evaluator(table, 6).mean_relative_error(population, measured[1:])
    measured[3] = 0
    with pytest.raises(InvalidInputError, match=r"experiment 3 has 0\.0"):
        Evaluator(table, 6).mean_relative_error(population, measured)
    with pytest.raises(InvalidInputError, match="thread"):
        Evaluator(table, 6).cycles(population, threads=0)


@pytest.mark.parametrize("r_max", [0.0, -1.0, float("nan"), float("inf")])
def test_an_impossible_r_max_is_refused(r_max: float) -> None:
    table, _, _ = random_population(1)
    with pytest.raises(InvalidInputError, match="R_max"):
        Evaluator(table, 6, r_max)


def test_an_evaluator_without_experiments_has_no_mean_error() -> None:
    evaluator = Evaluator(ExperimentTable.from_experiments([], ["a"]), 2)
    mapping = PortMapping(("x", "y"), {"a": ((1, 1),)})
    assert evaluator.mapping_cycles(mapping).shape == (0,)
    population = Population.from_mappings([mapping], ["a"])
    with pytest.raises(InvalidInputError, match="at least one experiment"):
        evaluator.mean_relative_error(population, np.empty(0))


def test_a_mapping_that_lacks_a_scheme_is_refused() -> None:
    table = ExperimentTable.from_experiments([Experiment.of(["a", "b"])])
    with pytest.raises(UnknownSchemeError, match="b"):
        Evaluator(table, 1).mapping_cycles(PortMapping(("x",), {"a": ((1, 1),)}))


@pytest.mark.parametrize("n_ports", [4, 20])
@pytest.mark.parametrize("compiled", [True, False])
def test_errors_of_more_than_2_to_the_53_uops_are_refused_as_cycles_are(n_ports: int, compiled: bool) -> None:
    table = ExperimentTable.from_experiments([Experiment.of({"a": 1 << 24})])
    population = Population.from_rows([((1, 1 << 30),)], 1, n_ports)
    with pytest.raises(InvalidInputError, match="2\\^53"):
        Evaluator(table, n_ports).mean_relative_error(population, np.ones(1))
    with pytest.raises(InvalidInputError, match="2\\^53"):
        Evaluator(table, n_ports, compiled=compiled).cycles(population)
