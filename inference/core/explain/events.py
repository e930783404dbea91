"""The events of explainable inference: the funnel, the blocking instructions, the verdicts.

`number` counts all events of a search, by which the repeated ones of a resumed search are recognised.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Self

from pydantic import model_validator

from inference.core.events import Count, Event, Mask, RMax, Uop, choice_validator, stored_as
from inference.core.explain.problem import (
    STAGES,
    BlockingClass,
    Characterisation,
    NotCharacterised,
    SchemeFate,
)
from inference.core.protocols import Json

Stage = Annotated[str, choice_validator(tuple(STAGES))]
Reason = Annotated[str, choice_validator([reason for reason in NotCharacterised if reason])]
Verdict = Annotated[str, choice_validator([*SchemeFate, *filter(None, NotCharacterised)])]


@dataclass(frozen=True)
class _WrittenClass:
    blocker: str
    width: Count
    mask: Mask
    members: tuple[str, ...]
    improper: bool
    beside: tuple[Uop, ...]


def class_json(blocking: BlockingClass) -> Json:
    beside = [list(uop) for uop in blocking.beside]
    return {**asdict(blocking), "members": list(blocking.members), "beside": beside}


StoredClass = Annotated[
    BlockingClass, stored_as(_WrittenClass, class_json, lambda written: BlockingClass(**vars(written)))
]


def check_masks(masks: Iterable[int], ports: int) -> None:
    """Check that all port sets are of ports below `ports`.

    Raises:
        ValueError: A set has another port.
    """
    for mask in masks:
        if mask >> ports:
            raise ValueError(f"{mask} is no set of {ports} ports")


@dataclass(frozen=True)
class Funnel(Event):
    """Number of schemes left after a stage."""

    kind = "funnel"
    counted_by = "number"
    stage: Stage
    left: Count
    number: int = 0


@dataclass(frozen=True)
class Excluded(Event):
    """Schemes that a stage excluded: (scheme, reason, the reason as a sentence with its numbers)."""

    kind = "excluded"
    counted_by = "number"
    stage: Stage
    schemes: Sequence[tuple[str, Reason, str]]
    number: int = 0


@dataclass(frozen=True)
class BottleneckEvent(Event):
    """R_max in instructions per cycle, measured or from the settings; None where no limit was found."""

    kind = "bottleneck"
    r_max: RMax | None


@dataclass(frozen=True)
class Blocked(Event):
    """The classes of blocking instructions (Table 6.1), with their ports once these are found (Table 6.2)."""

    kind = "blocking"
    counted_by = "number"
    classes: Sequence[StoredClass]
    ports: Sequence[str]
    number: int = 0

    @model_validator(mode="after")
    def _has_ports(self) -> Self:
        if self.ports:
            check_masks((mask for blocking in self.classes for mask in blocking.masks), len(self.ports))
        return self


@dataclass(frozen=True)
class Verdicts(Event):
    """Verdicts of a run: (scheme, outcome or reason, µops or the reason as a sentence)."""

    kind = "verdicts"
    counted_by = "number"
    run: Count
    schemes: Sequence[tuple[str, Verdict, str]]
    number: int = 0


def funnel_of(characterisations: Sequence[Characterisation]) -> dict[str, int]:
    """{stage: schemes left after it}; "asked" stands for all, and the last stage leaves the characterised."""
    n_remaining = len(characterisations)
    funnel = {"asked": n_remaining}
    for stage in STAGES:
        n_remaining -= sum(
            characterisation.stage == stage and characterisation.outcome is not SchemeFate.CHARACTERISED
            for characterisation in characterisations
        )
        funnel[stage] = n_remaining
    return funnel
