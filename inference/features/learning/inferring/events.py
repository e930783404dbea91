"""What the inference algorithms tell while they work."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from inference.core.cegar import Hidden
from inference.core.explain import NotCharacterised, SchemeFate
from inference.core.mapping import PortMapping
from inference.core.protocols import Json
from inference.formats.archived_parts import (
    Amount,
    ArchivedPart,
    BlockingTold,
    BottleneckTold,
    ClashTold,
    Count,
    Stage,
    Terms,
    Uop,
    check_masks,
    masks_of,
    one_of,
)
from inference.formats.journal_events import JournalEvent

# The search by counter-examples.


class ToldExperiment(ArchivedPart):
    """An experiment as text and as terms."""

    text: str
    terms: Terms


class ToldMapping(ArchivedPart):
    """A mapping, as far as it matters here."""

    ports: list[str]
    usage: dict[str, list[Uop]]

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        PortMapping(tuple(self.ports), {scheme: tuple(uops) for scheme, uops in self.usage.items()})
        return self


class SeededEvent(JournalEvent):
    """An experiment that was measured before the search began."""

    kind = "seeded"
    experiment: ToldExperiment
    cycles: Amount | None


class PortsEvent(JournalEvent):
    """How many ports the search goes on with, and why."""

    kind = "ports"
    ports: Count
    reason: str

    @staticmethod
    def line(payload: Json) -> str:
        """The number and the reason."""
        return f"  {payload['ports']} ports: {payload['reason']}"


class CandidatesEvent(JournalEvent):
    """Two mappings that fit everything measured, and the experiment that tells them apart."""

    kind = "candidates"
    counted_by = "number"
    number: Count
    first: ToldMapping
    second: ToldMapping
    experiment: ToldExperiment
    first_cycles: Amount
    second_cycles: Amount

    @model_validator(mode="after")
    def _say_something(self) -> Self:
        for scheme, _ in self.experiment.terms:
            if scheme not in self.first.usage or scheme not in self.second.usage:
                raise ValueError(f"both candidates have to say what {scheme[:80]!r} uses")
        return self

    @staticmethod
    def line(payload: Json) -> str:
        """The experiment, and what each predicts."""
        predicted = f"{payload['first_cycles']:.4g} or {payload['second_cycles']:.4g} cycles"
        return f"  {payload['number']}. {payload['experiment']['text']}: {predicted}?"


class DecisionEvent(JournalEvent):
    """What that experiment measured, and which of the two stays."""

    kind = "decision"
    counted_by = "number"
    number: Count
    cycles: Amount | None
    state: str
    survivor: Literal["first", "second", "neither", "open"]

    @staticmethod
    def line(payload: Json) -> str:
        """What was measured, and what stays."""
        measured = payload["state"] if payload["cycles"] is None else f"{payload['cycles']:.4g}"
        stays = {"neither": "neither explains it", "open": "still open"}
        return f"     {measured}: {stays.get(payload['survivor'], payload['survivor'] + ' stays')}"


class StandingEvent(JournalEvent):
    """Where the search stands."""

    kind = "standing"
    experiments: Count
    counter_examples: Count
    ports: Count
    seconds: Amount
    searching_share: Amount


class ContradictionEvent(JournalEvent, ClashTold):
    """Measurements that no mapping explains."""

    kind = "contradiction"

    @staticmethod
    def line(payload: Json) -> str:
        """What contradicts, and what was left out for it."""
        dropped = f", left out: {'; '.join(payload['dropped'])}" if payload["dropped"] else ""
        return f"  clash: {payload['text']}{dropped}"


class UndecidedEvent(JournalEvent):
    """Another mapping that no allowed experiment distinguishes from the result."""

    kind = "undecided"
    number: int = Field(ge=1, le=2**31)
    mapping: ToldMapping
    differing: list[str]
    hidden: Annotated[str, one_of(tuple(Hidden))]

    @staticmethod
    def line(payload: Json) -> str:
        """The schemes that it says something else of."""
        return f"  another mapping that cannot be excluded, other in {'; '.join(payload['differing'])}"


# The explainable algorithm.


class FunnelEvent(JournalEvent):
    """How many schemes are left after a stage."""

    kind = "funnel"
    counted_by = "number"
    stage: Stage
    left: Count


class ExcludedEvent(JournalEvent):
    """Schemes that a stage leaves out, each with its reason."""

    kind = "excluded"
    counted_by = "number"
    stage: Stage
    schemes: list[
        Annotated[
            tuple[str, Annotated[str, one_of([reason for reason in NotCharacterised if reason])], str],
            Field(strict=False),
        ]
    ]


class BottleneckEvent(JournalEvent, BottleneckTold):
    """How many instructions per cycle pass beside the ports."""

    kind = "bottleneck"


class BlockingEvent(JournalEvent):
    """The classes of blocking instructions, and their ports once these are known."""

    kind = "blocking"
    counted_by = "number"
    classes: list[BlockingTold]
    ports: list[str]

    @model_validator(mode="after")
    def _has_ports(self) -> Self:
        if self.ports:
            check_masks((mask for each in self.classes for mask in masks_of(each)), len(self.ports))
        return self


class VerdictsEvent(JournalEvent):
    """What one of the runs of the last stage says of schemes."""

    kind = "verdicts"
    counted_by = "number"
    run: Count
    schemes: list[
        Annotated[
            tuple[str, Annotated[str, one_of([*SchemeFate, *filter(None, NotCharacterised)])], str],
            Field(strict=False),
        ]
    ]


# PMEvo.


class GenerationEvent(JournalEvent):
    """A generation of the evolution: a point of its curve."""

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

    @staticmethod
    def line(payload: Json) -> str:
        """The best error or loss."""
        minimised = payload.get("minimised", "error")
        return f"  generation {payload['generation']}: {minimised} {payload['best_error']:.4f}"


class CloudEvent(JournalEvent):
    """Errors and volumes of a population."""

    kind = "cloud"
    counted_by = "generation"
    generation: Count
    population: Count
    errors: list[Amount]
    volumes: list[Count]

    @model_validator(mode="after")
    def _has_both(self) -> Self:
        if len(self.errors) != len(self.volumes):
            raise ValueError("a population has an error and a volume for each mapping")
        return self


class SweepEvent(JournalEvent):
    """One pass of the re-fit over all schemes, of one of several starts."""

    kind = "sweep"
    counted_by = "sweep"
    side_by_side = "start"
    start: Count
    sweep: Count
    changed: Count
    error: Amount
    volume: Count
    kinds: Count

    @staticmethod
    def line(payload: Json) -> str:
        """What has changed, and how good it is now."""
        error = f"error {payload['error']:.4f}, {payload['kinds']} distinct µops"
        which = f"start {payload['start'] + 1}, sweep {payload['sweep']}"
        return f"  {which}: {payload['changed']} schemes changed, {error}"


class FrontPointTold(ArchivedPart):
    """A mapping of the front."""

    error: Amount
    volume: Count
    kinds: Count


class FrontEvent(JournalEvent):
    """The mappings that are best for their volume."""

    kind = "front"
    replaced = True
    points: list[FrontPointTold]

    @staticmethod
    def line(payload: Json) -> str:
        """How many there are."""
        return f"  {len(payload['points'])} mappings on the front"


class CongruenceEvent(JournalEvent):
    """The classes of schemes that behave the same."""

    kind = "congruence"
    once = True
    schemes: Count
    classes: Count
    members: list[list[str]] = []
    likeness: dict[str, Annotated[tuple[Count, Count, Amount], Field(strict=False)]] = {}

    @staticmethod
    def line(payload: Json) -> str:
        """How many there are."""
        return f"  {payload['schemes']} schemes in {payload['classes']} classes"
