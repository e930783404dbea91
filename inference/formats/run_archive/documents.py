"""The documents inside the zip of a run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from inference.core.cegar.events import Terms
from inference.core.events import Amount, Uop
from inference.core.explain import NotCharacterised, SchemeFate, Seen
from inference.formats.archived_parts import ArchivedPart, DrawnTold

FORMAT = "pmweb-run"
VERSION = 1
RUN, EVENTS = "run.json", "events.jsonl"

Name = Annotated[str, Field(min_length=1, max_length=200)]
Id = Annotated[int, Field(ge=0, le=2**63 - 1)]
Json = dict[str, Any]


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class MachineTold(_Document):
    """A machine that the run or its rows refer to; elsewhere it can only be told of."""

    name: Name
    cpu: str = Field("", max_length=200)
    isa: Name
    facts: Json = {}


class _RowTold(_Document):
    """A row with a name. `own`: the run has made it."""

    id: Id
    name: Name
    note: str = ""
    isa: Name
    machine: Id | None = None
    own: bool = False
    source: str = Field("", max_length=300)


class SetTold(_RowTold):
    """An experiment set. `own`: measured by the run. Its `ArchivedMeasurement`s are in `sets/ID.jsonl`."""

    identity: Json = {}


class ArchivedMeasurement(_Document):
    """A measurement; `terms` by scheme text, `cycles` per execution."""

    terms: dict[str, int]
    cycles: float | None = None
    state: Literal["settled", "unsettled", "contended", "failed"] = "settled"
    spread: float | None = None
    passes: int = Field(1, ge=0, le=2**31 - 1)
    note: str = ""
    annotations: dict[str, float] = {}
    counters: dict[str, float] = {}


class Scored(_Document):
    """An evaluation, on a set of the zip or (null) on what the run held out."""

    experiment_set: Id | None = None
    unit: Literal["cycles", "cpi", "ipc"]
    n: int = Field(ge=0, le=2**31 - 1)
    skipped: int = Field(0, ge=0, le=2**31 - 1)
    mape: float | None = None
    pearson: float | None = None
    kendall: float | None = None
    heat_map: DrawnTold


class EvidenceTold(_Document):
    """A witness of explainable inference."""

    blocker: str
    mask: int = Field(ge=1, le=2**62)
    copies: int = Field(ge=1, le=2**31 - 1)
    base_cycles: float | None = None
    cycles: float | None = None
    samples: int = Field(ge=0, le=2**31 - 1)
    surplus: float | None = None
    below: int = Field(0, ge=0, le=2**31 - 1)
    uops: int = Field(0, ge=-(2**31), le=2**31 - 1)
    tolerance: float = 0.0
    seen: Seen
    run: int = Field(1, ge=0, le=2**31 - 1)


class FactTold(ArchivedPart):
    """An experiment that a verdict rests on."""

    terms: Terms
    expected: Amount | None
    observed: Amount | None


class VerdictTold(_Document):
    """What explainable inference concluded of a scheme, as `inference.models.Characterisation` has it."""

    scheme: str
    outcome: SchemeFate
    stage: str = Field(max_length=16)
    reason: NotCharacterised = NotCharacterised.NONE
    text: str = ""
    cycles: float | None = None
    counted: float | None = None
    facts: list[FactTold] = []
    doubts: list[str] = []
    alternatives: list[list[Uop]] = []
    runs: list[str] = []
    witnesses: list[EvidenceTold] = []

    @model_validator(mode="after")
    def _gives_reasons(self) -> Self:
        if self.outcome is not SchemeFate.CHARACTERISED and self.reason is NotCharacterised.NONE:
            raise ValueError(f"why {self.scheme[:80]!r} is {self.outcome} is not told")
        return self

    def masks(self) -> Iterator[int]:
        """Every port set that it names."""
        yield from (mask for uops in self.alternatives for mask, _ in uops)
        yield from (witness.mask for witness in self.witnesses)


class PointTold(_Document):
    """A point of the front of a search; `mapping` in our own JSON, `own`: it is the run's mapping itself."""

    place: int = Field(ge=0, le=32_767)
    error: float = Field(ge=0)
    volume: int = Field(ge=0, le=2**31 - 1)
    kinds: int = Field(ge=0, le=2**31 - 1)
    mape: float | None = None
    own: bool = False
    mapping: Json
    judged: Scored | None = None


class MappingTold(_RowTold):
    """A port or resource mapping, in our own JSON in `file`. `own`: what the run has found."""

    report: Json = {}
    evaluations: list[Scored] = []
    verdicts: list[VerdictTold] = []
    front: list[PointTold] = []

    @model_validator(mode="after")
    def _tells_everything_once(self) -> Self:
        told: tuple[tuple[str, list[Any]], ...] = (
            ("points of the front in one place", [point.place for point in self.front]),
            ("verdicts on one scheme", [verdict.scheme for verdict in self.verdicts]),
            ("evaluations by one set", [(each.experiment_set, each.unit) for each in self.evaluations]),
        )
        for what, keys in told:
            if len(set(keys)) < len(keys):
                raise ValueError(f"{self.name[:80]!r} has two {what}")
        return self

    def masks(self) -> Iterator[int]:
        """Every port set that its verdicts name."""
        for verdict in self.verdicts:
            yield from verdict.masks()

    def scored(self) -> list[Scored]:
        """Its evaluations, and those of its front."""
        return [*self.evaluations, *(point.judged for point in self.front if point.judged)]


class _Score(ArchivedPart):
    mape: Amount | None = None


class ResultTold(ArchivedPart):
    """The parts of a result that every list of runs shows; a result has more."""

    mapping: Id | None = None
    resource_mapping: Id | None = None
    experiment_set: Id | None = None
    imported_run: Id | None = None
    held_out: _Score | None = None
    characterised: Id = 0
    asked: Id = 0
    within: Id = 0
    compared: Id = 0


class RunTold(_Document):
    """The run itself; its state is final."""

    name: Name
    note: str = ""
    kind: str = Field(min_length=1, max_length=20)
    state: Literal["done", "failed", "cancelled"]
    config: Json
    seed: int | None = None
    result: Json = {}
    error: str = ""
    created: datetime
    started: datetime | None = None
    finished: datetime | None = None
    busy_seconds: float = Field(0.0, ge=0)


class RunManifest(_Document):
    """`run.json`.

    Numbers of rows are those of the site that wrote it; `schemes` tells which its numbers mean.
    """

    format: Literal["pmweb-run"]
    version: Literal[1]
    made_by: str
    cite: list[str] = []
    run: RunTold
    versions: dict[str, str] = {}
    exported_with: dict[str, str] = {}
    schemes: dict[Id, str] = {}
    machines: dict[Id, MachineTold] = {}
    sets: list[SetTold] = []
    mappings: list[MappingTold] = []
    resource_mappings: list[MappingTold] = []

    @model_validator(mode="after")
    def _describes_what_it_names(self) -> Self:
        mappings = [*self.mappings, *self.resource_mappings]
        scored = [scored for mapping in mappings for scored in mapping.scored()]
        for what, numbers, known in (
            ("machine", [row.machine for row in (*self.sets, *mappings)], set(self.machines)),
            (
                "experiment set",
                [evaluation.experiment_set for evaluation in scored],
                {row.id for row in self.sets},
            ),
        ):
            if unknown := set(numbers) - known - {None}:
                raise ValueError(f"{what} {unknown.pop()} is named, but not in the zip of the run")
        return self


class EventTold(_Document):
    """A line of `events.jsonl`; see `payloads` for what it tells."""

    seq: int = Field(ge=1, le=2**63 - 1)
    kind: str = Field(min_length=1, max_length=40)
    payload: Json
    at: datetime


def set_file(number: int) -> str:
    """Where the rows of a set are."""
    return f"sets/{number}.jsonl"


def mapping_file(number: int) -> str:
    """Where a port mapping is."""
    return f"mappings/{number}.json"


def resource_mapping_file(number: int) -> str:
    """Where a resource mapping is."""
    return f"resource-mappings/{number}.json"
