"""How fast inverse throughputs are computed: CPU time per mapping and per (mapping, experiment), one thread.

Random three-level mappings of 310 schemes, up to three kinds of µops each, seeded. The linear program, solved
by SciPy's HiGHS on the same inputs, is the yardstick of thesis Fig. 5.4 (there Gurobi, two orders of
magnitude slower than bottleneck simulation for up to 12 ports).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks import Result
from inference.core.evaluator import Evaluator
from inference.core.experiment import Experiment
from inference.core.local_search import LocalSearch
from inference.core.mapping import PortMapping, Uops, uops_of
from inference.core.oracle import lp_inverse_throughput
from inference.core.tables import ExperimentTable, Population

SCHEMES = tuple(f"scheme {k:03}" for k in range(310))
SEED = 20
PUBLISHED_ADVANTAGE = 100.0


def run(quick: bool) -> Iterator[Result]:
    """A population as in PMEvo, one changed scheme, pairs and five-mixes by number of ports, the LP."""
    rng = np.random.default_rng(SEED)
    n_mappings = 5 if quick else 100
    sizes = [1] * 310 + [2, 3, 4] * 2000
    yield from _population(rng, sizes, n_mappings)
    for n_ports in (8, 10, 12, 16):
        for case, size in (("pairs", 2), ("five-mixes", 5)):
            yield _per_experiment(rng, case, size, n_ports, 200 if quick else 2000, 3 if quick else 20)
    yield from _against_the_lp(rng, 20 if quick else 200)


def _population(rng: np.random.Generator, sizes: list[int], n_mappings: int) -> Iterator[Result]:
    table = ExperimentTable.from_experiments(_mixes(rng, sizes), SCHEMES)
    population = _random_population(rng, n_mappings, 9)
    measured = rng.uniform(0.5, 5, len(table))
    more = {"experiments": len(table), "ports": 9, "mappings": n_mappings}
    evaluator = Evaluator(table, 9)
    seconds = _cpu_seconds(lambda: evaluator.mean_relative_error(population, measured))
    yield Result("population", round(1000 * seconds / n_mappings, 3), "ms per mapping", None, more)
    plain = Evaluator(table, 9, compiled=False)
    one = _random_population(rng, 1, 9)
    seconds = _cpu_seconds(lambda: plain.mean_relative_error(one, measured))
    yield Result("population without numba", round(1000 * seconds, 1), "ms per mapping", None, more)
    search = LocalSearch(evaluator, population, measured)
    changes = [_random_uops(rng, 9) for _ in SCHEMES]

    def try_all() -> None:
        for scheme, uops in enumerate(changes):
            search.error_with(scheme, uops)

    seconds = _cpu_seconds(try_all)
    yield Result("one changed scheme", round(1e6 * seconds / len(SCHEMES), 1), "µs per change", None, more)


def _per_experiment(
    rng: np.random.Generator, case: str, size: int, n_ports: int, n: int, n_mappings: int
) -> Result:
    table = ExperimentTable.from_experiments(_mixes(rng, [size] * n), SCHEMES)
    population = _random_population(rng, n_mappings, n_ports)
    evaluator = Evaluator(table, n_ports)
    seconds = _cpu_seconds(lambda: evaluator.cycles(population))
    more = {"experiments": n, "ports": n_ports, "mappings": n_mappings}
    return Result(f"{case} {n_ports} ports", round(1e6 * seconds / (n * n_mappings), 3), "µs", None, more)


def _against_the_lp(rng: np.random.Generator, n: int) -> Iterator[Result]:
    for n_ports in (8, 10, 12):
        mixes = _mixes(rng, [4] * n)
        table = ExperimentTable.from_experiments(mixes, SCHEMES)
        population = _random_population(rng, 1, n_ports)
        mapping: PortMapping = population.mapping(0, SCHEMES, [str(k) for k in range(n_ports)])
        evaluator = Evaluator(table, n_ports)
        ours = _cpu_seconds(lambda e=evaluator, p=population: e.cycles(p)) / n
        began = time.process_time()
        solved = [lp_inverse_throughput(mapping, mix) for mix in mixes]
        lp = (time.process_time() - began) / n
        difference = float(np.max(np.abs(evaluator.cycles(population)[0] - solved)))
        more = {"lp_ms": round(1000 * lp, 3), "experiments": n, "largest_difference": difference}
        yield Result(
            f"advantage over the LP {n_ports} ports", round(lp / ours), "times", PUBLISHED_ADVANTAGE, more
        )


def _cpu_seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The least CPU time of a few runs, after one that warms caches and compiles."""
    work()
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def _mixes(rng: np.random.Generator, sizes: list[int]) -> list[Experiment]:
    return [Experiment.of(rng.choice(SCHEMES, size=size).tolist()) for size in sizes]


def _random_population(rng: np.random.Generator, n_mappings: int, n_ports: int) -> Population:
    rows = [_random_uops(rng, n_ports) for _ in range(n_mappings * len(SCHEMES))]
    return Population.from_rows(rows, n_mappings, n_ports)


def _random_uops(rng: np.random.Generator, n_ports: int) -> Uops:
    kinds = int(rng.integers(1, 4))
    return uops_of(
        (int(mask), int(count))
        for mask, count in zip(rng.integers(1, 1 << n_ports, kinds), rng.integers(1, 4, kinds), strict=True)
    )
