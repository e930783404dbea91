"""Families of a campaign in its archive: `families.json`, and what the campaign's facts say of them.

Ids of the site that wrote an archive say nothing elsewhere, so none is written: of the earlier campaign there
is the name alone. What pages rely on is checked before it is stored.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from anica_app.core.families.evidence import DifferingBound
from anica_app.formats.campaign_values import FamilyValue, Mark
from anica_app.formats.value_documents import document_of, read_value
from inference.core.event_fields import Amount, Count, one_of
from inference.core.protocols import Json
from inference.formats.archived_parts import first_flaw
from inference.formats.errors import ExchangeError
from inference.isa.block_changes import ChangeKind
from inference.isa.blocks import BlockError
from inference.isa.blocks.listing import intel_of_bytes
from inference.predictors.protocol import Failure

_MEMBERS = "discoveries"
_HERE_ALONE = {"against": ("campaign", ("gone", "unseen"), "family"), "judge": ("predictor", (), "")}
"""Of the facts' objects: an id, and the lists of objects with another id."""


def family_document(family: FamilyValue, discoveries: Sequence[int]) -> Json:
    """A family with the numbers of its discoveries."""
    return {**document_of(family), _MEMBERS: list(discoveries)}


def facts_to_be_told(facts: Json) -> Json:
    """A campaign's facts without the ids in what they say of families."""
    if not facts.get("families"):
        return facts
    told = dict(facts["families"])
    for name, (own, lists, inner) in _HERE_ALONE.items():
        if told.get(name):
            told[name] = {**told[name], own: None}
            told[name] |= {each: [{**one, inner: None} for one in told[name][each]] for each in lists}
    return {**facts, "families": told}


def check_families_told(facts: Json, tools: int, where: str) -> None:
    """Raise `ExchangeError` where the facts say of families what pages cannot show."""
    if "families" in facts:
        _checked(_FactsTold, facts["families"], tools, f"{where}, families")


def read_family(
    given: Any, tools: int, discoveries: Collection[int], where: str
) -> tuple[FamilyValue, list[int]]:
    """A family and the numbers of its discoveries. Raises `ExchangeError` with the place of a flaw."""
    if not isinstance(given, dict) or _MEMBERS not in given:
        raise ExchangeError(f"{where}: an object with {_MEMBERS} is expected")
    own = {key: one for key, one in given.items() if key != _MEMBERS}
    family = read_value(own, FamilyValue, where)
    told = _checked(_FamilyTold, given, tools, where)
    for number in told.discoveries:
        if number not in discoveries:
            raise ExchangeError(f"{where}, {_MEMBERS}: there is no discovery with the number {number}")
    return family, told.discoveries


def _checked(shape: type[_Shape], given: Any, tools: int, where: str) -> _Shape:
    try:
        return shape.model_validate(given, context=tools)
    except ValidationError as error:
        raise ExchangeError(first_flaw(error, where)) from error


class _Told(BaseModel):
    """Exact types and nothing else. The context of validation is how many tools the campaign has."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


_Shape = TypeVar("_Shape", bound=_Told)


def _block(value: str) -> str:
    try:
        intel_of_bytes(bytes.fromhex(value))
    except (ValueError, BlockError) as error:
        raise ValueError(f"{value[:60]!r} is no basic block in hexadecimal digits") from error
    return value


def _one_of_each(value: list[Any], info: ValidationInfo) -> list[Any]:
    if len(value) != info.context:
        raise ValueError(f"one for each of the {info.context} tools is expected, not {len(value)}")
    return value


def _tool(value: int, info: ValidationInfo) -> int:
    if value > (info.context or 0):
        raise ValueError(f"there is no tool {value}, only {info.context}")
    return value


_Block = Annotated[str, AfterValidator(_block)]
_Text = Annotated[str, Field(max_length=300)]
_Share = Annotated[float, Field(ge=0, le=1)] | None
_OfEach = AfterValidator(_one_of_each)
_Cycles = Annotated[list[Amount | None], _OfEach]
_Counts = Annotated[list[Count], _OfEach]
_Tool = Annotated[Count, AfterValidator(_tool)]
_Range = Annotated[list[Amount | None], Field(min_length=2, max_length=2)]
_Number = Annotated[str, Field(pattern=r"^[0-9]{1,9}$")]
_Words = list[Annotated[str, Field(max_length=100)]]


class _EarlierTold(_Told):
    family: None
    name: _Text
    witness: _Block
    mark: Mark


class _AgainstTold(_Told):
    campaign: None
    name: _Text
    gone: list[_EarlierTold]
    unseen: list[_EarlierTold]


class _LeagueRowTold(_Told):
    of: _Text = Field(alias="class")
    blocks: Count
    disputed: Count
    right: _Counts
    neither: Count
    errors: _Cycles


class _JudgeTold(_Told):
    predictor: None
    name: _Text
    answered: Count
    unanswered: Count
    league: list[_LeagueRowTold]


class _FactsTold(_Told):
    """What `storing.summary_of` says."""

    judged: Count
    disagreements: Count
    explained: Count
    by_ten: Count
    fresh: bool
    questions: Count
    against: _AgainstTold | None
    judge: _JudgeTold | None

    @model_validator(mode="after")
    def _is_a_part(self) -> Self:
        if not self.by_ten <= self.explained <= self.disagreements <= self.judged:
            raise ValueError("by_ten, explained, disagreements and judged grow in this order")
        return self


class _IdentityTold(_Told):
    kind: _Text
    slower: _Tool
    bound: _Text
    classes: _Words
    others: _Words


class _TriedTold(_Told):
    change: Annotated[str, one_of([one.value for one in ChangeKind])]
    cut: _Words
    code: _Block
    cycles: _Cycles
    vanishes: bool


class _MemberTold(_Told):
    block: _Block
    cycles: _Cycles
    failures: Annotated[list[Annotated[str, one_of(["", *(one.value for one in Failure)])]], _OfEach]


class _RulingTold(_Told):
    cycles: Amount
    right: _Tool


class _FamilyJudgeTold(_Told):
    members: dict[_Number, _RulingTold]
    blocks: Count
    right: _Counts
    neither: Count


class _FamilyFactsTold(_Told):
    tried: list[_TriedTold]
    members: dict[_Number, _MemberTold]
    judge: _FamilyJudgeTold | None = None


class _FamilyTold(_Told):
    """Beside what the value's own fields check."""

    model_config = ConfigDict(extra="ignore")
    bound: Annotated[str, one_of([one.value for one in DifferingBound])]
    slower: _Tool
    identity: _IdentityTold
    code: _Block
    predictions: Annotated[list[_Range], _OfEach]
    share: _Share
    low: _Share
    high: _Share
    facts: _FamilyFactsTold
    discoveries: Annotated[list[Count], Field(min_length=1)]

    @model_validator(mode="after")
    def _are_ranges(self) -> Self:
        if any((low is None) != (high is None) for low, high in self.predictions):
            raise ValueError("predictions has for each tool the lowest and the highest cycles, or null twice")
        if (self.low is None) != (self.high is None):
            raise ValueError("low and high are two numbers, or null both")
        return self
