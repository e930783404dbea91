"""How fast a search moves: a generation of children of few parents.

310 schemes on 10 ports, all pairs and singletons, as in PMEvo's plan. `generation-V` evaluates 1,000 mappings
that have V variants of each scheme between them, and is compared with evaluating each by itself. Medians of
CPU seconds of one thread, alternated.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from benchmarks import Result
from benchmarks._alternated import SCHEMES, drawn_uops, rates, thread_seconds
from inference.core.evaluator import Evaluator
from inference.core.experiment import Experiment
from inference.core.tables import ExperimentTable, Population

PORTS = 10
SEED = 4
VARIANTS = (1, 2, 4, 8, 16)  # different µops per scheme in a generation: few parents have many children
_FEW = 5  # mappings that the reference evaluates, too few to share work


def run(quick: bool) -> Iterator[Result]:
    """Generations from random to nearly converged."""
    rng = np.random.default_rng(SEED)
    experiments = [Experiment.of([s]) for s in SCHEMES] + [Experiment.of(p) for p in combinations(SCHEMES, 2)]
    evaluator = Evaluator(ExperimentTable.from_experiments(experiments, SCHEMES), PORTS)
    measured = rng.uniform(0.5, 5, len(experiments))
    for variants in VARIANTS:
        yield _generation(rng, evaluator, measured, 50 if quick else 1000, variants)


def _generation(
    rng: np.random.Generator, evaluator: Evaluator, measured: np.ndarray, n_mappings: int, variants: int
) -> Result:
    """Mappings per second for `n_mappings` children that share `variants` different µops per scheme."""
    choices = [[drawn_uops(rng, PORTS) for _ in range(variants)] for _ in SCHEMES]
    rows = [
        variant_choices[int(rng.integers(variants))] for _ in range(n_mappings) for variant_choices in choices
    ]
    population = Population.from_rows(rows, n_mappings, PORTS)
    few = Population.from_rows(rows[: _FEW * len(SCHEMES)], _FEW, PORTS)

    def once() -> tuple[float, float]:
        ours = thread_seconds(lambda: evaluator.mean_relative_error(population, measured))
        theirs = thread_seconds(lambda: evaluator.mean_relative_error(few, measured))
        return ours / n_mappings, theirs / _FEW

    more = {"experiments": len(evaluator.table), "ports": PORTS, "mappings": n_mappings, "variants": variants}
    return rates(f"generation-{variants}", "mappings/s", 3, once, more)
