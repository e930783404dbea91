"""A campaign as values, one per row of its tables; their fields are the keys of its archive, in this order.

Values refer to discoveries by number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    SerializationInfo,
    ValidationInfo,
    model_validator,
)

from anica_app.core.domain import documents
from anica_app.core.domain.features import full_vocabulary
from anica_app.core.errors import AnicaError
from anica_app.core.families.causes import DifferingBound
from anica_app.formats.campaign_facts import (
    PER_TOOL,
    ArchivedConfig,
    ArchivedIdentity,
    CampaignFacts,
    FamilyFacts,
    Mark,
    Range,
    Tool,
    check_block,
    facts_without_ids,
)
from anica_app.formats.value_documents import (
    ArchivedRow,
    CampaignContext,
    HexBytes,
    Number,
    Packed,
    Spool,
    Spooled,
    Time,
    shaped,
)
from inference.core.events import adapter, choice_validator
from inference.core.protocols import Json
from inference.formats.problems import ExchangeError
from inference.formats.sample_document import read_samples, sample_document
from inference.predictors.samples import pack, unpack

NAME_LIMIT = 200  # characters
SOURCE_LIMIT = 300  # characters
OURS: Final = "ours"
ANICA: Final = "anica"
"""Format of abstract blocks and config: this program's, or the published AnICA's."""


def _check_abstract(abstract: Any) -> Any:
    try:
        if abstract is not None:
            documents.parse_block(abstract, full_vocabulary())
    except AnicaError as error:
        raise ValueError(str(error)) from error
    return abstract


def _check_expansion(expansion: Any) -> Any:
    try:
        if isinstance(expansion, dict) and expansion.get("feature", "lock") not in full_vocabulary().names:
            raise AnicaError(f"an expansion is about one of {', '.join(full_vocabulary().names)}")
        if expansion is not None:
            documents.parse_expansion(expansion, full_vocabulary())
    except AnicaError as error:
        raise ValueError(str(error)) from error
    return expansion


def _check_config(config: Json, info: ValidationInfo) -> Json:
    if info.data.get("format") == OURS:
        adapter(ArchivedConfig).validate_python(config)
    return config


def _read_samples(document: Any, info: ValidationInfo) -> Spooled | None:
    if document is None:
        return None
    context = CampaignContext.of(info)
    try:
        samples = read_samples(document, context.tools, "samples")
    except ExchangeError as error:
        raise ValueError(str(error)) from error
    return context.spool.keep(pack(samples), len(samples))


def _write_samples(packed: Packed | None, info: SerializationInfo) -> Json | None:
    return None if packed is None else sample_document(unpack(bytes(packed)), str(info.context))


Samples = Annotated[Packed | None, PlainValidator(_read_samples), PlainSerializer(_write_samples)]
"""Sampled blocks, packed; None where only their number was stored."""


_Count = Annotated[int, Field(ge=0, lt=1 << 31)]
_Few = Annotated[int, Field(ge=0, lt=1 << 15)]
_Name = Annotated[str, Field(min_length=1, max_length=NAME_LIMIT)]
_Label = Annotated[str, Field(max_length=100)]
_Share = Annotated[float, Field(ge=0, le=1)] | None
_Abstract = Annotated[Any, AfterValidator(_check_abstract)]
_Discovery = _Count | None
"""The number of a discovery."""

Became = Literal["discovery", "subsumed", "duplicate", "concrete", "unfinished"]
Purpose = Literal["round", "minimisation", "discovery", "other"]


@dataclass(kw_only=True)
class CampaignValue(ArchivedRow):
    """See `anica_app.models.Campaign`; the other values correspond to models likewise."""

    name: _Name = ""
    note: str = ""
    created: Time = None
    kind: Literal["campaign", "generalisation", "explanation"] = "campaign"
    origin: Literal["run", "import"]
    format: Literal["ours", "anica"] = OURS
    source: Annotated[str, Field(max_length=SOURCE_LIMIT)] = ""
    config: Annotated[Json, AfterValidator(_check_config)] = field(default_factory=dict)
    rounds: _Count = 0
    sampled: _Count = 0
    interesting: _Count = 0
    subsumed: _Count = 0
    seconds: Number = 0.0
    facts: Annotated[Json, shaped(CampaignFacts), PlainSerializer(facts_without_ids)] = field(
        default_factory=dict
    )


@dataclass(kw_only=True)
class PredictorValue(ArchivedRow):
    """A tool, of which nothing is believed but its name and identity."""

    name: _Name
    note: str = ""
    kind: Annotated[str, Field(min_length=1, max_length=40)]
    options: Json = field(default_factory=dict)
    identity: Json = field(default_factory=dict)
    origin: Literal["found", "configured", "imported"] = "found"


@dataclass(kw_only=True)
class DiscoveryValue(ArchivedRow):
    """A discovery; `subsumed_by`: the more general one, by its number."""

    number: _Count
    label: _Label = ""
    abstract: _Abstract = None
    foreign: Any = None
    code: HexBytes = b""
    start_code: HexBytes = b""
    kind: _Label = ""
    concrete: bool = False
    length: Annotated[int, Field(ge=1, lt=1 << 15)]
    interestingness: Number | None = None
    generality: _Count | None = None
    remarks: list[Any] = field(default_factory=list)
    facts: Json = field(default_factory=dict)
    mark: Mark = ""
    note: str = ""
    created: Time = None
    subsumed_by: _Discovery = None


@dataclass(kw_only=True)
class GeneralisationValue(ArchivedRow):
    """A generalisation, its discovery, and its decisions."""

    number: _Count
    order: _Few = 0
    label: _Label = ""
    became: Became
    code: HexBytes = b""
    start: _Abstract = None
    result: _Abstract = None
    foreign: Any = None
    steps_count: _Count = 0
    taken_count: _Count = 0
    samples_count: _Count = 0
    seconds: Number = 0.0
    facts: Json = field(default_factory=dict)
    discovery: _Discovery = None
    steps: list[StepValue] = field(default_factory=list)

    @model_validator(mode="after")
    def _has_steps_in_order(self) -> Self:
        if [step.number for step in self.steps] != list(range(len(self.steps))):
            raise ValueError("steps are numbered from 0, in their order")
        return self


@dataclass(kw_only=True)
class StepValue(ArchivedRow):
    """A decision, and the blocks that it is based on."""

    number: _Count
    kind: Literal["start", "expansion", "end"] = "expansion"
    expansion: Annotated[Any, AfterValidator(_check_expansion)] = None
    foreign: Any = None
    taken: bool
    reason: Annotated[str, Field(max_length=200)] = ""
    n: _Count = 0
    interesting: _Count | None = None
    failed: _Count = 0
    mean: Number | None = None
    batch: _Count | None = None
    samples: Samples = None

    @model_validator(mode="after")
    def _has_its_samples(self) -> Self:
        _check_count(self)
        return self


@dataclass(kw_only=True)
class BatchValue(ArchivedRow):
    """Samples that belong to no step, and the discovery that they are about."""

    number: _Count
    purpose: Purpose = "round"
    n: _Count = 0
    interesting: _Count | None = None
    failed: _Count = 0
    facts: Json = field(default_factory=dict)
    discovery: _Discovery = None
    samples: Samples = None

    @model_validator(mode="after")
    def _has_its_samples(self) -> Self:
        _check_count(self)
        return self


def _check_count(row: StepValue | BatchValue) -> None:
    """Raise `ValueError` where the number of blocks is not `n`, or less than `interesting`."""
    count = row.samples.count if isinstance(row.samples, Spooled) else row.n
    if not count == row.n >= (row.interesting or 0):
        raise ValueError(f"{count} blocks where n is {row.n}, {row.interesting} of them interesting")


@dataclass(kw_only=True)
class FamilyValue(ArchivedRow):
    """A family, and the numbers of its discoveries."""

    number: _Count
    name: Annotated[str, Field(min_length=1, max_length=300)]
    bound: Annotated[str, Field(min_length=1, max_length=16), choice_validator(list(DifferingBound))]
    kind: _Label
    slower: Tool
    identity: Annotated[Json, shaped(ArchivedIdentity)]
    code: Annotated[HexBytes, AfterValidator(check_block)]
    predictions: Annotated[list[Range], PER_TOOL]
    covered: _Count
    own: _Count
    share: _Share
    low: _Share
    high: _Share
    mark: Mark
    note: str
    status: Literal["", "new", "unsure", "there"]
    facts: Annotated[Json, shaped(FamilyFacts)]
    discoveries: Annotated[list[_Count], Field(min_length=1)]

    @model_validator(mode="after")
    def _has_two_limits(self) -> Self:
        if (self.low is None) != (self.high is None):
            raise ValueError("low and high are two numbers, or null both")
        return self


@dataclass
class FileValue:
    """A file that came with a campaign, `size` bytes long; its content is compressed."""

    path: str
    size: int
    content: Packed


@dataclass
class SpooledCampaign:
    """All values of one campaign. `isa`: its instruction set, "" for none."""

    campaign: CampaignValue
    isa: str = ""
    predictors: list[PredictorValue] = field(default_factory=list)
    discoveries: list[DiscoveryValue] = field(default_factory=list)
    families: list[FamilyValue] = field(default_factory=list)
    generalisations: list[GeneralisationValue] = field(default_factory=list)
    batches: list[BatchValue] = field(default_factory=list)
    files: list[FileValue] = field(default_factory=list)
    spool: Spool = field(default_factory=Spool)
