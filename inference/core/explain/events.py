"""The events of explainable inference: the funnel, the blocking instructions, the verdicts.

`number` counts all events of a search, so that one taken up again is known to repeat itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Self

from pydantic import model_validator

from inference.core.events import Count, Event, Mask, RMax, Uop, one_of, stored_as
from inference.core.explain.problem import (
    STAGES,
    BlockingClass,
    Characterisation,
    NotCharacterised,
    SchemeFate,
)
from inference.core.protocols import Json

Stage = Annotated[str, one_of(tuple(STAGES))]
Reason = Annotated[str, one_of([reason for reason in NotCharacterised if reason])]
Verdict = Annotated[str, one_of([*SchemeFate, *filter(None, NotCharacterised)])]


@dataclass(frozen=True)
class _WrittenClass:
    blocker: str
    width: Count
    mask: Mask
    members: tuple[str, ...]
    improper: bool
    beside: tuple[Uop, ...]


def class_json(blocking: BlockingClass) -> Json:
    """A blocking class as plain JSON."""
    beside = [list(uop) for uop in blocking.beside]
    return {**asdict(blocking), "members": list(blocking.members), "beside": beside}


StoredClass = Annotated[
    BlockingClass, stored_as(_WrittenClass, class_json, lambda written: BlockingClass(**vars(written)))
]


def check_masks(masks: Iterable[int], ports: int) -> None:
    """Raise `ValueError` for a set with a port that there is not."""
    for mask in masks:
        if mask >> ports:
            raise ValueError(f"{mask} is no set of {ports} ports")


@dataclass(frozen=True)
class Funnel(Event):
    """So many schemes are left after a stage."""

    kind = "funnel"
    counted_by = "number"
    stage: Stage
    left: Count
    number: int = 0


@dataclass(frozen=True)
class Excluded(Event):
    """Schemes that a stage has left out: (scheme, reason, the reason with its numbers)."""

    kind = "excluded"
    counted_by = "number"
    stage: Stage
    schemes: Sequence[tuple[str, Reason, str]]
    number: int = 0


@dataclass(frozen=True)
class BottleneckFound(Event):
    """So many instructions per cycle pass beside the ports, measured or given; None: no limit was seen."""

    kind = "bottleneck"
    r_max: RMax | None


@dataclass(frozen=True)
class Blocked(Event):
    """The classes of blocking instructions (Table 6.1), with their ports as far as they are known (6.2)."""

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
    """Schemes that have been tested in a run: (scheme, outcome, usage by blockers or reason)."""

    kind = "verdicts"
    counted_by = "number"
    run: Count
    schemes: Sequence[tuple[str, Verdict, str]]
    number: int = 0


def funnel_of(characterisations: Sequence[Characterisation]) -> dict[str, int]:
    """How many schemes were left after each stage; after the last, those that are characterised."""
    left = len(characterisations)
    funnel = {"asked": left}
    for stage in STAGES:
        left -= sum(
            each.stage == stage and each.outcome is not SchemeFate.CHARACTERISED for each in characterisations
        )
        funnel[stage] = left
    return funnel
