"""PMEvo: how good its mapping gets, what that costs, and how fast the evolution is.

`skl-real-…`: the published Skylake measurements. Learnt from are the 6,310 mixes of one to four schemes; the
2,000 published five-scheme mixes judge, and nothing else sees them. References: what PMEvo's published
mapping, learnt from about 96,000 experiments, comes to on the same mixes (14.67 %), and for the compact one
the bar of 9.5 %. The paper's exact variant gets the CPU time of the re-fit, with as many mappings as bring it
to an end in about that time.

`ten-ports-…`: 300 schemes of a made-up processor with ten ports, measured by a simulation with 1 % noise,
judged on 2,000 exact five-scheme mixes.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings

from benchmarks import Result, _evolution_rate
from benchmarks._evolution_rate import PORTS, ten_port_mapping
from benchmarks._silent import Silent
from inference.core.errors import InterruptedRunError
from inference.core.evaluator import Evaluator
from inference.core.events import Event
from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping
from inference.core.metrics import Scores, score
from inference.core.pmevo import PMEvoProblem, PMEvoResult, PMEvoSettings, infer
from inference.core.pmevo.events import Snapshot
from inference.core.pmevo.settings import PRESETS
from inference.core.protocols import Measurer
from inference.core.sampling import random_mixes
from inference.core.tables import ExperimentTable
from inference.measuring.recorded import RecordedMeasurer
from inference.measuring.simulated import SimulatedProcessor

PUBLISHED_MAPE = 14.67  # % on the Skylake mixes
COMPACT_KINDS, COMPACT_BAR = 40, 9.5
TEN_PORTS_BAR, TEN_PORTS_MINUTES = 3.0, 15.0
SEEDS = (0, 1, 2)
EXACT_POPULATION = 3_000  # of the evolution that is compared at the same CPU time
_SKYLAKE_PORTS = 9  # ports and the divider
_QUICK: dict[str, Any] = {"rounds": 1, "sweeps": 1, "starts": 1}


class Watch(Silent):
    """Keeps the last mapping shown; ends the search when its CPU time is over."""

    def __init__(self, seconds: float = float("inf")) -> None:
        self._end = time.process_time() + seconds
        self.mapping: PortMapping | None = None

    def emit(self, event: Event) -> None:
        """Keep what a snapshot shows."""
        if isinstance(event, Snapshot):
            self.mapping = event.mapping

    def pulse(self) -> None:
        """End the search in time."""
        if time.process_time() > self._end:
            raise InterruptedRunError("the time is over")


@dataclass(frozen=True)
class Case:
    """What is learnt from, and what judges."""

    schemes: tuple[str, ...]
    measurer: Callable[[], Measurer]
    mixes: Sequence[Measured]
    ports: int

    def infer(self, chosen: PMEvoSettings, seed: int) -> tuple[PMEvoResult, float, float]:
        """The result, the CPU seconds, and those of the clock on the wall."""
        began, clock = time.process_time(), time.perf_counter()
        found = infer(PMEvoProblem(self.schemes, chosen), self.measurer(), Watch(), seed)
        return found, time.process_time() - began, time.perf_counter() - clock


def run(quick: bool) -> Iterator[Result]:
    """All cases; with `quick` one seed and little effort."""
    seeds = SEEDS[:1] if quick else SEEDS
    folder = settings.SHARED / "data" / "pmevo" / "SKL"
    if folder.is_dir():
        yield from _skylake(published(folder), seeds, quick)
    yield from _ten_ports(40 if quick else 300, quick)
    yield from _evolution_rate.cases(quick)


def _skylake(case: Case, seeds: Sequence[int], quick: bool) -> Iterator[Result]:
    """MAPE on the published Skylake mixes: of the best mapping, a compact one, and the exact variant."""
    chosen = PMEvoSettings(ports=case.ports, **(_QUICK if quick else {}))
    runs = [case.infer(chosen, seed) for seed in seeds]
    scores = [scores_of(result.mapping, case.mixes) for result, _, _ in runs]
    seconds = [cpu for _, cpu, _ in runs]
    more = {
        "seeds": [rounded(score.mape) for score in scores],
        "pearson": _median([score.pearson for score in scores], 4),
        "kendall": _median([score.kendall for score in scores], 4),
        "kinds": [result.mapping.uop_kinds for result, _, _ in runs],
        "cpu_seconds": _median(seconds, 1),
        "wall_seconds": _median([wall for _, _, wall in runs], 1),
    }
    yield Result("skl-real-mape", _median([score.mape for score in scores]), "%", PUBLISHED_MAPE, more)
    compact = [_most_compact(case, result) for result, _, _ in runs]
    yield Result(
        "skl-real-compact-mape",
        _median([mape for mape, _ in compact]),
        "%",
        COMPACT_BAR,
        {"kinds": [kinds for _, kinds in compact]},
    )
    yield _exact_variant(case, statistics.median(seconds), seeds[0], 100 if quick else EXACT_POPULATION)


def _most_compact(case: Case, result: PMEvoResult) -> tuple[float, int]:
    """MAPE and kinds of the point with the fewest kinds whose training error is within half of the smallest.

    Chosen without a look at what judges; where none has so few kinds as the bar allows, the result itself.
    """
    allowed = 1.5 * result.front[0].error
    compact = [point for point in result.front if point.error <= allowed and point.kinds <= COMPACT_KINDS]
    fewest = min(compact, key=lambda point: (point.kinds, point.error), default=None)
    mapping = result.mapping if fewest is None else fewest.mapping
    return rounded(scores_of(mapping, case.mixes).mape), mapping.uop_kinds


def _exact_variant(case: Case, seconds: float, seed: int, population: int) -> Result:
    """The paper's text on the same data, in the same CPU time."""
    options = {**PRESETS["paper"], "ports": case.ports, "population": population}
    watch = Watch(seconds)
    began = time.process_time()
    try:
        problem = PMEvoProblem(case.schemes, PMEvoSettings.parse(options))
        mapping = infer(problem, case.measurer(), watch, seed).mapping
    except InterruptedRunError:
        assert watch.mapping is not None
        mapping = watch.mapping
    scores = scores_of(mapping, case.mixes)
    more = {
        "population": population,
        "cpu_seconds": round(time.process_time() - began, 1),
        "pearson": scores.pearson,
        "kendall": scores.kendall,
        "kinds": mapping.uop_kinds,
    }
    return Result("skl-real-exact-variant-mape", rounded(scores.mape), "%", PUBLISHED_MAPE, more)


def _ten_ports(schemes: int, quick: bool) -> Iterator[Result]:
    """MAPE and minutes on a simulated processor with ten ports and 1 % noise."""
    random = np.random.default_rng(5)
    mapping = ten_port_mapping(schemes, random)
    names = tuple(mapping.usage)
    mixes = list(SimulatedProcessor(mapping).measure(random_mixes(names, 2000, seed=3)))
    case = Case(names, lambda: SimulatedProcessor(mapping, noise=0.01, seed=11), mixes, PORTS)
    found, cpu, wall = case.infer(PMEvoSettings(ports=PORTS, **(_QUICK if quick else {})), 0)
    scores = scores_of(found.mapping, case.mixes)
    more = {
        "schemes": schemes,
        "classes": len(found.congruence_classes),
        "experiments": found.experiments,
        "exhaustive": found.exhaustive,
        "kinds": found.mapping.uop_kinds,
        "kinds_of_the_processor": mapping.uop_kinds,
        "pearson": scores.pearson,
        "kendall": scores.kendall,
        "cpu_seconds": round(cpu, 1),
    }
    yield Result("ten-ports-mape", rounded(scores.mape), "%", TEN_PORTS_BAR, more)
    yield Result("ten-ports-minutes", round(wall / 60, 2), "min", TEN_PORTS_MINUTES)


def published(folder: Path) -> Case:
    """Skylake: learnt from are mixes of one to four schemes, mixes of five judge."""
    train = [m for k in range(1, 5) for m in _read(folder / "varying_length" / f"len_{k:02}.json")]
    schemes = tuple(sorted({scheme for m in train for scheme in m.experiment.schemes}))
    mixes = _read(folder / "exps_eval_small_annotated.json")
    return Case(schemes, lambda: RecordedMeasurer(train), mixes, _SKYLAKE_PORTS)


def _read(path: Path) -> list[Measured]:
    return [
        Measured(Experiment.of(entry["iseq"]), entry["result"]["cycles"])
        for entry in json.loads(path.read_text())["exps"]
    ]


def scores_of(mapping: PortMapping, measured: Sequence[Measured]) -> Scores:
    """Of what a mapping predicts, by its ports and limits, for experiments whose schemes it has."""
    table = ExperimentTable.from_experiments([m.experiment for m in measured], sorted(mapping.usage))
    predicted = Evaluator(table, len(mapping.ports)).mapping_cycles(mapping)
    return score(np.array([m.cycles for m in measured]), predicted)


def _median(values: Sequence[float | None], digits: int = 2) -> float:
    return round(statistics.median(value for value in values if value is not None), digits)


def rounded(value: float | None) -> float:
    """A number with two decimals."""
    assert value is not None
    return round(value, 2)
