"""How fast inverse throughputs are computed: evaluations (mapping × experiment) per second.

Random three-level mappings of 310 schemes with 1 to 4 kinds of µops each (`random-…`: up to 10), seeded, new
ones in every round. The reference is the straightforward enumeration of all port sets (`_reference.py`), or
for `lp-…` the linear program solved by SciPy's HiGHS, on the same inputs in the same rounds; medians of CPU
seconds of one thread. `threads-…` compares all cores with one by wall time, best of five alternated pairs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations
from statistics import median
from typing import Any

import numpy as np

from benchmarks import Result
from benchmarks._reference import enumerate_ports
from inference.core.evaluator import Evaluator
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, Uops, uops_of
from inference.core.oracle import lp_inverse_throughput
from inference.core.tables import ExperimentTable, Population

SCHEMES = tuple(f"scheme {k:03}" for k in range(310))
SEED = 20
PORTS = (8, 10, 12, 16, 20)
REFERENCE_SECONDS = 0.05  # of enumeration per round


def run(quick: bool) -> Iterator[Result]:
    """All cases; `quick` looks at fewer experiments in fewer rounds."""
    rng = np.random.default_rng(SEED)
    rounds = 3 if quick else 9
    every_pair = [Experiment.of(pair) for pair in combinations(SCHEMES, 2)]
    pairs = [every_pair[k] for k in rng.permutation(len(every_pair))[:2000]] if quick else every_pair
    fives = [Experiment.of(rng.choice(SCHEMES, size=5).tolist()) for _ in range(2000 if quick else 10_000)]
    for n_ports in PORTS:
        yield _against_enumeration(rng, f"pairs-p{n_ports}", pairs, n_ports, 4, rounds)
        yield _against_enumeration(rng, f"five-p{n_ports}", fives, n_ports, 4, rounds)
    yield _against_enumeration(rng, "random-pairs-p10", pairs, 10, 10, rounds)
    for case, experiments, n_ports in (
        ("pairs-p10", pairs, 10),
        ("five-p10", fives, 10),
        ("pairs-p16", pairs, 16),
    ):
        yield _threads(rng, case, experiments, n_ports, quick)
    for n_ports in (8, 10, 12, 20):
        yield _against_the_lp(rng, n_ports, 20 if quick else 200, rounds)


def _against_enumeration(
    rng: np.random.Generator,
    case: str,
    experiments: list[Experiment],
    n_ports: int,
    most_kinds: int,
    rounds: int,
) -> Result:
    table = ExperimentTable.from_experiments(experiments, SCHEMES)
    evaluator = Evaluator(table, n_ports)
    share = _as_many_as_take(REFERENCE_SECONDS, experiments, n_ports)
    part = ExperimentTable.from_experiments(experiments[:share], SCHEMES)
    ours, theirs, difference = [], [], 0.0
    cycles = np.empty(len(part))
    for k in range(rounds + 1):
        population = _population(rng, 2, n_ports, most_kinds)
        seconds, found = _timed(partial(evaluator.cycles, population))
        reference, _ = _timed(partial(_enumerate, population, part, cycles))
        difference = max(difference, float(np.max(np.abs(found[0, :share] - cycles))))
        if k:  # the first round loads and compiles
            ours.append(seconds / found.size)
            theirs.append(reference / share)
    more = {
        "experiments": len(table),
        "ports": n_ports,
        "kinds_per_scheme": f"1-{most_kinds}",
        "largest_difference": difference,
    }
    return _rates(case, median(ours), median(theirs), more)


def _threads(
    rng: np.random.Generator, case: str, experiments: list[Experiment], n_ports: int, quick: bool
) -> Result:
    threads = len(os.sched_getaffinity(0))
    table = ExperimentTable.from_experiments(experiments, SCHEMES)
    evaluator = Evaluator(table, n_ports)
    measured = rng.uniform(0.5, 5, len(table))
    population = _population(rng, 20 if quick else 200, n_ports, 4)
    size = population.n_mappings * len(table)
    pairs = []
    for _ in range(6):
        single, many = (
            _wall(partial(evaluator.mean_relative_error, population, measured, n)) for n in (1, threads)
        )
        pairs.append((single / many, single / size, many / size))
    _, single, many = max(pairs[1:])
    more: dict[str, object] = {
        "threads": threads,
        "mappings": population.n_mappings,
        "median_ratio": round(median(ratio for ratio, _, _ in pairs[1:]), 3),
    }
    return _rates(f"threads-{case}", many, single, more)


def _against_the_lp(rng: np.random.Generator, n_ports: int, n: int, rounds: int) -> Result:
    mixes = [Experiment.of(rng.choice(SCHEMES, size=int(rng.integers(1, 6))).tolist()) for _ in range(n)]
    several = [mixes[k % n] for k in range(50 * n)]
    table = ExperimentTable.from_experiments(several, SCHEMES)
    evaluator = Evaluator(table, n_ports)
    ours, theirs, difference = [], [], 0.0
    for k in range(rounds + 1):
        population = _population(rng, 1, n_ports, 4)
        mapping = population.mapping(0, SCHEMES, [str(port) for port in range(n_ports)])
        seconds, found = _timed(partial(evaluator.cycles, population))
        reference, solved = _timed(partial(_by_lp, mapping, mixes[: max(5, n // rounds)]))
        difference = max(difference, float(np.max(np.abs(found[0, : len(solved)] - solved))))
        if k:
            ours.append(seconds / found.size)
            theirs.append(reference / len(solved))
    more = {"ports": n_ports, "schemes_per_experiment": "1-5", "largest_difference": difference}
    return _rates(f"lp-p{n_ports}", median(ours), median(theirs), more)


def _rates(case: str, ours: float, theirs: float, more: dict[str, object]) -> Result:
    return Result(case, round(1 / ours), "evaluations/s", round(1 / theirs, 2), more)


def _enumerate(population: Population, table: ExperimentTable, cycles: np.ndarray) -> None:
    n = population.n_schemes
    enumerate_ports(
        population.offsets[: n + 1],
        population.masks,
        population.counts,
        population.n_ports,
        table.offsets,
        table.scheme,
        table.count,
        cycles,
    )


def _as_many_as_take(seconds: float, experiments: list[Experiment], n_ports: int) -> int:
    """How many experiments the enumeration does in about this time, at some 7 ns per port set."""
    return int(min(len(experiments), max(5, seconds / (7e-9 * 2**n_ports))))


def _by_lp(mapping: PortMapping, mixes: Sequence[Experiment]) -> list[float]:
    return [lp_inverse_throughput(mapping, mix) for mix in mixes]


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.thread_time()
    result = work()
    return time.thread_time() - began, result


def _wall(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _population(rng: np.random.Generator, n_mappings: int, n_ports: int, most_kinds: int) -> Population:
    rows = [_uops(rng, n_ports, most_kinds) for _ in range(n_mappings * len(SCHEMES))]
    return Population.from_rows(rows, n_mappings, n_ports)


def _uops(rng: np.random.Generator, n_ports: int, most_kinds: int) -> Uops:
    kinds = int(rng.integers(1, most_kinds + 1))
    masks = rng.integers(1, 1 << n_ports, kinds)
    return uops_of(zip(masks.tolist(), rng.integers(1, 4, kinds).tolist(), strict=True))
