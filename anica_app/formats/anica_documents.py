"""Reads the JSON documents of the published AnICA: configuration, discoveries, traces, report, metrics.

A campaign's directory has

    campaign_config.json  report.json  discoveries/L.json  witnesses/L.json  [metrics.json]  measurements.db

with a label L such as b018_i000_g001 (batch, interesting block, generalisation), that of a generalisation of
one block

    discovery.json  witness.json  infos.json  [start_bb.s  minimized_bb.s]  measurements.db

Everything here raises `ExchangeError` with the file and the place in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from pathlib import PurePosixPath
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from anica_app.formats.value_documents import read_json
from inference.core.protocols import Json
from inference.formats.archived_parts import read_shape
from inference.formats.file_trees import FileTree

CONFIG, REPORT, METRICS, DATABASE = (
    "campaign_config.json",
    "report.json",
    "metrics.json",
    "measurements.db",
)
DISCOVERY, WITNESS, INFOS = "discovery.json", "witness.json", "infos.json"
DISCOVERIES, WITNESSES = "discoveries/", "witnesses/"
START_BLOCK, MINIMISED_BLOCK = "start_bb.s", "minimized_bb.s"
SINGLE_LABEL = "generalization"
"""Label of the discovery in a generalisation's directory, which has one."""

LABEL_LENGTH = 100  # characters
REASON_LENGTH = 200  # characters
MAX_SECONDS = 1e9
"""Seconds above which a duration is treated as invalid."""

_DOC = ".doc"


def _check_abstract(block: Json) -> Json:
    match block:
        case {"abs_insns": [_, *_] as instructions, "abs_aliasing": {"aliasing_dict": list(), **_rest}}:
            if all(isinstance(instruction, dict) for instruction in instructions):
                return block
    raise ValueError('an abstract block {"abs_insns": [objects], "abs_aliasing": {…}} is expected')


def _check_expansion(expansion: Any) -> Any:
    match expansion:
        case None | [0, int(), [str(), _]] | [1, [_, _]]:
            return expansion
    raise ValueError("[0, instruction, [feature, value]] or [1, pair] is expected")


def _remark(remark: Any) -> str:
    """A remark as text; a list is a text with {} and the parts that fill them."""
    if isinstance(remark, list) and remark and isinstance(remark[0], str):
        text = remark[0]
        for part in remark[1:]:
            text = text.replace("{}", str(part), 1)
        return text
    return str(remark)


def _label(label: Any) -> str:
    return str(label)[:LABEL_LENGTH]


def _check_mean(mean: Any) -> Any:
    """Refuse NaN and integers beyond the range of a float; a mean may be infinite."""
    if (isinstance(mean, int) and mean.bit_length() >= 1000) or (isinstance(mean, float) and isnan(mean)):
        raise ValueError("a number is expected")
    return mean


def duration(value: Any) -> float:
    """A duration in seconds, 0 for an invalid value."""
    fits = isinstance(value, (int, float)) and 0 <= value < MAX_SECONDS
    return float(value) if fits else 0.0


def _count(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value < 1 << 31 else 0


def without_docs(value: Any) -> Any:
    """A configuration without its `.doc` entries."""
    if isinstance(value, dict):
        return {key: without_docs(part) for key, part in value.items() if not key.endswith(_DOC)}
    return [without_docs(part) for part in value] if isinstance(value, list) else value


_Series = Annotated[int, Field(ge=0, lt=1 << 31, description="The number of a series.")]
_Abstract = Annotated[Json, AfterValidator(_check_abstract)]
_Entries = BeforeValidator(lambda value: value or [])
"""Reads null as []."""

_Objects = BeforeValidator(
    lambda value: [part for part in value if isinstance(part, dict)] if isinstance(value, list) else value
)


class PublishedPart(BaseModel):
    """Part of a document. Types are exact; keys that are not declared are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class PublishedDiscovery(PublishedPart):
    """A discovery.

    Attributes:
        abstract: The abstract block as written.
        result_ref: Series of the blocks that it is based on.
    """

    abstract: _Abstract = Field(alias="ab")
    result_ref: _Series | None = None
    remarks: Annotated[list[Annotated[str, BeforeValidator(_remark)]], _Entries] = []
    config: Annotated[
        Json, BeforeValidator(lambda config: without_docs(config) if isinstance(config, dict) else {})
    ] = {}

    @property
    def length(self) -> int:
        return len(self.abstract["abs_insns"])


class PublishedStep(PublishedPart):
    """A decision.

    Attributes:
        expansion: Expansion as written, None for the end.
        series: Series of the blocks it is based on.
    """

    expansion: Annotated[list[Any] | None, AfterValidator(_check_expansion)] = None
    taken: bool
    comment: Annotated[
        str, BeforeValidator(lambda text: "" if text is None else " ".join(str(text).split())[:REASON_LENGTH])
    ] = ""
    series: _Series | None = Field(None, alias="measurements")


class PublishedTrace(PublishedPart):
    start: _Abstract
    steps: list[PublishedStep] = Field(alias="trace")

    @model_validator(mode="after")
    def _check_instructions(self) -> Self:
        length = len(self.start["abs_insns"])
        for number, step in enumerate(self.steps):
            match step.expansion:
                case [0, int(instruction), _] if not 0 <= instruction < length:
                    raise ValueError(
                        f"trace[{number}].expansion: there is no instruction {instruction}, only {length}"
                    )
        return self


class _Witness(PublishedPart):
    trace: PublishedTrace


class Rating(PublishedPart):
    """The entry of a discovery in metrics.json. `mean` may be infinite."""

    mean: Annotated[float | None, BeforeValidator(_check_mean)] = Field(None, alias="mean_interestingness")
    subsumed_by: Annotated[
        str | None, BeforeValidator(lambda label: label if isinstance(label, str) else None)
    ] = None


class ReportedGeneralisation(PublishedPart):
    """A generalisation in the report; the only trace of those that found nothing new.

    `absorbs`: labels of those that it subsumes.
    """

    label: Annotated[str, BeforeValidator(_label)] = Field("", alias="id")
    repeats: Annotated[bool, BeforeValidator(lambda value: value is True)] = Field(
        False, alias="already_found"
    )
    seconds: Annotated[float, BeforeValidator(duration)] = Field(0.0, alias="generalization_time")
    steps: Annotated[int, BeforeValidator(_count)] = Field(0, alias="witness_len")
    absorbs: Annotated[list[Annotated[str, BeforeValidator(_label)]], _Entries] = Field([], alias="subsumes")


class _ReportedSample(PublishedPart):
    generalisations: Annotated[list[ReportedGeneralisation], _Objects, _Entries] = Field(
        [], alias="per_generalization_stats"
    )


class _ReportedBatch(PublishedPart):
    samples: Annotated[list[_ReportedSample], _Objects, _Entries] = Field(
        [], alias="per_interesting_sample_stats"
    )


class _Report(PublishedPart):
    batches: Annotated[list[_ReportedBatch], _Objects, _Entries] = Field([], alias="per_batch_stats")


@dataclass(frozen=True)
class PublishedReport:
    """Figures of a campaign.

    Attributes:
        batches: Batches as written.
        generalisations: Generalisations by label.
    """

    facts: Json = field(default_factory=dict)
    batches: Sequence[Json] = ()
    generalisations: Mapping[str, ReportedGeneralisation] = field(default_factory=dict)

    @property
    def absorbed(self) -> Mapping[str, str]:
        """{label: that of the generalisation by which it is subsumed}."""
        reported = self.generalisations.values()
        return {label: absorber.label for absorber in reported for label in absorber.absorbs}

    def total(self, key: str) -> int:
        return sum(_count(batch.get(key, 0)) for batch in self.batches)


@dataclass(frozen=True)
class Published:
    """The documents of a directory.

    Attributes:
        discoveries, traces, ratings: By label.
    """

    is_campaign: bool
    predictors: tuple[str, ...]
    config: Json
    discoveries: Mapping[str, PublishedDiscovery]
    traces: Mapping[str, PublishedTrace]
    report: PublishedReport = field(default_factory=PublishedReport)
    ratings: Mapping[str, Rating] = field(default_factory=dict)


def is_published(names: Sequence[str]) -> bool:
    """Whether these are the files of a campaign's or a generalisation's directory."""
    return CONFIG in names or {DISCOVERY, WITNESS} <= set(names)


def read_published(tree: FileTree) -> Published:
    """Read the documents of a campaign's or a generalisation's directory. Raises `ExchangeError`."""
    names = tree.names()
    if CONFIG not in names:
        return _read_generalisation(tree)
    config: Json = _read(tree, CONFIG, Json)
    return Published(
        is_campaign=True,
        predictors=predictors_in(config, CONFIG),
        config=without_docs(config),
        discoveries={
            _label_of(name): _read(tree, name, PublishedDiscovery)
            for name in names
            if _is_in(name, DISCOVERIES)
        },
        traces={
            _label_of(name): _read(tree, name, _Witness).trace for name in names if _is_in(name, WITNESSES)
        },
        report=_report(_read(tree, REPORT, Json)) if REPORT in names else PublishedReport(),
        ratings=_read(tree, METRICS, dict[str, Rating], finite=False) if METRICS in names else {},
    )


def _read_generalisation(tree: FileTree) -> Published:
    discovery = _read(tree, DISCOVERY, PublishedDiscovery)
    infos: Json = _read(tree, INFOS, Json) if INFOS in tree.names() else {}
    return Published(
        is_campaign=False,
        predictors=predictors_in(infos, INFOS) if infos else (),
        config={**infos, "abstraction_config": discovery.config},
        discoveries={SINGLE_LABEL: discovery},
        traces={SINGLE_LABEL: _read(tree, WITNESS, _Witness).trace},
    )


def _read(tree: FileTree, name: str, shape: Any, *, finite: bool = True) -> Any:
    """Read and validate a document. `finite`: refuse infinite numbers."""
    return read_shape(shape, read_json(tree, name, finite=finite), name)


class _Predictors(PublishedPart):
    predictors: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=LABEL_LENGTH, pattern=r"\S")]],
        Field(min_length=1),
    ]

    @model_validator(mode="after")
    def _check_unique(self) -> Self:
        if len(set(self.predictors)) < len(self.predictors):
            raise ValueError("predictors: the names of the tools are expected, each once")
        return self


def predictors_in(config: Json, name: str) -> tuple[str, ...]:
    return tuple(read_shape(_Predictors, config, name).predictors)


def _report(data: Json) -> PublishedReport:
    report: _Report = read_shape(_Report, data, REPORT)
    facts = {key: value for key, value in data.items() if key != "per_batch_stats"}
    generalisations = {
        generalisation.label: generalisation
        for batch in report.batches
        for sample in batch.samples
        for generalisation in sample.generalisations
    }
    batches = [batch for batch in data.get("per_batch_stats") or [] if isinstance(batch, dict)]
    return PublishedReport(facts, batches, generalisations)


def _is_in(name: str, directory: str) -> bool:
    return name.startswith(directory) and name.endswith(".json") and name.count("/") == 1


def _label_of(name: str) -> str:
    return _label(PurePosixPath(name).stem)
