"""Shapes of the JSON objects in a campaign's archive, as far as pages depend on them.

Ids are valid only on the site that wrote an archive: of the earlier campaign and the judge that families were
compared with, only the names are written.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from anica_app.formats.value_documents import CampaignContext, HexBytes
from inference.core.events import Amount, Count, choice_validator
from inference.core.protocols import Json
from inference.formats.archived_parts import ABSENT, ArchivedPart
from inference.isa.block_changes import ChangeKind
from inference.isa.blocks import BlockError, intel_of_bytes
from inference.predictors.protocol import Failure

_SITE_IDS = {"against": ("campaign", ("gone", "unseen"), "family"), "judge": ("predictor", (), "")}
"""{object of the facts: (key of its id, keys of lists, key of the id in their objects)}."""

Mark = Literal["", "known", "reported", "fixed", "no-fault"]


def facts_without_ids(facts: Json) -> Json:
    """A campaign's facts without the ids in its families."""
    if not facts.get("families"):
        return facts
    families = dict(facts["families"])
    for name, (own, lists, inner) in _SITE_IDS.items():
        if families.get(name):
            families[name] = {**families[name], own: None}
            families[name] |= {key: [{**row, inner: None} for row in families[name][key]] for key in lists}
    return {**facts, "families": families}


def check_block(code: bytes, info: ValidationInfo) -> bytes:
    """Return machine code that can be decoded. Raises `ValueError` otherwise."""
    try:
        intel_of_bytes(code, CampaignContext.of(info).isa)
    except BlockError as error:
        raise ValueError(f"{code.hex()[:60]!r} is no basic block in hexadecimal digits") from error
    return code


def _check_length(answers: list[Any], info: ValidationInfo) -> list[Any]:
    tools = CampaignContext.of(info).tools
    if len(answers) != tools:
        raise ValueError(f"one for each of the {tools} tools is expected, not {len(answers)}")
    return answers


def _check_tool(number: int, info: ValidationInfo) -> int:
    tools = CampaignContext.of(info).tools
    if number > tools:
        raise ValueError(f"there is no tool {number}, only {tools}")
    return number


def _check_range(ends: list[Any]) -> list[Any]:
    if (ends[0] is None) != (ends[1] is None):
        raise ValueError("the lowest and the highest cycles are expected, or null twice")
    return ends


PER_TOOL = AfterValidator(_check_length)
Tool = Annotated[Count, AfterValidator(_check_tool)]
Range = Annotated[list[Amount | None], Field(min_length=2, max_length=2), AfterValidator(_check_range)]
_Block = Annotated[HexBytes, AfterValidator(check_block)]
_Text = Annotated[str, Field(max_length=300)]
_Cycles = Annotated[list[Amount | None], PER_TOOL]
_Counts = Annotated[list[Count], PER_TOOL]
_Failure = Annotated[str, choice_validator(["", *Failure])]
_Number = Annotated[str, Field(pattern=r"^[0-9]{1,9}$")]
_Words = list[Annotated[str, Field(max_length=100)]]
_RowId = Annotated[int, Field(ge=0, lt=2**63)]


class _Exclusion(ArchivedPart):
    discovery: _RowId | None = None


class ArchivedConfig(ArchivedPart):
    interest: Json = {}
    search: Json = {}
    domain: Json = {}
    space: Json = {}
    end: Json = {}
    preset: str = ""
    scheme_filter: str = ""
    excluded: list[_Exclusion] = []
    uops: _RowId | None = None


class _Explained(ArchivedPart):
    """Has all of its fields, or none."""

    blocks: int = 0
    interesting: int = 0
    covered: int = 0
    by_discovery: dict[_Number, int] = {}

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if self.model_fields_set and (missing := type(self).model_fields.keys() - self.model_fields_set):
            raise ValueError(f"the field {min(missing)!r} is missing")
        return self


class _EarlierFamily(ArchivedPart, extra="forbid"):
    family: None
    name: _Text
    witness: _Block
    mark: Mark


class _EarlierCampaign(ArchivedPart, extra="forbid"):
    campaign: None
    name: _Text
    gone: list[_EarlierFamily]
    unseen: list[_EarlierFamily]


class _LeagueRow(ArchivedPart, extra="forbid"):
    instruction_class: _Text = Field(alias="class")
    blocks: Count
    disputed: Count
    right: _Counts
    neither: Count
    errors: _Cycles


class _Judge(ArchivedPart, extra="forbid"):
    predictor: None
    name: _Text
    answered: Count
    unanswered: Count
    league: list[_LeagueRow]


class _Families(ArchivedPart, extra="forbid"):
    judged: Count
    disagreements: Count
    explained: Count
    by_ten: Count
    fresh: bool
    questions: Count
    against: _EarlierCampaign | None
    judge: _Judge | None

    @model_validator(mode="after")
    def _is_a_part(self) -> Self:
        if not self.by_ten <= self.explained <= self.disagreements <= self.judged:
            raise ValueError("by_ten, explained, disagreements and judged grow in this order")
        return self


class CampaignFacts(ArchivedPart):
    judged: float = 0
    generalisations: float = 0
    schemes: float = 0
    unsupported: float = 0
    seconds: float = 0
    failures: dict[str, int] = {}
    unsayable: Json = {}
    explained: _Explained = _Explained()
    families: _Families = ABSENT


class ArchivedIdentity(ArchivedPart, extra="forbid"):
    """Identifies a family across campaigns."""

    kind: _Text
    slower: Tool
    bound: _Text
    classes: _Words
    others: _Words


class _TriedChange(ArchivedPart, extra="forbid"):
    change: Annotated[str, choice_validator(list(ChangeKind))]
    cut: _Words
    code: _Block
    cycles: _Cycles
    vanishes: bool


class _Member(ArchivedPart, extra="forbid"):
    block: _Block
    cycles: _Cycles
    failures: Annotated[list[_Failure], PER_TOOL]


class _Ruling(ArchivedPart, extra="forbid"):
    cycles: Amount
    right: Tool


class _Rulings(ArchivedPart, extra="forbid"):
    members: dict[_Number, _Ruling]
    blocks: Count
    right: _Counts
    neither: Count


class FamilyFacts(ArchivedPart, extra="forbid"):
    """The changes that were tried on a family's witness, its members, and the judge's rulings."""

    tried: list[_TriedChange]
    members: dict[_Number, _Member]
    judge: _Rulings | None = None
