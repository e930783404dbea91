"""Whether more workers of a Dask cluster change what a run finds (they must not), and what time they save.

`pmevo-…`: the same evolution on islands, as many as the most workers, by 1, 2 and 4 workers of one thread
each, on this computer. `campaign-…`: the same campaign over two releases of llvm-mca, ended by the number of
its blocks, both asked on the workers, without remembered answers; sampling and subsumption stay with the one
process that asks. What to expect of the speed-up depends on the processors, which are told: more workers than
these gain nothing.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager

from distributed import LocalCluster

from anica_app.core.block_domain import BlockDomain
from anica_app.core.search.campaign_search import CampaignSearch
from anica_app.core.search.campaign_state import checkpoint_of
from anica_app.core.search.interestingness import Disagreement, InterestSettings
from anica_app.core.search.search_tasks import SearchContext
from anica_app.core.search.settings import SearchSettings, Termination
from benchmarks import Result
from benchmarks._silent import Silent
from benchmarks.anica import MCA_13, MCA_22, supported_domain, tool_panel
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
from inference.predictors.panel import DistributedPredictor, Panel

WORKERS = (1, 2, 4)  # of the cluster, in turn
_PORTS, _SEED = 8, 1


class _Nobody:
    """The spare executor of a cluster that has to do it all."""

    def carry_out(self, task: Task, common: bytes, pieces: object, pace: PacedReporter) -> list[bytes]:
        raise RuntimeError("a worker of the cluster was lost")


def run(quick: bool) -> Iterator[Result]:
    """Seconds by number of workers, the median of three; beside one worker's."""
    logging.getLogger("distributed").setLevel(logging.WARNING)  # it tells of every task
    yield from _evolutions(quick)
    yield from _campaigns(quick)


def _evolutions(quick: bool) -> Iterator[Result]:
    """An evolution with islands on more and more workers: the same result, in what time."""
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

    more: dict[str, object] = {"population": settings.population, "generations": settings.max_generations}
    yield from _compared("pmevo", _warm_up, once, 1 if quick else 3, more)


def _campaigns(quick: bool) -> Iterator[Result]:
    """A campaign on more and more workers: the same discoveries, in what time."""
    end = Termination(blocks=20 if quick else 200)
    with tool_panel((MCA_13, MCA_22)) as local:
        domain = supported_domain(local)

        def once(address: str) -> str:
            with ExitStack() as stack:
                shared = []
                for tool, (kind, options) in zip(local.predictors, (MCA_13, MCA_22), strict=True):
                    executor = stack.enter_context(closing(DaskExecutor(address, _Nobody())))
                    pace = PacedReporter(Silent())
                    shared.append(DistributedPredictor(tool, kind, options, executor, pace, lambda: None))
                panel = stack.enter_context(closing(Panel(shared)))
                world, judge = (
                    SearchContext(domain, SearchSettings(), _SEED),
                    Disagreement(InterestSettings()),
                )
                state = CampaignSearch(world, panel, judge, end, Silent(), Silent()).search()
            ended = {**checkpoint_of(state, domain).meta, "counters": None}  # which hold the seconds
            return hashlib.sha256(json.dumps(ended, sort_keys=True).encode()).hexdigest()[:16]

        yield from _compared("campaign", _ready, once, 1 if quick else 3, {"blocks": end.blocks})


def _compared(
    case: str, prepare: Task, once: Callable[[str], str], repeats: int, more: dict[str, object]
) -> Iterator[Result]:
    """Median seconds of doing it `once`, by so many workers; and whether it comes to the same."""
    found: dict[int, tuple[float, str]] = {}
    for workers in WORKERS:
        spent, ends = [], set()
        with _cluster(workers, prepare) as address:
            for _ in range(repeats):
                begun = time.perf_counter()
                ends.add(once(address))
                spent.append(time.perf_counter() - begun)
        found[workers] = statistics.median(spent), ", ".join(sorted(ends))
        seconds, digest = found[workers]
        facts = {
            "speed_up": round(found[1][0] / seconds, 2),
            "same": digest == found[1][1] and len(ends) == 1,
            "processors": len(os.sched_getaffinity(0)),
        }
        yield Result(f"{case}-{workers}-workers", round(seconds, 2), "s", None, {**facts, **more})


@contextmanager
def _cluster(workers: int, prepare: Task) -> Iterator[str]:
    """The address of a scheduler whose workers have all done what prepares them."""
    with LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        with closing(DaskExecutor(cluster.scheduler_address, _Nobody())) as executor:
            executor.carry_out(prepare, b"", [b""] * workers, PacedReporter(Silent()))
        yield cluster.scheduler_address


def _ready(common: bytes, piece: bytes, context: TaskContext) -> bytes:
    """Workers load the instruction set before the clock runs."""
    BlockDomain.of()
    return b""


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
