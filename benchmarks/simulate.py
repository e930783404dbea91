"""How fast inverse throughputs are computed: evaluations (mapping × experiment) per second.

Random three-level mappings of 310 schemes with 1 to 4 kinds of µops each (`random-…`: up to 10), seeded, new
ones in every round. The reference is the straightforward enumeration of all port sets (`_reference.py`), or
for `lp-…` the linear program solved by SciPy's HiGHS, on the same inputs in the same rounds; medians of CPU
seconds of one thread. `threads-…` compares all cores with one by wall time, best of five alternated pairs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from itertools import combinations
from statistics import median

import numpy as np

from benchmarks import Result
from benchmarks._alternated import SCHEMES, drawn_population, enumerate_one, rates, thread_seconds
from benchmarks._measured import cost_of
from inference.core.evaluator import Evaluator
from inference.core.experiment import Experiment
from inference.core.tables import ExperimentTable
from tests.core.oracle import lp_inverse_throughput

SEED = 20
PORTS = (8, 10, 12, 16, 20)  # of the random mappings, in turn
REFERENCE_SECONDS = 0.05  # of enumeration per round
_UNIT = "evaluations/s"


def run(quick: bool) -> Iterator[Result]:
    """All cases; `quick` looks at fewer experiments in fewer rounds."""
    rng = np.random.default_rng(SEED)
    rounds = 3 if quick else 9
    every_pair = [Experiment.of(pair) for pair in combinations(SCHEMES, 2)]
    pairs = [every_pair[k] for k in rng.permutation(len(every_pair))[:2000]] if quick else every_pair
    fives = [Experiment.of(rng.choice(SCHEMES, size=5).tolist()) for _ in range(2000 if quick else 10_000)]
    for n_ports in PORTS:
        yield _against_enumeration(rng, f"pairs-p{n_ports}", pairs, n_ports, rounds)
        yield _against_enumeration(rng, f"five-p{n_ports}", fives, n_ports, rounds)
    yield _against_enumeration(rng, "random-pairs-p10", pairs, 10, rounds, most_kinds=10)
    for name, experiments, n_ports in (("pairs", pairs, 10), ("five", fives, 10), ("pairs", pairs, 16)):
        yield _threads(rng, f"{name}-p{n_ports}", experiments, n_ports, quick)
    for n_ports in (8, 10, 12, 20):
        yield _against_the_lp(rng, n_ports, 20 if quick else 200, rounds)


def _against_enumeration(
    rng: np.random.Generator,
    case: str,
    experiments: list[Experiment],
    n_ports: int,
    rounds: int,
    most_kinds: int = 4,
) -> Result:
    """Evaluations per second beside those of an enumeration of all port sets.

    rng: Where mappings come from.
        case: Name of the result.
        experiments: What is evaluated; the enumeration takes as many as its time allows.
        n_ports: Ports of the mappings.
        rounds: Of both, in turn.
        most_kinds: Kinds of µops per scheme at most.
    """
    evaluator = Evaluator(ExperimentTable.from_experiments(experiments, SCHEMES), n_ports)
    # As many as the enumeration does in about this time, at some 7 ns per port set.
    share = int(min(len(experiments), max(5, REFERENCE_SECONDS / (7e-9 * 2**n_ports))))
    part = ExperimentTable.from_experiments(experiments[:share], SCHEMES)
    cycles, differences = np.empty(len(part)), []

    def once() -> tuple[float, float]:
        population = drawn_population(rng, 2, n_ports, most_kinds)
        computed: list[np.ndarray] = []
        seconds = thread_seconds(lambda: computed.append(evaluator.cycles(population)))
        reference = thread_seconds(partial(enumerate_one, population, part, cycles))
        differences.append(float(np.max(np.abs(computed[0][0, :share] - cycles))))
        return seconds / computed[0].size, reference / share

    more: dict[str, object] = {"experiments": len(experiments), "ports": n_ports}
    more["kinds_per_scheme"] = f"1-{most_kinds}"
    result = rates(case, _UNIT, rounds, once, more)
    more["largest_difference"] = max(differences)
    return result


def _threads(
    rng: np.random.Generator, case: str, experiments: list[Experiment], n_ports: int, quick: bool
) -> Result:
    """Evaluations per second with all threads beside those with one; the best of five rounds."""
    threads = len(os.sched_getaffinity(0))
    table = ExperimentTable.from_experiments(experiments, SCHEMES)
    evaluator = Evaluator(table, n_ports)
    measured = rng.uniform(0.5, 5, len(table))
    population = drawn_population(rng, 20 if quick else 200, n_ports)
    size = population.n_mappings * len(table)
    pairs = []
    for _ in range(6):
        work = partial(evaluator.mean_relative_error, population, measured)
        single, many = (cost_of(partial(work, n)).wall for n in (1, threads))
        pairs.append((single / many, single / size, many / size))
    _, single, many = max(pairs[1:])
    more: dict[str, object] = {
        "threads": threads,
        "mappings": population.n_mappings,
        "median_ratio": round(median(ratio for ratio, _, _ in pairs[1:]), 3),
    }
    return Result(f"threads-{case}", round(1 / many), _UNIT, round(1 / single, 2), more)


def _against_the_lp(rng: np.random.Generator, n_ports: int, n: int, rounds: int) -> Result:
    """Evaluations per second beside those of a linear program per experiment."""
    mixes = [Experiment.of(rng.choice(SCHEMES, size=int(rng.integers(1, 6))).tolist()) for _ in range(n)]
    several = [mixes[k % n] for k in range(50 * n)]
    evaluator = Evaluator(ExperimentTable.from_experiments(several, SCHEMES), n_ports)
    few, differences = mixes[: max(5, n // rounds)], []

    def once() -> tuple[float, float]:
        population = drawn_population(rng, 1, n_ports)
        mapping = population.mapping(0, SCHEMES, [str(port) for port in range(n_ports)])
        computed: list[np.ndarray] = []
        solved: list[float] = []
        seconds = thread_seconds(lambda: computed.append(evaluator.cycles(population)))
        reference = thread_seconds(lambda: solved.extend(lp_inverse_throughput(mapping, mix) for mix in few))
        differences.append(float(np.max(np.abs(computed[0][0, : len(few)] - solved))))
        return seconds / computed[0].size, reference / len(few)

    more: dict[str, object] = {"ports": n_ports, "schemes_per_experiment": "1-5"}
    result = rates(f"lp-p{n_ports}", _UNIT, rounds, once, more)
    more["largest_difference"] = max(differences)
    return result
