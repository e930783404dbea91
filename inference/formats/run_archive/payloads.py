"""What the events of a run tell, by kind, as far as pages and reports show it; events may tell more.

An event of another kind is kept, and nobody looks into it.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from inference.core.cegar import Hidden
from inference.core.explain import NotCharacterised, SchemeFate
from inference.core.mapping import PortMapping
from inference.core.model_check import AloneVerdict
from inference.formats.run_archive.parts import (
    Amount,
    ArchivedPart,
    BlockingTold,
    BottleneckTold,
    ClashTold,
    Count,
    DrawnTold,
    ScoresTold,
    Signed,
    Stage,
    Terms,
    Uop,
    check_masks,
    masks_of,
    one_of,
)


class _Phase(ArchivedPart):
    name: str
    index: int = Field(ge=1)
    labels: list[str]
    busy: Amount | None = None


class _Log(ArchivedPart):
    level: str
    text: str


class _Waiting(ArchivedPart):
    text: str


class _State(ArchivedPart):
    state: str
    error: str = ""


class _Progress(ArchivedPart):
    phase: str = ""
    done: Count
    total: Count
    rate: Amount
    unit: str
    eta: Amount | None


class _Experiments(ArchivedPart):
    asked: Count
    settled: Count
    unsettled: Count = 0
    contended: Count = 0
    failed: Count = 0


class _HeatMap(ArchivedPart):
    figure: DrawnTold
    scores: ScoresTold
    on: str
    lengths: list[Annotated[tuple[Count, Count, Amount], Field(strict=False)]] = []
    worst: list[Annotated[tuple[str, Count, Signed, Amount], Field(strict=False)]] = []
    schemes: Count = 0


class _Block(ArchivedPart):
    index: Count
    state: str
    cycles: Amount | None = None
    spread: Amount | None = None
    passes: Count = 0
    note: str = ""
    counters: dict[str, Signed] = {}


class _ExperimentTold(ArchivedPart):
    text: str
    terms: Terms


class _MappingTold(ArchivedPart):
    ports: list[str]
    usage: dict[str, list[Uop]]

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        PortMapping(tuple(self.ports), {scheme: tuple(uops) for scheme, uops in self.usage.items()})
        return self


class _Seeded(ArchivedPart):
    experiment: _ExperimentTold
    cycles: Amount | None


class _Ports(ArchivedPart):
    ports: Count
    reason: str


class _Candidates(ArchivedPart):
    number: Count
    first: _MappingTold
    second: _MappingTold
    experiment: _ExperimentTold
    first_cycles: Amount
    second_cycles: Amount

    @model_validator(mode="after")
    def _say_something(self) -> Self:
        for scheme, _ in self.experiment.terms:
            if scheme not in self.first.usage or scheme not in self.second.usage:
                raise ValueError(f"both candidates have to say what {scheme[:80]!r} uses")
        return self


class _Decision(ArchivedPart):
    number: Count
    cycles: Amount | None
    state: str
    survivor: Literal["first", "second", "neither", "open"]


class _Standing(ArchivedPart):
    experiments: Count
    counter_examples: Count
    ports: Count
    seconds: Amount
    searching_share: Amount


class _Undecided(ArchivedPart):
    number: int = Field(ge=1, le=2**31)
    mapping: _MappingTold
    differing: list[str]
    hidden: Annotated[str, one_of(tuple(Hidden))]


class _Funnel(ArchivedPart):
    stage: Stage
    left: Count


class _Excluded(ArchivedPart):
    stage: Stage
    schemes: list[
        Annotated[
            tuple[str, Annotated[str, one_of([reason for reason in NotCharacterised if reason])], str],
            Field(strict=False),
        ]
    ]


class _Blocking(ArchivedPart):
    classes: list[BlockingTold]
    ports: list[str]

    @model_validator(mode="after")
    def _has_ports(self) -> Self:
        if self.ports:
            check_masks((mask for each in self.classes for mask in masks_of(each)), len(self.ports))
        return self


class _Verdicts(ArchivedPart):
    run: Count
    schemes: list[
        Annotated[
            tuple[str, Annotated[str, one_of([*SchemeFate, *filter(None, NotCharacterised)])], str],
            Field(strict=False),
        ]
    ]


class _Generation(ArchivedPart):
    generation: Count
    best_error: Amount
    mean_error: Amount
    best_volume: Count
    mean_volume: Amount
    evaluations_per_second: Amount = 0.0
    minimised: Annotated[str, one_of(["error", "loss"])] = "error"


class _Cloud(ArchivedPart):
    generation: Count
    population: Count
    errors: list[Amount]
    volumes: list[Count]

    @model_validator(mode="after")
    def _has_both(self) -> Self:
        if len(self.errors) != len(self.volumes):
            raise ValueError("a population has an error and a volume for each mapping")
        return self


class _Sweep(ArchivedPart):
    start: Count
    sweep: Count
    changed: Count
    error: Amount
    volume: Count
    kinds: Count


class _PointTold(ArchivedPart):
    error: Amount
    volume: Count
    kinds: Count


class _Front(ArchivedPart):
    points: list[_PointTold]


class _Congruence(ArchivedPart):
    schemes: Count
    classes: Count
    members: list[list[str]] = []
    likeness: dict[str, Annotated[tuple[Count, Count, Amount], Field(strict=False)]] = {}


class _ModelAlone(ArchivedPart):
    rows: list[
        Annotated[
            tuple[str, Amount | None, Amount | None, Annotated[str, one_of(tuple(AloneVerdict))], str],
            Field(strict=False),
        ]
    ]

    @model_validator(mode="after")
    def _can_be_compared(self) -> Self:
        for scheme, measured, modelled, verdict, _ in self.rows:
            if verdict in (AloneVerdict.WITHIN, AloneVerdict.DISCREPANCY) and not (measured and modelled):
                raise ValueError(f"{scheme[:80]!r} has been compared without two numbers of cycles")
        return self


class _ModelMixes(ArchivedPart):
    length: Count
    asked: Count
    settled: Count
    planned: Count
    scores: ScoresTold | None
    slower: Count
    faster: Count
    heat_map: DrawnTold | None


class _ModelOrders(ArchivedPart):
    length: Count
    asked: Count
    samples: Count
    planned: Count
    mean: Amount | None
    largest: Amount | None
    notable: Count
    share: Amount | None
    worst: list[Annotated[tuple[str, Amount, Amount], Field(strict=False)]]


PAYLOADS: dict[str, type[ArchivedPart]] = {
    "phase": _Phase,
    "log": _Log,
    "waiting": _Waiting,
    "state": _State,
    "progress": _Progress,
    "experiments": _Experiments,
    "heat_map": _HeatMap,
    "block": _Block,
    "seeded": _Seeded,
    "ports": _Ports,
    "candidates": _Candidates,
    "decision": _Decision,
    "standing": _Standing,
    "contradiction": ClashTold,
    "undecided": _Undecided,
    "funnel": _Funnel,
    "excluded": _Excluded,
    "bottleneck": BottleneckTold,
    "blocking": _Blocking,
    "verdicts": _Verdicts,
    "generation": _Generation,
    "cloud": _Cloud,
    "sweep": _Sweep,
    "front": _Front,
    "congruence": _Congruence,
    "model_alone": _ModelAlone,
    "model_mixes": _ModelMixes,
    "model_orders": _ModelOrders,
}
"""{kind of an event: what its payload says at least}."""

REPLACED = ("heat_map", "progress", "experiments", "front")
"""Kinds whose payloads are taken out, leaving {}, when a newer event says the same anew."""
