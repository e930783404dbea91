"""A processor with few ports and what was measured of it, as arrays."""

from __future__ import annotations

import itertools

import numpy as np

from inference.core.evaluator import Evaluator
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.pmevo.refit.search_arrays import SearchArrays
from inference.core.pmevo.refit.usage import Usage
from inference.core.pmevo.settings import PMEvoSettings
from inference.core.tables import ExperimentTable, Population
from inference.measuring.simulated import SimulatedProcessor

TRUTH = PortMapping(
    tuple("0123"),
    {
        "add": ((0b0011, 1),),
        "div": ((0b0001, 3),),
        "jump": ((0b0010, 1),),
        "load": ((0b1100, 1),),
        "lookup": ((0b0011, 1), (0b1100, 1)),
        "mul": ((0b0001, 1),),
        "store": ((0b0100, 1), (0b1000, 1)),
        "sub": ((0b0011, 1),),
    },
)
SCHEMES = tuple(sorted(TRUTH.usage))
SETTINGS = PMEvoSettings(ports=4, search="refit", rounds=3, starts=1, threads=1)


def experiments() -> list[Experiment]:
    alone = [Experiment.of([scheme]) for scheme in SCHEMES]
    pairs = [Experiment.of({a: 1, b: n}) for a, b in itertools.combinations(SCHEMES, 2) for n in (1, 2)]
    return [*alone, *pairs, *(Experiment.of(list(three)) for three in itertools.combinations(SCHEMES, 3))]


def evaluator(mapping: PortMapping = TRUTH) -> Evaluator:
    return Evaluator(
        ExperimentTable.from_experiments(experiments(), SCHEMES), len(mapping.ports), mapping.r_max
    )


def measured(noise: float = 0.0) -> np.ndarray:
    processor = SimulatedProcessor(TRUTH, noise=noise, seed=3)
    return np.array([result.cycles for result in processor.measure(experiments())])


def arrays(noise: float = 0.0) -> SearchArrays:
    values = measured(noise)
    return SearchArrays(evaluator(), values, values[: len(SCHEMES)], np.ones(len(SCHEMES), dtype=np.int64))


def truth() -> Usage:
    return Usage.of(Population.from_mappings([TRUTH], SCHEMES), 0)


def mapping_of(usage: Usage) -> PortMapping:
    return usage.population(4).mapping(0, SCHEMES, TRUTH.ports)
