"""The events of PMEvo beside those of every search (`inference.core.events`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Self

import numpy as np
import numpy.typing as npt
from pydantic import model_validator

from inference.core.events import Amount, Count, Event, one_of, stored_as
from inference.core.mapping import PortMapping
from inference.core.pmevo.congruence import Likeness
from inference.core.pmevo.settings import PMEvoSettings
from inference.core.tables import ExperimentTable

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
    """The stages of a search as runs and pages name them: {stage: label}, in order."""
    found = _ALWAYS | _SEARCHES[settings.search]
    return found | _BOUNDED if refits(settings) and settings.objective == "bounded" else found


def refits(settings: PMEvoSettings) -> bool:
    """Whether a re-fit of the whole mapping is part of the search."""
    return settings.search != "evolution"


MOST_IN_CLOUD = 300
"""Points of a population that are told: a picture needs no more, and the journal keeps them all."""


@dataclass(frozen=True)
class Saved(Event):
    """What measuring against representatives came to, beside the paper's plan.

    `asked` experiments, singletons and `second_opinions` included, where the paper's plan has `exhaustive`.
    """

    kind = "saved"
    asked: Count
    exhaustive: Count
    classes: Count
    second_opinions: Count

    def text(self) -> str:
        share = 100 * (1 - self.asked / self.exhaustive)
        saved = f"{share:.0f} % fewer than" if share > 0 else "no fewer than"
        return (
            f"{self.asked:,} experiments found {self.classes:,} classes of schemes that behave alike: "
            f"{saved} the {self.exhaustive:,} of all pairs; {self.second_opinions:,} were second opinions"
        )


def _three_numbers(likeness: Likeness) -> tuple[int, int, float]:
    return likeness.compared, likeness.different, round(likeness.largest, 4)


StoredLikeness = Annotated[
    Likeness,
    stored_as(tuple[Count, Count, Amount], _three_numbers, lambda numbers: Likeness(*numbers)),
]


@dataclass(frozen=True)
class Congruence(Event):
    """What congruence filtering left; `members` of each class, its representative first.

    `likeness`: of each other scheme how it compares with its representative.
    """

    kind = "congruence"
    once = True
    schemes: Count
    classes: Count
    members: Sequence[Sequence[str]] = ()
    likeness: Mapping[str, StoredLikeness] = field(default_factory=dict)

    def line(self) -> str:
        return f"  {self.schemes} schemes in {self.classes} classes"


@dataclass(frozen=True)
class Generation(Event):
    """The kept mappings of a generation: errors as D_avg fractions, volume in µops × ports (§5.1.3).

    "best" is the fittest mapping, not the extreme of each objective. Where a "loss" is `minimised` instead of
    the "error", the errors are mean losses.
    """

    kind = "generation"
    counted_by = "generation"
    point = True
    generation: Count
    best_error: Amount
    mean_error: Amount
    best_volume: Count
    mean_volume: Amount
    evaluations_per_second: Amount = 0.0
    minimised: Annotated[str, one_of(["error", "loss"])] = "error"

    def line(self) -> str:
        """The best error or loss."""
        return f"  generation {self.generation}: {self.minimised} {self.best_error:.4f}"


@dataclass(frozen=True)
class Snapshot(Event):
    """The fittest mapping so far with its predictions, everything that a heat map needs; it is not stored.

    `measured` and `predicted`: cycles, one per experiment of `table`; these are the ones of `on` ("held-out"
    or "training").
    """

    mapping: PortMapping
    measured: npt.NDArray[np.float64]
    predicted: npt.NDArray[np.float64]
    table: ExperimentTable
    on: str


@dataclass(frozen=True)
class Cloud(Event):
    """A population in the plane of its objectives: what is minimised, and volume, per mapping."""

    kind = "cloud"
    counted_by = "generation"
    generation: Count
    population: Count
    errors: Sequence[Amount]
    volumes: Sequence[Count]

    @model_validator(mode="after")
    def _has_both(self) -> Self:
        if len(self.errors) != len(self.volumes):
            raise ValueError("a population has an error and a volume for each mapping")
        return self

    @classmethod
    def of(cls, generation: int, errors: npt.NDArray[np.float64], volumes: npt.NDArray[np.int64]) -> Cloud:
        """Up to `MOST_IN_CLOUD` mappings, evenly spread over the population, which is fittest first."""
        size = len(errors)
        picks = np.unique(np.linspace(0, size - 1, min(size, MOST_IN_CLOUD)).astype(np.int64))
        rounded = [round(error, 6) for error in errors[picks].tolist()]
        return cls(generation, size, rounded, volumes[picks].tolist())


@dataclass(frozen=True)
class Sweep(Event):
    """One pass of the exact re-fit over all schemes: how many changed, and what came of it.

    `start`: which of the independent re-fits, from 0.
    `error`: D_avg (a fraction) on the experiments learnt from; `kinds`: different µops in use.
    """

    kind = "sweep"
    counted_by = "sweep"
    side_by_side = "start"
    start: Count
    sweep: Count
    changed: Count
    error: Amount
    volume: Count
    kinds: Count

    def line(self) -> str:
        """What has changed, and how good it is now."""
        error = f"error {self.error:.4f}, {self.kinds} distinct µops"
        which = f"start {self.start + 1}, sweep {self.sweep}"
        return f"  {which}: {self.changed} schemes changed, {error}"


@dataclass(frozen=True)
class FrontObjectives:
    """A mapping of the front: D_avg, volume, and distinct µops."""

    error: Amount
    volume: Count
    kinds: Count


@dataclass(frozen=True)
class FrontImproved(Event):
    """The Pareto front so far, the most accurate mapping first."""

    kind = "front"
    replaced = True
    points: Sequence[FrontObjectives]

    @classmethod
    def of(cls, objectives: Iterable[tuple[float, int, int]]) -> FrontImproved:
        """From (D_avg, volume, kinds) of its points."""
        return cls([FrontObjectives(round(error, 6), *sizes) for error, *sizes in objectives])

    def line(self) -> str:
        return f"  {len(self.points)} mappings on the front"
