"""A campaign as values, one for each row of its tables, with the fields that its archive has, in its order.

Values refer to one another by their numbers, which stand beside them, as do samples and the bytes of files.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from anica_app.formats.value_documents import HexBytes, Number, Time
from inference.core.protocols import Json

NAME_LIMIT = 200
SOURCE_LIMIT = 300
OURS: Final = "ours"
ANICA: Final = "anica"
"""In which language abstract blocks and configuration are: this program's, the published AnICA's."""

_Count = Annotated[int, Field(ge=0, lt=1 << 31)]
_Few = Annotated[int, Field(ge=0, lt=1 << 15)]
_Name = Annotated[str, Field(min_length=1, max_length=NAME_LIMIT)]
_Label = Annotated[str, Field(max_length=100)]
Mark = Literal["", "known", "reported", "fixed"]
Became = Literal["discovery", "subsumed", "duplicate", "concrete", "unfinished"]
Purpose = Literal["round", "minimisation", "discovery", "other"]


@dataclass(kw_only=True)
class CampaignValue:
    """See `anica_app.models.Campaign`, as all of these."""

    name: _Name = ""
    note: str = ""
    created: Time = None
    kind: Literal["campaign", "generalisation", "explanation"] = "campaign"
    origin: Literal["run", "import"]
    format: Literal["ours", "anica"] = OURS
    source: Annotated[str, Field(max_length=SOURCE_LIMIT)] = ""
    config: Json = field(default_factory=dict)
    rounds: _Count = 0
    sampled: _Count = 0
    interesting: _Count = 0
    subsumed: _Count = 0
    seconds: Number = 0.0
    facts: Json = field(default_factory=dict)


@dataclass(kw_only=True)
class PredictorValue:
    """A tool, of which nothing is believed but its name and identity."""

    name: _Name
    note: str = ""
    kind: Annotated[str, Field(min_length=1, max_length=40)]
    options: Json = field(default_factory=dict)
    identity: Json = field(default_factory=dict)
    origin: Literal["found", "configured", "imported"] = "found"


@dataclass(kw_only=True)
class DiscoveryValue:
    """A discovery; `subsumed_by` stands beside it."""

    number: _Count
    label: _Label = ""
    abstract: Any = None
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


@dataclass(kw_only=True)
class GeneralisationValue:
    """A generalisation; what it has become and its steps stand beside it."""

    number: _Count
    order: _Few = 0
    label: _Label = ""
    became: Became
    code: HexBytes = b""
    start: Any = None
    result: Any = None
    foreign: Any = None
    steps_count: _Count = 0
    taken_count: _Count = 0
    samples_count: _Count = 0
    seconds: Number = 0.0
    facts: Json = field(default_factory=dict)


@dataclass(kw_only=True)
class StepValue:
    """A decision; its samples stand beside it."""

    number: _Count
    kind: Literal["start", "expansion", "end"] = "expansion"
    expansion: Any = None
    foreign: Any = None
    taken: bool
    reason: Annotated[str, Field(max_length=200)] = ""
    n: _Count = 0
    interesting: _Count | None = None
    failed: _Count = 0
    mean: Number | None = None
    batch: _Count | None = None


@dataclass(kw_only=True)
class BatchValue:
    """Samples of no step; they stand beside it, as does the discovery that they are about."""

    number: _Count
    purpose: Purpose = "round"
    n: _Count = 0
    interesting: _Count | None = None
    failed: _Count = 0
    facts: Json = field(default_factory=dict)


@dataclass(kw_only=True)
class FamilyValue:
    """A family; the numbers of its discoveries stand beside it."""

    number: _Count
    name: Annotated[str, Field(min_length=1, max_length=300)]
    bound: Annotated[str, Field(min_length=1, max_length=16)]
    kind: _Label
    slower: _Few
    identity: Json
    code: HexBytes
    predictions: list[Any]
    covered: _Count
    own: _Count
    share: Number | None
    low: Number | None
    high: Number | None
    mark: Mark
    note: str
    status: Literal["", "new", "unsure", "there"]
    facts: Json


@dataclass(kw_only=True)
class FileValue:
    """A file that came with a campaign, `size` bytes long; its content stands beside it, compressed."""

    path: Annotated[str, Field(min_length=1, max_length=300)]
    size: int
