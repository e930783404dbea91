"""How quick PMEvo's evolution is, and in how much memory, on a made-up processor with ten ports."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from benchmarks import Result
from benchmarks._silent import Silent
from inference.core.checkpoint import encode
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.pacing import PacedReporter
from inference.core.pmevo import PMEvoSettings
from inference.core.pmevo.evolution import evolve
from inference.core.pmevo.fitness import FitnessGate
from inference.core.pmevo.packing import pack_evolution
from inference.core.pmevo.plan import ceiling
from inference.core.pmevo.settings import PRESETS
from inference.core.protocols import Checkpoint
from inference.core.tables import Population
from inference.core.throughput import inverse_throughput

REPRESENTATIVES = 100  # schemes of the made-up processor
NOISE = 0.01  # standard deviation of a measurement, as a share of its cycles
SEED = 7
POPULATIONS = (1_000, 20_000)
MAX_GENERATIONS = 1_000  # many more than it takes
_CASE = "simulations-per-second"
BAR = 30_000_000.0  # simulations per second and core

MEMORY_POPULATION = 100_000  # the paper's
MEMORY_REPRESENTATIVES = 60
MEMORY_GENERATIONS = 3
MEMORY_BAR = 2048.0  # MB


def cases(quick: bool) -> Iterator[Result]:
    """A run for each population, then the memory; `quick` makes do with small ones."""
    rates = []
    for population in (100,) if quick else POPULATIONS:
        rates.append(_whole_run(population))
        yield rates[-1]
    slowest = min(rates, key=lambda rate: rate.value)
    yield replace(slowest, case=_CASE)
    yield from _memory(2_000 if quick else MEMORY_POPULATION)


def _whole_run(population: int) -> Result:
    """Simulations per second of a whole evolution."""
    experiments, measured = _problem(REPRESENTATIVES)
    judge = _judge(experiments, measured, REPRESENTATIVES, population, MAX_GENERATIONS, threads=1)
    few = Population.from_rows([((1, 1),)] * REPRESENTATIVES * 2, 2, PORTS)
    judge.errors(few)  # loads what is compiled
    counted = judge.evaluations
    began, wall = time.process_time(), time.perf_counter()
    ended = evolve(judge, measured[:REPRESENTATIVES].tolist(), SEED, None, lambda generation: None)
    seconds = time.process_time() - began
    simulations = (judge.evaluations - counted) * len(judge.table)
    more = {
        "population": population,
        "experiments": len(judge.table),
        "generations": ended.generation,
        "converged": ended.converged(0.0),
        "cpu_seconds": round(seconds, 1),
        "wall_seconds": round(time.perf_counter() - wall, 1),
        "generations_per_second": round(ended.generation / seconds, 2),
    }
    case = f"{_CASE}-population-{population}"
    return Result(case, round(simulations / seconds), "simulations/s per core", BAR, more)


def _memory(population: int) -> Iterator[Result]:
    """The peak memory of a few generations, in a process of their own, and the size of their checkpoint."""
    command = [sys.executable, "-m", "benchmarks._evolution_rate", str(population)]
    child = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    more = {
        "population": population,
        "representatives": MEMORY_REPRESENTATIVES,
        "generations": MEMORY_GENERATIONS,
        "cpu_seconds": child["cpu_seconds"],
    }
    yield Result(f"memory-population-{population}", child["peak"], "MB", MEMORY_BAR, more)
    seconds = {"seconds": child["checkpoint_seconds"]}
    yield Result(f"checkpoint-population-{population}", child["checkpoint"], "MB", None, seconds)


def _first_generations(population: int) -> dict[str, Any]:
    """A few generations and a checkpoint: the peak of this process, and what the checkpoint takes, in MB."""
    experiments, measured = _problem(MEMORY_REPRESENTATIVES)
    judge = _judge(experiments, measured, MEMORY_REPRESENTATIVES, population, MEMORY_GENERATIONS, threads=0)
    ended = evolve(judge, measured[:MEMORY_REPRESENTATIVES].tolist(), SEED, None, lambda generation: None)
    began = time.process_time()
    size = len(encode(Checkpoint(*pack_evolution(ended))))
    return {
        "checkpoint": round(size / 1e6, 1),
        "checkpoint_seconds": round(time.process_time() - began, 2),
        "cpu_seconds": round(time.process_time(), 1),
        "peak": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }


def _judge(
    experiments: list[Experiment],
    measured: np.ndarray,
    representatives: int,
    population: int,
    generations: int,
    threads: int,
) -> FitnessGate:
    """The fitness of mappings with the paper's settings, but for the given ones."""
    settings = PMEvoSettings.parse(
        {
            **PRESETS["paper"],
            "ports": PORTS,
            "population": population,
            "max_generations": generations,
            "threads": threads,
        }
    )
    return FitnessGate(
        experiments, measured.tolist(), scheme_names(representatives), settings, PacedReporter(Silent())
    )


def _problem(representatives: int) -> tuple[list[Experiment], np.ndarray]:
    """Each representative alone, each pair 1:1 and 1:n, n ≥ 2, and their times with some noise."""
    random = np.random.default_rng(SEED)
    mapping = ten_port_mapping(representatives, random)
    usage = mapping.usage
    times = {scheme: inverse_throughput(mapping, Experiment.of({scheme: 1})) for scheme in usage}
    experiments = [Experiment.of({scheme: 1}) for scheme in usage]
    for a, b in combinations(usage, 2):
        slow, fast = (a, b) if times[a] >= times[b] else (b, a)
        n = max(2, ceiling(times[slow] / times[fast], 0.05))
        experiments += [Experiment.of({a: 1, b: 1}), Experiment.of({slow: 1, fast: n})]
    exact = np.array([inverse_throughput(mapping, experiment) for experiment in experiments])
    return experiments, exact * random.normal(1, NOISE, len(exact))


if __name__ == "__main__":
    print(json.dumps(_first_generations(int(sys.argv[1]))))


PORTS = 10

KINDS = (
    *(0x001, 0x002, 0x020, 0x003, 0x021, 0x022, 0x063, 0x041, 0x023, 0x00C, 0x18C, 0x010, 0x210),
    *(0x180, 0x040, 0x263),
)
"""Port sets as real processors have them: arithmetic, vectors, branches, loads and stores."""


def scheme_names(n: int) -> list[str]:
    return [f"scheme {k:03}" for k in range(n)]


def ten_port_mapping(n_schemes: int, random: np.random.Generator) -> PortMapping:
    """One to three kinds of µops per scheme, one to three of each."""
    usage = {}
    for scheme in scheme_names(n_schemes):
        n_kinds = int(random.choice([1, 2, 3], p=[0.5, 0.35, 0.15]))
        masks = sorted(random.choice(KINDS, size=n_kinds, replace=False).tolist())
        usage[scheme] = tuple((mask, int(random.choice([1, 2, 3], p=[0.7, 0.2, 0.1]))) for mask in masks)
    return PortMapping(tuple(str(port) for port in range(PORTS)), usage)
