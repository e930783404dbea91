"""Events of counter-example-guided inference, and how mappings and experiments are stored in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from inference.core.cegar.problem import Alternative, AmbiguityReason, Clash
from inference.core.events import Amount, Count, Event, Uop, choice_validator, stored_as
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.protocols import Json


def _check_terms(terms: list[tuple[str, int]]) -> list[tuple[str, int]]:
    Experiment.of(dict(terms))
    return terms


Term = Annotated[
    tuple[str, int], Field(strict=False)
]  # archives are also made of values, whose pairs are lists
Terms = Annotated[list[Term], AfterValidator(_check_terms)]


@dataclass(frozen=True)
class _WrittenExperiment:
    text: str
    terms: Terms


@dataclass(frozen=True)
class _WrittenMapping:
    ports: list[str]
    usage: dict[str, tuple[Uop, ...]]


def _mapping_json(mapping: PortMapping) -> Json:
    usage = {scheme: [list(uop) for uop in uops] for scheme, uops in mapping.usage.items()}
    return {"ports": list(mapping.ports), "usage": usage}


def _experiment_json(experiment: Experiment) -> Json:
    return {"text": str(experiment), "terms": [list(term) for term in experiment.terms]}


StoredTerms = Annotated[
    Experiment,
    stored_as(
        Terms,
        lambda experiment: [list(term) for term in experiment.terms],
        lambda terms: Experiment.of(dict(terms)),
    ),
]
"""Stored as [scheme, multiplicity]."""

StoredExperiment = Annotated[
    Experiment,
    stored_as(_WrittenExperiment, _experiment_json, lambda written: Experiment.of(dict(written.terms))),
]
"""Stored as text and as [scheme, multiplicity]."""

StoredMapping = Annotated[
    PortMapping,
    stored_as(
        _WrittenMapping, _mapping_json, lambda written: PortMapping(tuple(written.ports), written.usage)
    ),
]
"""Stored as its ports, and for every scheme its µops as [port mask, count]."""


@dataclass(frozen=True)
class Seeded(Event):
    """A scheme was measured alone, before the first search; `cycles` is None without a usable measurement."""

    kind = "seeded"
    experiment: StoredExperiment
    cycles: Amount | None
    state: str = ""


@dataclass(frozen=True)
class Ports(Event):
    """The search continues with this number of ports; `reason` is a phrase for the log."""

    kind = "ports"
    ports: Count
    reason: str

    def line(self) -> str:
        return f"  {self.ports} ports: {self.reason}"


@dataclass(frozen=True)
class Candidates(Event):
    """Two mappings that explain everything so far, and the experiment that decides between them.

    `number` counts the counter-examples from 1. Predictions are in cycles, R_max applied.
    """

    kind = "candidates"
    counted_by = "number"
    number: Count
    first: StoredMapping
    second: StoredMapping
    experiment: StoredExperiment
    first_cycles: Amount
    second_cycles: Amount

    @model_validator(mode="after")
    def _check_usage(self) -> Self:
        for scheme in self.experiment.schemes:
            if scheme not in self.first.usage or scheme not in self.second.usage:
                raise ValueError(f"both candidates have to say what {scheme[:80]!r} uses")
        return self

    def line(self) -> str:
        predicted = f"{self.first_cycles:.4g} or {self.second_cycles:.4g} cycles"
        return f"  {self.number}. {self.experiment}: {predicted}?"


Survivor = Literal["first", "second", "neither", "open"]


@dataclass(frozen=True)
class CandidatesDecided(Event):
    """Which of the last two candidates the measurement left.

    `survivor`: "open" where there was no usable measurement.
    """

    kind = "decision"
    counted_by = "number"
    number: Count
    experiment: StoredExperiment | None = field(default=None, kw_only=True)
    cycles: Amount | None
    state: str
    survivor: Survivor

    def line(self) -> str:
        measured = self.state if self.cycles is None else f"{self.cycles:.4g}"
        stays = {"neither": "neither explains it", "open": "still open"}
        return f"     {measured}: {stays.get(self.survivor, self.survivor + ' stays')}"


@dataclass(frozen=True)
class SearchProgress(Event):
    """Counts and seconds so far; `searching_share` is the part of the seconds spent in the solver, 0 to 1."""

    kind = "standing"
    experiments: Count
    counter_examples: Count
    ports: Count
    seconds: Amount
    searching_share: Amount


@dataclass(frozen=True)
class ClashingExperiment:
    """An experiment of a contradiction, in its text, with its measured cycles."""

    experiment: str
    cycles: Amount


@dataclass(frozen=True)
class ClashingScheme:
    """A scheme of a contradiction with the cycles that it takes alone."""

    scheme: str
    cycles: Amount


@dataclass(frozen=True)
class ClashEvent(Event):
    """Measurements that no mapping explains together, and the schemes dropped because of them."""

    kind = "contradiction"
    experiments: Sequence[ClashingExperiment]
    alone: Sequence[ClashingScheme]
    ports: Count
    dropped: Sequence[str]
    text: str

    @classmethod
    def of(cls, clash: Clash) -> ClashEvent:
        """The clash as an event, which reports of mappings use too."""
        experiments = [
            ClashingExperiment(str(experiment), cycles) for experiment, cycles in clash.experiments
        ]
        alone = [ClashingScheme(scheme, cycles) for scheme, cycles in clash.alone]
        return cls(experiments, alone, clash.ports, clash.dropped, clash.text)

    def line(self) -> str:
        dropped = f", left out: {'; '.join(self.dropped)}" if self.dropped else ""
        return f"  clash: {self.text}{dropped}"


@dataclass(frozen=True)
class Undecided(Event):
    """Another mapping that no admissible experiment distinguishes from the result."""

    kind = "undecided"
    number: Annotated[int, Field(ge=1, le=2**31)]
    mapping: StoredMapping
    differing: Sequence[str]
    hidden: Annotated[str, choice_validator(tuple(AmbiguityReason))]

    @classmethod
    def of(cls, number: int, alternative: Alternative) -> Undecided:
        return cls(number, alternative.mapping, alternative.differing, alternative.hidden)

    def line(self) -> str:
        return f"  another mapping that cannot be excluded, other in {'; '.join(self.differing)}"
