"""What PMEvo is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from inference.core.errors import InvalidInputError
from inference.core.experiment import Measured
from inference.core.mapping import PortMapping
from inference.core.pmevo.settings import PMEvoSettings


@dataclass(frozen=True)
class PMEvoProblem:
    """The schemes to characterise, how, and results to look at on the way but never to learn from."""

    schemes: tuple[str, ...]
    settings: PMEvoSettings
    held_out: Sequence[Measured] = field(default=())

    def __post_init__(self) -> None:
        if not self.schemes:
            raise InvalidInputError("PMEvo needs at least one instruction scheme")
        if len(set(self.schemes)) != len(self.schemes):
            raise InvalidInputError("the instruction schemes given to PMEvo must differ")


@dataclass(frozen=True)
class PMEvoResult:
    """The fittest port mapping with the facts about how it was found.

    `congruence_classes`: classes of schemes that share a port usage, the representative first. `final_error`:
    D_avg (a fraction) on the experiments learnt from. `experiments`: how many had a usable measurement.
    """

    mapping: PortMapping
    congruence_classes: tuple[tuple[str, ...], ...]
    generations: int
    final_error: float
    experiments: int
