"""Events of PMEvo, in addition to those of every search (`inference.core.events`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Self

import numpy as np
import numpy.typing as npt
from pydantic import model_validator

from inference.core.events import Amount, Count, Event, choice_validator, stored_as
from inference.core.mapping import PortMapping
from inference.core.pmevo.congruence import Likeness
from inference.core.pmevo.settings import PMEvoSettings
from inference.core.tables import ExperimentTable

_ALWAYS = {"measuring": "Measure the experiments", "congruence": "Find schemes that behave alike"}
_EVOLUTION = {"evolution": "Evolve port mappings"}
_SEARCHES = {
    "evolution": {**_EVOLUTION, "climb": "Climb to the nearest optimum"},
    "refit": {"refit": "Re-fit scheme by scheme"},
    "both": {**_EVOLUTION, "refit": "Re-fit scheme by scheme"},
}

_BOUNDED = {"bounded": "Find the fewest µops and slots that explain the measurements"}


def phases(settings: PMEvoSettings) -> dict[str, str]:
    """The stages of a search with these settings: {stage: label}, in order."""
    labels = _ALWAYS | _SEARCHES[settings.search]
    return labels | _BOUNDED if refits(settings) and settings.objective == "bounded" else labels


def refits(settings: PMEvoSettings) -> bool:
    """Whether a re-fit of the whole mapping is part of the search."""
    return settings.search != "evolution"


MAX_CLOUD_POINTS = 300
"""Points of a population in an event: a picture needs no more, and the journal keeps all of them."""


@dataclass(frozen=True)
class PlanSavings(Event):
    """Experiments of the adaptive plan in comparison with the paper's.

    `asked`: experiments, singletons and `second_opinions` included; `exhaustive`: those of the paper's plan.
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
    Likeness, stored_as(tuple[Count, Count, Amount], _three_numbers, lambda numbers: Likeness(*numbers))
]


@dataclass(frozen=True)
class Congruence(Event):
    """The classes from congruence filtering; `members` of each, its representative first.

    `likeness`: {other member: how it compares with its representative}.
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
    """The mappings of a generation: errors as D_avg fractions, volume in µops × ports (§5.1.3).

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
    minimised: Annotated[str, choice_validator(["error", "loss"])] = "error"

    def line(self) -> str:
        return f"  generation {self.generation}: {self.minimised} {self.best_error:.4f}"


@dataclass(frozen=True)
class Snapshot(Event):
    """The fittest mapping so far with its predictions, for a heat map; it is not stored.

    `measured` and `predicted`: cycles of each experiment of `table`, float64[n]. `on`: whether these
    experiments are "held-out" or "training".
    """

    mapping: PortMapping
    measured: npt.NDArray[np.float64]
    predicted: npt.NDArray[np.float64]
    table: ExperimentTable
    on: str


@dataclass(frozen=True)
class Cloud(Event):
    """The error or loss, and the volume, of mappings of a population; `population` is its size."""

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
        """A cloud of up to `MAX_CLOUD_POINTS` mappings, evenly spread over the population, fittest first.

        Args:
            generation: Its number.
            errors: D_avg of each mapping, as a fraction; fittest first.
            volumes: µop volume of each.
        """
        size = len(errors)
        picks = np.unique(np.linspace(0, size - 1, min(size, MAX_CLOUD_POINTS)).astype(np.int64))
        rounded = [round(error, 6) for error in errors[picks].tolist()]
        return cls(generation, size, rounded, volumes[picks].tolist())


@dataclass(frozen=True)
class Sweep(Event):
    """One pass of the exact re-fit over all schemes; `changed`: schemes that got other µops.

    `start`: number of the independent re-fit, from 0. `error`: D_avg (a fraction) on the experiments learnt
    from; `kinds`: different µops in use.
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
        error = f"error {self.error:.4f}, {self.kinds} distinct µops"
        step = f"start {self.start + 1}, sweep {self.sweep}"
        return f"  {step}: {self.changed} schemes changed, {error}"


@dataclass(frozen=True)
class FrontObjectives:
    """Objectives of a mapping on the front: D_avg (a fraction), volume, and number of distinct µops."""

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
        return cls([FrontObjectives(round(error, 6), *sizes) for error, *sizes in objectives])

    def line(self) -> str:
        return f"  {len(self.points)} mappings on the front"
