"""Whether more workers of a Dask cluster change what PMEvo finds (they must not), and what time they save.

The same evolution on islands, as many as the most workers, by 1, 2 and 4 workers of one thread each, on this
computer. What to expect of the speed-up depends on its processors, which are told: more workers than these
gain nothing.
"""

from __future__ import annotations

import hashlib
import os
import statistics
import time
from collections.abc import Iterator

from distributed import LocalCluster

from benchmarks import Result
from benchmarks._silent import Silent
from inference.cluster.workshop import DaskWorkshop
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.mixes import random_mixes
from inference.core.pacing import Pace
from inference.core.pmevo import PMEvoSettings
from inference.core.pmevo.evolution import Evolved, evolve
from inference.core.pmevo.fitness import Judge
from inference.core.workshop import Bench, Task
from inference.measuring.simulated import SimulatedProcessor

WORKERS = (1, 2, 4)
_PORTS, _SEED = 8, 1


class _Nobody:
    """The spare workshop of a cluster that has to do it all."""

    def carry_out(self, task: Task, common: bytes, pieces: object, pace: Pace) -> list[bytes]:
        raise RuntimeError("a worker of the cluster was lost")


def run(quick: bool) -> Iterator[Result]:
    """Seconds of the evolution by number of workers, the median of three; beside one worker's."""
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
    found: dict[int, tuple[float, str]] = {}
    for workers in WORKERS:
        found[workers] = _timed(workers, settings, 1 if quick else 3)
        seconds, digest = found[workers]
        more = {
            "speed_up": round(found[1][0] / seconds, 2),
            "same": digest == found[1][1],
            "processors": len(os.sched_getaffinity(0)),
            "population": settings.population,
            "generations": settings.max_generations,
        }
        yield Result(f"pmevo-{workers}-workers", round(seconds, 2), "s", None, more)


def _timed(workers: int, settings: PMEvoSettings, repeats: int) -> tuple[float, str]:
    """Median seconds, and what the evolution ended with."""
    judge, times = _question(settings)
    with LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        workshop = DaskWorkshop(cluster.scheduler_address, _Nobody())
        try:
            workshop.carry_out(_warm_up, b"", [b""] * workers, Pace(Silent()))
            spent, ends = [], set()
            for _ in range(repeats):
                begun = time.perf_counter()
                state = evolve(judge, times, _SEED, None, lambda _: None, workshop)
                spent.append(time.perf_counter() - begun)
                ends.add(_digest(state))
        finally:
            workshop.close()
    return statistics.median(spent), ", ".join(sorted(ends))


def _question(settings: PMEvoSettings) -> tuple[Judge, list[float]]:
    usage = {f"s{k:02}": ((1 << k % _PORTS | 1 << k % 5, 1 + k % 2),) for k in range(30)}
    mapping = PortMapping(tuple(map(str, range(_PORTS))), usage)
    alone = [Experiment.of([scheme]) for scheme in sorted(usage)]
    asked = list(dict.fromkeys([*alone, *random_mixes(sorted(usage), 600, _SEED)]))
    measured = SimulatedProcessor(mapping, noise=0.01, seed=_SEED).measure(asked)
    times = {result.experiment: result.cycles or 0.0 for result in measured}
    judge = Judge(list(times), list(times.values()), tuple(sorted(usage)), settings, Pace(Silent()))
    return judge, [times[each] for each in alone]


def _warm_up(common: bytes, piece: bytes, bench: Bench) -> bytes:
    """Workers compile, or load what is compiled, before the clock runs."""
    settings = PMEvoSettings(ports=_PORTS, search="evolution", population=20, max_generations=2, threads=1)
    judge, times = _question(settings)
    evolve(judge, times, _SEED, None, lambda _: None)
    return b""


def _digest(state: Evolved) -> str:
    population = state.population
    arrays = (population.offsets, population.masks, population.counts, state.errors, state.volumes)
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()[:16]
