"""PMEvo: how good its mapping gets, and what that costs, on simulated and on published measurements.

References: MAPE of the Skylake mapping that PMEvo published on the same 2,000 five-scheme mixes (14.67 %,
learnt from about 96,000 experiments); none for times, which no publication gives on one thread.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from django.conf import settings

from benchmarks import Result
from inference.core.evaluator import Evaluator
from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping
from inference.core.metrics import score
from inference.core.pmevo import PMEvoProblem, PMEvoSettings, infer
from inference.core.pmevo.events import Generation
from inference.core.protocols import Checkpoint, Event, Measurer
from inference.core.tables import ExperimentTable
from inference.measuring.recorded import RecordedMeasurer
from inference.measuring.simulated import SimulatedProcessor

PUBLISHED_MAPE = 14.67
SEEDS = (0, 1, 2)


class _Counting:
    """A listener that looks at the last generation only."""

    def __init__(self) -> None:
        self.generation: Generation | None = None

    def emit(self, event: Event) -> None:
        if isinstance(event, Generation):
            self.generation = event

    def save(self, checkpoint: Checkpoint) -> None:
        """Nothing is resumed here."""

    def pulse(self) -> None:
        """Nobody interrupts a benchmark."""


def run(quick: bool) -> Iterator[Result]:
    """Both processors; with `quick` a small population, one seed and few generations."""
    effort = {"population": 30, "max_generations": 5} if quick else {}
    seeds = SEEDS[:1] if quick else SEEDS
    schemes, simulated, mixes = _simulated()
    for seed in seeds:
        chosen = PMEvoSettings(ports=6, **effort)
        yield from _case(f"simulated seed {seed}", schemes, simulated, mixes, chosen, seed, None)
    folder = settings.SHARED / "data" / "pmevo" / "SKL"
    if not folder.is_dir():
        return
    train = [m for k in range(1, 5) for m in _read(folder / "varying_length" / f"len_{k:02}.json")]
    mixes = _read(folder / "exps_eval_small_annotated.json")
    schemes = tuple(sorted({scheme for m in train for scheme in m.experiment.schemes}))
    for seed in seeds:
        chosen = PMEvoSettings(ports=9, **effort)
        measurer = RecordedMeasurer(train)
        yield from _case(f"skylake seed {seed}", schemes, measurer, mixes, chosen, seed, PUBLISHED_MAPE)


def _case(
    case: str,
    schemes: tuple[str, ...],
    measurer: Measurer,
    mixes: Sequence[Measured],
    chosen: PMEvoSettings,
    seed: int,
    published: float | None,
) -> Iterator[Result]:
    listener = _Counting()
    began = time.process_time()
    found = infer(PMEvoProblem(schemes, chosen), measurer, listener, seed)
    seconds = time.process_time() - began
    table = ExperimentTable.from_experiments([m.experiment for m in mixes], sorted(found.mapping.usage))
    predicted = Evaluator(table, chosen.ports).cycles_one(found.mapping)
    scores = score(np.array([m.cycles for m in mixes]), predicted)
    more = {
        "population": chosen.population,
        "generations": found.generations,
        "experiments": found.experiments,
        "uop_kinds": found.mapping.uop_kinds,
        "volume": found.mapping.volume,
        "pearson": scores.pearson,
        "kendall": scores.kendall,
    }
    assert scores.mape is not None
    yield Result(f"{case} mape", round(scores.mape, 2), "%", published, more)
    yield Result(f"{case} time", round(seconds, 1), "CPU s")


def _simulated() -> tuple[tuple[str, ...], SimulatedProcessor, list[Measured]]:
    """Forty schemes of one or two µops on six ports, with 1 % noise, and exact times of five-scheme mixes."""
    random = np.random.default_rng(11)
    kinds = [0b000001, 0b000011, 0b001111, 0b001100, 0b010000, 0b110000, 0b100000]
    usage = {}
    for k in range(40):
        masks = random.choice(kinds, size=random.integers(1, 3), replace=False)
        usage[f"scheme {k:02}"] = tuple(sorted((int(mask), int(random.integers(1, 3))) for mask in masks))
    mapping = PortMapping(tuple("012345"), usage)
    schemes = tuple(usage)
    mixes = [Experiment.of(random.choice(schemes, size=5).tolist()) for _ in range(500)]
    exact = list(SimulatedProcessor(mapping).measure(mixes))
    return schemes, SimulatedProcessor(mapping, noise=0.01, seed=11), exact


def _read(path: Path) -> list[Measured]:
    return [
        Measured(Experiment.of(entry["iseq"]), entry["result"]["cycles"])
        for entry in json.loads(path.read_text())["exps"]
    ]
