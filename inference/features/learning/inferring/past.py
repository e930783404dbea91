"""What earlier inferences on a computer say about estimates of the next one."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from inference.features.learning.inferring.algorithm_texts import OFFERS
from inference.features.learning.inferring.algorithms import ALGORITHMS
from inference.models import Machine
from inference.runs.machines.facts import past_runs, seconds_for

_LEAST, _MOST = 0.1, 10.0


@dataclass(frozen=True)
class Correction:
    """By how much runs of an algorithm took longer than estimated: the median of so many `runs`."""

    factor: float = 1.0
    runs: int = 0

    @property
    def note(self) -> str:
        """In words; "" where there is nothing to go by."""
        if not self.runs:
            return ""
        ran = "run" if self.runs == 1 else f"{self.runs} runs"
        return f"Corrected by what the last {ran} like it took here."


def correction(machine: Machine, algorithm: str, processors: int) -> Correction:
    """Of the runs that an algorithm has done on the machine; neither doubled nor halved more than thrice."""
    pace = seconds_for(1, machine)
    factors = []
    for run in past_runs(machine, "infer", algorithm=algorithm):
        schemes, settings = run.result.get("schemes"), run.config.get("settings")
        if not schemes or not settings or not run.busy_seconds:
            continue
        described = {name: value for name, value in settings.items() if name != "ports"}
        _, seconds = OFFERS[algorithm].effort(schemes, described, None, processors, pace)
        judged = 0 if run.config.get("evaluate") else ALGORITHMS[algorithm].mixes
        estimated = seconds + pace * judged
        if estimated > 0:
            factors.append(run.busy_seconds / estimated)
    if not factors:
        return Correction()
    return Correction(min(max(median(factors), _LEAST), _MOST), len(factors))
