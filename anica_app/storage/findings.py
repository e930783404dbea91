"""The criterion of a stored campaign, its interesting samples, and findings repeated with other operand
values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from anica_app.core.search.interestingness import Disagreement, InterestJudge, InterestSettings
from anica_app.core.value_dependence import NOT_AGAIN
from anica_app.formats import anica_campaigns
from anica_app.models import Campaign, Discovery, Family, SampleBatch
from inference.core.errors import InvalidInputError
from inference.isa.blocks import MAX_BYTES
from inference.predictors.samples import Sample, unpack

_ROUNDS_PER_CHUNK = 8
"""Rounds whose blocks are in memory at a time."""


def judge_of(campaign: Campaign) -> InterestJudge | None:
    """The campaign's criterion for interesting blocks; None where its configuration does not have one.

    An explanation of one prediction compares with the number of its block, which is not stored.
    """
    if campaign.kind == Campaign.Kind.EXPLANATION:
        return None
    if campaign.format == Campaign.Format.ANICA:
        return anica_campaigns.judge_of(campaign.config)
    try:
        return Disagreement(InterestSettings.parse(campaign.config.get("interest", {})))
    except InvalidInputError:
        return None


def interesting_samples(
    campaign: Campaign, judge: InterestJudge, *, newest_first: bool = False
) -> Iterator[Sample]:
    """The interesting random blocks of a campaign's rounds."""
    rounds = campaign.batches.filter(purpose=SampleBatch.Purpose.ROUND).exclude(interesting=0)
    rounds = rounds.order_by("-number" if newest_first else "number")
    for packed in rounds.values_list("samples", flat=True).iterator(_ROUNDS_PER_CHUNK):
        yield from (sample for sample in unpack(bytes(packed)) if judge.verdict(sample.answers).interesting)


OPERAND_VALUES = "operand_values"
"""Key in a discovery's facts. Imported campaigns may have it in another form, which is ignored."""

_Text = Annotated[str, Field(max_length=300)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class RepeatedReading(_Part):
    """A machine's measurement with some operand values; `holds`: whether it shows the finding."""

    values: _Text = Field(
        description="Operand values: as found, 0, 1, small or all ones.", examples=["as found"]
    )
    operands: dict[_Text, _Text] = Field(
        max_length=64,
        description="{operand that the block reads: value}.",
        examples=[{"rax": "0x62345600", "cl": "0"}],
    )
    cycles: float | None = Field(examples=[41.0])
    holds: bool | None = Field(description="null if the measurement failed.", examples=[True])
    note: str = Field("", description="Why the measurement failed.", examples=[""])

    @property
    def operands_text(self) -> str:
        """`rax = 0, cl = 0`."""
        return ", ".join(f"{name} = {value}" for name, value in self.operands.items())


class RepeatedFinding(_Part):
    """The block of a discovery, measured again with other operand values.

    The first reading is with the original values.
    """

    machine: _Text = Field(examples=["machine lab · unrolled"])
    is_example: bool = Field(
        False, description="Whether the block is an example instead of the discovery's witness."
    )
    block: str = Field(max_length=2 * MAX_BYTES, pattern=r"^([0-9a-f]{2})+$", examples=["48d3e0"])
    condition: _Text = Field(
        description="Operand values with which the finding holds; empty: with all of them.",
        examples=["only where cl = 0"],
    )
    readings: list[RepeatedReading] = Field(min_length=1, max_length=20)

    @property
    def is_lost(self) -> bool:
        """Whether the finding did not hold when it was measured again with the original values."""
        return self.condition == NOT_AGAIN

    @property
    def other_values(self) -> int:
        """The number of other choices of values that were measured."""
        return sum(reading.holds is not None for reading in self.readings[1:])

    @property
    def sentence(self) -> str:
        operands = self.readings[0].operands_text
        start = f"Found with {operands}" if operands else "The block reads no values"
        if self.is_lost:
            return f"{start}; measured again with the same values, it does not hold."
        if self.condition:
            return f"{start}; it holds {self.condition}."
        count = self.other_values
        if not count:  # it reads none; or its condition is of a version before that said so
            return f"{start}; other values could not be measured." if operands else f"{start}."
        return f"{start}; it holds with all {count} other choices of values that were measured."


def repeated_findings(row: Discovery) -> list[RepeatedFinding]:
    """A finding per machine; [] for a discovery that was not repeated."""
    entries = row.facts.get(OPERAND_VALUES, ()) if isinstance(row.facts, dict) else ()
    try:
        return [RepeatedFinding.model_validate(entry) for entry in entries]
    except (ValidationError, TypeError):
        return []


def findings_of_block(row: Discovery, code: bytes) -> list[RepeatedFinding]:
    """The repeated findings of this block, which may be an example other than the witness."""
    return [finding for finding in repeated_findings(row) if finding.block == code.hex()]


def joined_conditions(findings: Iterable[RepeatedFinding]) -> str:
    """`only where cl = 0`; "" without conditions."""
    return "; ".join(dict.fromkeys(finding.condition for finding in findings if finding.condition))


def lost_on(findings: Iterable[RepeatedFinding]) -> list[str]:
    """The machines that did not confirm the witness with the original values."""
    return [finding.machine for finding in findings if finding.is_lost and not finding.is_example]


def condition_of(row: Discovery) -> str:
    """The condition under which the witness of a discovery shows it, else that of its other examples; ""
    without one.
    """
    findings = repeated_findings(row)
    if condition := joined_conditions(finding for finding in findings if not finding.is_example):
        return condition
    example_conditions = joined_conditions(findings)
    return f"some of its blocks {example_conditions}" if example_conditions else ""


def witness_of(row: Family) -> Discovery | None:
    code = bytes(row.code)
    members: Iterable[Discovery] = row.discoveries.all()
    return next((member for member in members if bytes(member.code) == code), None)


def condition_of_family(row: Family) -> str:
    """The condition under which the witness of a family shows it; "" without one."""
    member = witness_of(row)
    return "" if member is None else condition_of(member)
