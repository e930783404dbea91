"""The archive of a run (zip): its documents, writing them, and renumbering the rows that they name.

Rows have other ids on another site. Ids in a run's description and result are renumbered on import: rows of
the archive get their new ids, others become `DELETED`, which no row has and pages show as deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from inference.core.cegar.events import Terms
from inference.core.events import Amount, Uop
from inference.core.experiment import Measured
from inference.core.explain import NotCharacterised, SchemeFate, WitnessOutcome
from inference.core.protocols import Json
from inference.formats.archived_parts import ArchivedPart, HeatMapPart, clean_texts
from inference.formats.quoting import json_text

FORMAT = "pmweb-run"
VERSION = 1  # of the format
RUN, EVENTS = "run.json", "events.jsonl"

Name = Annotated[str, Field(min_length=1, max_length=200)]
Id = Annotated[int, Field(ge=0, le=2**63 - 1)]


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class ArchivedMachine(_Document):
    """A machine that the run or its rows refer to; on another site it cannot measure."""

    name: Name
    cpu: str = Field("", max_length=200)
    isa: Name
    facts: Json = {}


class _ArchivedRow(_Document):
    """A named row. `own`: made by the run."""

    id: Id
    name: Name
    note: str = ""
    isa: Name
    machine: Id | None = None
    own: bool = False
    source: str = Field("", max_length=300)


class ArchivedSet(_ArchivedRow):
    """An experiment set; its `ArchivedMeasurement`s are in `sets/ID.jsonl`."""

    identity: Json = {}


class ArchivedMeasurement(_Document):
    """A measurement.

    Attributes:
        terms: {scheme: count}.
        cycles: Per execution.
    """

    terms: dict[str, int]
    cycles: float | None = None
    state: Literal["settled", "unsettled", "contended", "failed"] = "settled"
    spread: float | None = None
    passes: int = Field(1, ge=0, le=2**31 - 1)
    note: str = ""
    annotations: dict[str, float] = {}
    counters: dict[str, float] = {}


class ArchivedEvaluation(_Document):
    """An evaluation, on a set of the archive or (null) on the run's held-out experiments."""

    experiment_set: Id | None = None
    unit: Literal["cycles", "cpi", "ipc"]
    n: int = Field(ge=0, le=2**31 - 1)
    skipped: int = Field(0, ge=0, le=2**31 - 1)
    mape: float | None = None
    pearson: float | None = None
    kendall: float | None = None
    heat_map: HeatMapPart


class ArchivedWitness(_Document):
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
    seen: WitnessOutcome
    run: int = Field(1, ge=0, le=2**31 - 1)


class ArchivedFact(ArchivedPart):
    """An experiment that a verdict rests on."""

    terms: Terms
    expected: Amount | None
    observed: Amount | None


class ArchivedVerdict(_Document):
    """The verdict of explainable inference on a scheme; fields as in `inference.models.Characterisation`."""

    scheme: str
    outcome: SchemeFate
    stage: str = Field(max_length=16)
    reason: NotCharacterised = NotCharacterised.NONE
    text: str = ""
    cycles: float | None = None
    counted: float | None = None
    facts: list[ArchivedFact] = []
    doubts: list[str] = []
    alternatives: list[list[Uop]] = []
    runs: list[str] = []
    witnesses: list[ArchivedWitness] = []

    @model_validator(mode="after")
    def _check_reason(self) -> Self:
        if self.outcome is not SchemeFate.CHARACTERISED and self.reason is NotCharacterised.NONE:
            raise ValueError(f"{self.scheme[:80]!r} is {self.outcome}, and the reason is missing")
        return self

    def masks(self) -> Iterator[int]:
        """Every port set that it names, as a mask."""
        yield from (mask for uops in self.alternatives for mask, _ in uops)
        yield from (witness.mask for witness in self.witnesses)


class ArchivedFrontPoint(_Document):
    """A point of a front.

    Attributes:
        mapping: In our own JSON.
        own: Whether it is the run's mapping itself.
    """

    place: int = Field(ge=0, le=32_767)
    error: float = Field(ge=0)
    volume: int = Field(ge=0, le=2**31 - 1)
    kinds: int = Field(ge=0, le=2**31 - 1)
    mape: float | None = None
    own: bool = False
    mapping: Json
    judged: ArchivedEvaluation | None = None


class ArchivedMapping(_ArchivedRow):
    """A port or resource mapping; its value is in `mapping_file`. `own`: the run's result."""

    report: Json = {}
    evaluations: list[ArchivedEvaluation] = []
    verdicts: list[ArchivedVerdict] = []
    front: list[ArchivedFrontPoint] = []

    @model_validator(mode="after")
    def _check_unique(self) -> Self:
        keys_by_label: tuple[tuple[str, list[Any]], ...] = (
            ("points of the front in one place", [point.place for point in self.front]),
            ("verdicts on one scheme", [verdict.scheme for verdict in self.verdicts]),
            ("evaluations by one set", [(row.experiment_set, row.unit) for row in self.evaluations]),
        )
        for label, keys in keys_by_label:
            if len(set(keys)) < len(keys):
                raise ValueError(f"{self.name[:80]!r} has two {label}")
        return self

    def masks(self) -> Iterator[int]:
        """Every port set that its verdicts name, as masks."""
        for verdict in self.verdicts:
            yield from verdict.masks()

    def all_evaluations(self) -> list[ArchivedEvaluation]:
        """Evaluations of the mapping and of its front."""
        return [*self.evaluations, *(point.judged for point in self.front if point.judged)]


class _Score(ArchivedPart):
    mape: Amount | None = None


class ArchivedResult(ArchivedPart):
    """The parts of a result that lists of runs show; further keys are kept."""

    mapping: Id | None = None
    resource_mapping: Id | None = None
    experiment_set: Id | None = None
    imported_run: Id | None = None
    held_out: _Score | None = None
    characterised: Id = 0
    asked: Id = 0
    within: Id = 0
    compared: Id = 0


class ArchivedRun(_Document):
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
    """`run.json`. Ids are those of the site that wrote it; `schemes`: {id: scheme} of those it names."""

    format: Literal["pmweb-run"]
    version: Literal[1]
    made_by: str
    cite: list[str] = []
    run: ArchivedRun
    versions: dict[str, str] = {}
    exported_with: dict[str, str] = {}
    schemes: dict[Id, str] = {}
    machines: dict[Id, ArchivedMachine] = {}
    sets: list[ArchivedSet] = []
    mappings: list[ArchivedMapping] = []
    resource_mappings: list[ArchivedMapping] = []

    @model_validator(mode="after")
    def _check_references(self) -> Self:
        mappings = [*self.mappings, *self.resource_mappings]
        evaluations = [evaluations for mapping in mappings for evaluations in mapping.all_evaluations()]
        for label, numbers, places in (
            ("machine", [row.machine for row in (*self.sets, *mappings)], set(self.machines)),
            (
                "experiment set",
                [evaluation.experiment_set for evaluation in evaluations],
                {row.id for row in self.sets},
            ),
        ):
            if unknown := set(numbers) - places - {None}:
                raise ValueError(f"{label} {unknown.pop()} is named, but not in the zip of the run")
        return self


class ArchivedEvent(_Document):
    """A line of `events.jsonl`; see `journal_events` for its payload."""

    seq: int = Field(ge=1, le=2**63 - 1)
    kind: str = Field(min_length=1, max_length=40)
    payload: Json
    at: datetime


def set_file(number: int) -> str:
    return f"sets/{number}.jsonl"


def mapping_file(number: int) -> str:
    return f"mappings/{number}.json"


def resource_mapping_file(number: int) -> str:
    return f"resource-mappings/{number}.json"


DELETED = 0  # in place of an id

_KINDS = {
    **dict.fromkeys(("experiment_set", "evaluate", "other_sets", "datasets"), "sets"),
    **dict.fromkeys(("mapping", "mappings", "reference", "simulate"), "mappings"),
    **dict.fromkeys(("resource_mapping", "resource_mappings"), "resource_mappings"),
    "machine": "machines",
    "schemes": "schemes",
}
"""{key of a description or result: kind of rows whose ids it holds}."""

_SITE_FIELDS = ("evaluation", "url", "place")
"""Keys of results that mean something on the original site only."""

Renumber = Callable[[str, int], int]
"""(kind of rows, old id) → new id."""


@dataclass
class Numbers:
    """{old id: new id} for each kind of rows."""

    sets: dict[int, int] = field(default_factory=dict)
    mappings: dict[int, int] = field(default_factory=dict)
    resource_mappings: dict[int, int] = field(default_factory=dict)
    machines: dict[int, int] = field(default_factory=dict)
    schemes: dict[int, int] = field(default_factory=dict)


def named_in(config: Json) -> Numbers:
    """All rows that a description names, each mapped to itself."""
    named = Numbers()

    def note(kind: str, number: int) -> int:
        getattr(named, kind)[number] = number
        return number

    _renumber_fields(config, note)
    return named


def renumbered(config: Json, numbers: Numbers) -> Json:
    """The description with this site's ids; `DELETED` for rows without one."""
    return _renumber_fields(config, lambda kind, number: getattr(numbers, kind).get(number, DELETED))


def renumbered_result(result: Json, numbers: Numbers) -> Json:
    """The result with this site's ids, without keys that only the original site understands."""
    return renumbered({key: value for key, value in result.items() if key not in _SITE_FIELDS}, numbers)


def _renumber_fields(described: Json, renumber: Renumber) -> Json:
    return {key: _renumber_value(key, value, renumber) for key, value in described.items()}


def _renumber_value(key: str, value: Any, renumber: Renumber) -> Any:
    if key == "source" and isinstance(value, dict):
        return _renumber_fields(value, renumber)
    kind = _KINDS.get(key)
    if kind is None:
        return value
    if isinstance(value, list):
        numbers = [renumber(kind, number) for number in value if type(number) is int]
        return [number for number in numbers if number != DELETED] or numbers[:1]
    # Results count their schemes under the name by which descriptions list them.
    return renumber(kind, value) if type(value) is int and kind != "schemes" else value


def write_document(document: BaseModel) -> bytes:
    return json_text(clean_texts(document.model_dump(mode="json")), indent=1).encode() + b"\n"


def write_line(content: Json) -> bytes:
    """A JSON value as a line of a `.jsonl` file."""
    return json_text(clean_texts(content)).encode() + b"\n"


def write_measurement(value: Measured) -> bytes:
    """A measurement as a line of a `.jsonl` file, without default values."""
    row = ArchivedMeasurement(
        terms=dict(value.experiment.terms),
        cycles=value.cycles,
        state=value.state.value,
        spread=value.spread,
        passes=value.passes,
        note=value.note,
        annotations=dict(value.annotations),
        counters=dict(value.counters),
    )
    return write_line(row.model_dump(exclude_defaults=True))
