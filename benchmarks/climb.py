"""How fast a search moves: changing one scheme of a mapping, and a generation of children of few parents.

310 schemes on 10 ports, all pairs and singletons, as in PMEvo's plan. `change` tries other µops for one
scheme after another, pays for the experiments with that scheme alone, and is compared with evaluating the
whole mapping each time; `generation-V` evaluates 1,000 mappings that have V variants of each scheme between
them, and is compared with evaluating each by itself. Medians of CPU seconds of one thread, alternated.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations
from statistics import median
from typing import Any

import numpy as np

from benchmarks import Result
from inference.core.evaluator import Evaluator
from inference.core.experiment import Experiment
from inference.core.local_search import LocalSearch
from inference.core.mapping import Uops, uops_of
from inference.core.tables import ExperimentTable, Population

SCHEMES = tuple(f"scheme {k:03}" for k in range(310))
PORTS = 10
SEED = 4
VARIANTS = (1, 2, 4, 8, 16)


def run(quick: bool) -> Iterator[Result]:
    """Changes of a mapping, then generations from random to nearly converged."""
    rng = np.random.default_rng(SEED)
    experiments = [Experiment.of([s]) for s in SCHEMES] + [Experiment.of(p) for p in combinations(SCHEMES, 2)]
    table = ExperimentTable.from_experiments(experiments, SCHEMES)
    evaluator = Evaluator(table, PORTS)
    measured = rng.uniform(0.5, 5, len(table))
    rounds = 3 if quick else 9
    yield _changes(rng, evaluator, measured, rounds)
    for variants in VARIANTS:
        yield _generation(rng, evaluator, measured, 50 if quick else 1000, variants, rounds=3)


def _changes(rng: np.random.Generator, evaluator: Evaluator, measured: np.ndarray, rounds: int) -> Result:
    population = Population.from_rows([_uops(rng) for _ in SCHEMES], 1, PORTS)
    search = LocalSearch(evaluator, population, measured)
    evaluator.mean_relative_error(population, measured)
    ours, theirs = [], []
    for _ in range(rounds):
        changes = [(int(rng.integers(len(SCHEMES))), _uops(rng)) for _ in range(200)]
        ours.append(_seconds(partial(_errors, search.error_with, changes)) / 200)
        theirs.append(_seconds(lambda: evaluator.mean_relative_error(population, measured)))
    more = {"experiments": len(evaluator.table), "ports": PORTS}
    return Result("change", round(1 / median(ours)), "changes/s", round(1 / median(theirs), 1), more)


def _generation(
    rng: np.random.Generator,
    evaluator: Evaluator,
    measured: np.ndarray,
    n_mappings: int,
    variants: int,
    rounds: int,
) -> Result:
    choices = [[_uops(rng) for _ in range(variants)] for _ in SCHEMES]
    rows = [each[int(rng.integers(variants))] for _ in range(n_mappings) for each in choices]
    population = Population.from_rows(rows, n_mappings, PORTS)
    few = Population.from_rows(rows[: 5 * len(SCHEMES)], 5, PORTS)
    evaluator.mean_relative_error(population, measured)
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(_seconds(lambda: evaluator.mean_relative_error(population, measured)) / n_mappings)
        theirs.append(_seconds(lambda: evaluator.mean_relative_error(few, measured)) / 5)
    more = {"experiments": len(evaluator.table), "ports": PORTS, "mappings": n_mappings, "variants": variants}
    return Result(
        f"generation-{variants}", round(1 / median(ours)), "mappings/s", round(1 / median(theirs), 1), more
    )


def _errors(error_with: Callable[..., float], changes: Sequence[tuple[Any, ...]]) -> list[float]:
    return [error_with(*each) for each in changes]


def _seconds(work: Callable[[], object]) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began


def _uops(rng: np.random.Generator) -> Uops:
    kinds = int(rng.integers(1, 5))
    masks = rng.integers(1, 1 << PORTS, kinds)
    return uops_of(zip(masks.tolist(), rng.integers(1, 4, kinds).tolist(), strict=True))
