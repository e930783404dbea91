"""Whether more workers of a Dask cluster change what a run finds (they must not), and what time they save.

`pmevo-…`: the same evolution on islands, as many as the most workers, by 1, 2 and 4 workers of one thread
each, on this computer. More workers than processors, which are reported, gain nothing.
"""

from __future__ import annotations

import hashlib
import logging
import os
import statistics
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from distributed import LocalCluster

from benchmarks import Result
from benchmarks._silent import Silent
from inference.cluster.executor import DaskExecutor
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.pacing import PacedReporter, Task, TaskContext
from inference.core.pmevo import PMEvoSettings
from inference.core.pmevo.breeding import Evolution
from inference.core.pmevo.evolution import evolve
from inference.core.pmevo.fitness import FitnessGate
from inference.core.sampling import random_mixes
from inference.measuring.simulated import SimulatedProcessor

WORKERS = (1, 2, 4)  # of the cluster, in turn
_PORTS, _SEED = 8, 1


class _Nobody:
    """The spare executor of a cluster that has to do it all."""

    def carry_out(self, task: Task, common: bytes, pieces: object, pace: PacedReporter) -> list[bytes]:
        raise RuntimeError("a worker of the cluster was lost")


def run(quick: bool) -> Iterator[Result]:
    """Seconds by number of workers, the median of three; beside one worker's."""
    logging.getLogger("distributed").setLevel(logging.WARNING)  # it tells of every task
    settings = PMEvoSettings(
        ports=_PORTS,
        search="evolution",
        population=200 if quick else 4000,
        islands=max(WORKERS),
        migrate_every=5,
        max_generations=10 if quick else 40,
        convergence=0.0,
        threads=1,
    )
    judge, times = _question(settings)

    def once(address: str) -> str:
        with closing(DaskExecutor(address, _Nobody())) as executor:
            return _digest(evolve(judge, times, _SEED, None, lambda _: None, executor))

    unshared: tuple[float, str] | None = None
    for workers in WORKERS:
        durations, ends = [], set()
        with _cluster(workers) as address:
            for _ in range(1 if quick else 3):
                began = time.perf_counter()
                ends.add(once(address))
                durations.append(time.perf_counter() - began)
        seconds, digest = statistics.median(durations), ", ".join(sorted(ends))
        unshared = unshared or (seconds, digest)
        more = {
            "speed_up": round(unshared[0] / seconds, 2),
            "same": digest == unshared[1] and len(ends) == 1,
            "processors": len(os.sched_getaffinity(0)),
            "population": settings.population,
            "generations": settings.max_generations,
        }
        yield Result(f"pmevo-{workers}-workers", round(seconds, 2), "s", None, more)


@contextmanager
def _cluster(workers: int) -> Iterator[str]:
    """The address of a scheduler whose workers have loaded what is compiled."""
    with LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        with closing(DaskExecutor(cluster.scheduler_address, _Nobody())) as executor:
            executor.carry_out(_warm_up, b"", [b""] * workers, PacedReporter(Silent()))
        yield cluster.scheduler_address


def _question(settings: PMEvoSettings) -> tuple[FitnessGate, list[float]]:
    """The fitness on a simulated processor of 30 schemes, and the measured cycles of each scheme alone."""
    usage = {f"s{k:02}": ((1 << k % _PORTS | 1 << k % 5, 1 + k % 2),) for k in range(30)}
    mapping = PortMapping(tuple(map(str, range(_PORTS))), usage)
    alone = [Experiment.of([scheme]) for scheme in sorted(usage)]
    experiments = list(dict.fromkeys([*alone, *random_mixes(sorted(usage), 600, _SEED)]))
    measured = SimulatedProcessor(mapping, noise=0.01, seed=_SEED).measure(experiments)
    times = {result.experiment: result.cycles or 0.0 for result in measured}
    judge = FitnessGate(
        list(times), list(times.values()), tuple(sorted(usage)), settings, PacedReporter(Silent())
    )
    return judge, [times[experiment] for experiment in alone]


def _warm_up(common: bytes, piece: bytes, context: TaskContext) -> bytes:
    """Workers compile, or load what is compiled, before the clock runs."""
    settings = PMEvoSettings(ports=_PORTS, search="evolution", population=20, max_generations=2, threads=1)
    judge, times = _question(settings)
    evolve(judge, times, _SEED, None, lambda _: None)
    return b""


def _digest(state: Evolution) -> str:
    population = state.population
    arrays = (population.offsets, population.masks, population.counts, state.errors, state.volumes)
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()[:16]
