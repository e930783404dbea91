"""How carefully a machine measures."""

from __future__ import annotations

from dataclasses import dataclass

from inference.core.measured_slots import PADDINGS
from inference.features.machines.measure.listed import LISTED
from inference.models import Machine
from inference.runs.machines.facts import seconds_for

DEFAULT_MIXES = 1000


@dataclass(frozen=True)
class Effort:
    """`experiments` to measure, about, and how many seconds that takes."""

    experiments: int
    seconds: float


def effort(machine: Machine, schemes: int, wanted: str, given: int = DEFAULT_MIXES) -> Effort:
    """What a plan over so many schemes will take on a machine, a 1:n experiment for two pairs in three.

    `given`: how many mixes, or measurements of listed experiments.
    """
    pairs = schemes * (schemes - 1) // 2
    experiments = {
        "singletons": schemes,
        "pairs": schemes + pairs + 2 * pairs // 3,
        "mixes": given if schemes else 0,
        "slots": (1 + PADDINGS) * schemes,
        LISTED: given if schemes else 0,
    }[wanted]
    return Effort(experiments, seconds_for(experiments, machine))
