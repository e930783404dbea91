"""What PMEvo tells while it runs, beside what every search tells (`inference.core.events`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from inference.core.events import Plain
from inference.core.mapping import PortMapping
from inference.core.pmevo.congruence import Likeness
from inference.core.pmevo.settings import PMEvoSettings
from inference.core.protocols import Json
from inference.core.tables import ExperimentTable

# The stages of a search, as runs and pages name them.


_ALWAYS = {
    "measuring": "Measure the experiments",
    "congruence": "Find schemes that behave alike",
}
_EVOLUTION = {"evolution": "Evolve port mappings"}
_SEARCHES = {
    "evolution": {**_EVOLUTION, "climb": "Climb to the nearest optimum"},
    "refit": {"refit": "Re-fit scheme by scheme"},
    "both": {**_EVOLUTION, "refit": "Re-fit scheme by scheme"},
}

_BOUNDED = {"bounded": "Find the fewest µops and slots that explain the measurements"}


def phases(settings: PMEvoSettings) -> dict[str, str]:
    """{stage: label}, in order."""
    found = _ALWAYS | _SEARCHES[settings.search]
    return found | _BOUNDED if refits(settings) and settings.objective == "bounded" else found


def refits(settings: PMEvoSettings) -> bool:
    """Whether a re-fit of the whole mapping is part of the search."""
    return settings.search != "evolution"


MOST_IN_CLOUD = 300
"""Points of a population that are told: a picture needs no more, and the journal keeps them all."""


@dataclass(frozen=True)
class ExperimentsCounted(Plain):
    """Counts of the measuring stage so far.

    `others` are those without a usable answer, by `MeasurementState`; None where a checkpoint has forgotten
    the states. Then the payload has them all as "failed", and no other state.
    """

    kind: ClassVar[str] = "experiments"
    asked: int
    settled: int
    others: Mapping[str, int] | None

    def payload(self) -> Json:
        """The event as plain JSON data, with a count per state."""
        others = {"failed": self.asked - self.settled} if self.others is None else self.others
        return {"asked": self.asked, "settled": self.settled, **others}


@dataclass(frozen=True)
class Saved(Plain):
    """What measuring against representatives came to, beside the paper's plan.

    `asked` experiments, singletons and `second_opinions` included, where the paper's plan has `exhaustive`.
    """

    kind: ClassVar[str] = "saved"
    asked: int
    exhaustive: int
    classes: int
    second_opinions: int

    def text(self) -> str:
        """In a sentence."""
        share = 100 * (1 - self.asked / self.exhaustive)
        saved = f"{share:.0f} % fewer than" if share > 0 else "no fewer than"
        return (
            f"{self.asked:,} experiments found {self.classes:,} classes of schemes that behave alike: "
            f"{saved} the {self.exhaustive:,} of all pairs; {self.second_opinions:,} were second opinions"
        )


@dataclass(frozen=True)
class Congruence(Plain):
    """What congruence filtering left; `members` of each class, its representative first.

    `likeness`: of each other scheme how it compares with its representative.
    """

    kind: ClassVar[str] = "congruence"
    schemes: int
    classes: int
    members: tuple[tuple[str, ...], ...] = ()
    likeness: Mapping[str, Likeness] = field(default_factory=dict)

    def payload(self) -> Json:
        """Of each scheme in `likeness` the three numbers as a list."""
        return {
            "schemes": self.schemes,
            "classes": self.classes,
            "members": [list(members) for members in self.members],
            "likeness": {
                scheme: [found.compared, found.different, round(found.largest, 4)]
                for scheme, found in self.likeness.items()
            },
        }


@dataclass(frozen=True)
class Generation(Plain):
    """The kept mappings of a generation: errors as D_avg fractions, volume in µops × ports (§5.1.3).

    "best" is the fittest mapping, not the extreme of each objective. Where a "loss" is `minimised` instead of
    the "error", the errors are mean losses.
    """

    kind: ClassVar[str] = "generation"
    generation: int
    best_error: float
    mean_error: float
    best_volume: int
    mean_volume: float
    evaluations_per_second: float
    minimised: str


@dataclass(frozen=True)
class Snapshot:
    """The fittest mapping so far with its predictions, everything that a heat map needs.

    `measured` and `predicted`: cycles, one per experiment of `table`; these are the ones of `on` ("held-out"
    or "training").
    """

    kind: ClassVar[str] = "snapshot"
    mapping: PortMapping
    measured: npt.NDArray[np.float64]
    predicted: npt.NDArray[np.float64]
    table: ExperimentTable
    on: str

    def payload(self) -> Json:
        """A line about it; the arrays are for a listener in the same process."""
        return {"on": self.on, "experiments": len(self.measured), "volume": self.mapping.volume}


@dataclass(frozen=True)
class Cloud:
    """A whole population in the plane of its objectives: what is minimised, and volume, per mapping."""

    kind: ClassVar[str] = "cloud"
    generation: int
    errors: npt.NDArray[np.float64]
    volumes: npt.NDArray[np.int64]

    def payload(self) -> Json:
        """Up to `MOST_IN_CLOUD` mappings, evenly spread over the population, which is fittest first."""
        size = len(self.errors)
        picks = np.unique(np.linspace(0, size - 1, min(size, MOST_IN_CLOUD)).astype(np.int64))
        return {
            "generation": self.generation,
            "population": size,
            "errors": [round(error, 6) for error in self.errors[picks].tolist()],
            "volumes": self.volumes[picks].tolist(),
        }


@dataclass(frozen=True)
class Sweep(Plain):
    """One pass of the exact re-fit over all schemes: how many changed, and what came of it.

    `start`: which of the independent re-fits, from 0.
    `error`: D_avg (a fraction) on the experiments learnt from; `kinds`: different µops in use.
    """

    kind: ClassVar[str] = "sweep"
    start: int
    sweep: int
    changed: int
    error: float
    volume: int
    kinds: int


@dataclass(frozen=True)
class FrontTold:
    """The Pareto front so far: (D_avg, volume, kinds) of its points, most accurate first."""

    kind: ClassVar[str] = "front"
    points: tuple[tuple[float, int, int], ...]

    def payload(self) -> Json:
        """The points as objects."""
        return {
            "points": [
                {"error": round(error, 6), "volume": volume, "kinds": kinds}
                for error, volume, kinds in self.points
            ]
        }
