"""What machines measured of a discovery's witness with other values, as the discovery's facts have it.

Facts come with imported campaigns, too: what is not of this form is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from anica_app.core.value_dependence import NOT_AGAIN
from anica_app.models import Discovery, Family
from inference.isa.blocks import MOST_BYTES

OPERAND_VALUES = "operand_values"
_Text = Annotated[str, Field(max_length=300)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class RepeatedReading(_Part):
    """Cycles with some values; see `anica_app.core.value_dependence.ValueReading`."""

    values: _Text
    operands: Annotated[dict[_Text, _Text], Field(max_length=64)]
    cycles: float | None
    holds: bool | None
    note: str = ""

    @property
    def operands_text(self) -> str:
        """`rax = 0, cl = 0`."""
        return ", ".join(f"{name} = {value}" for name, value in self.operands.items())


class RepeatedFinding(_Part):
    """All that a machine measured of a block, in hexadecimal digits.

    The first reading is with the values that the finding was made with. `is_example`: the block is not the
    discovery's witness.
    """

    machine: _Text
    is_example: bool = False
    block: Annotated[str, Field(max_length=2 * MOST_BYTES, pattern=r"^([0-9a-f]{2})+$")]
    condition: _Text
    readings: Annotated[list[RepeatedReading], Field(min_length=1, max_length=20)]

    @property
    def is_lost(self) -> bool:
        """Whether the finding did not hold when it was measured again with the values it was made with."""
        return self.condition == NOT_AGAIN

    @property
    def sentence(self) -> str:
        usual = self.readings[0].operands_text
        found = f"Found with {usual}" if usual else "The block reads no values"
        if self.is_lost:
            return f"{found}; measured again with the same values, it does not hold."
        if self.condition:
            return f"{found}; it holds {self.condition}."
        count = sum(reading.holds is not None for reading in self.readings[1:])
        if not count:  # it reads none; or its condition is of a version before that said so
            return f"{found}; other values could not be measured." if usual else f"{found}."
        return f"{found}; it holds with all {count} other choices of values that were measured."


def repeated_findings(row: Discovery) -> list[RepeatedFinding]:
    """Of each machine; [] for a discovery that was not measured with other values."""
    entries = row.facts.get(OPERAND_VALUES, ()) if isinstance(row.facts, dict) else ()
    try:
        return [RepeatedFinding.model_validate(entry) for entry in entries]
    except (ValidationError, TypeError):
        return []


def findings_of_block(row: Discovery, code: bytes) -> list[RepeatedFinding]:
    """Those of this block, which may be another one than the discovery's witness."""
    return [finding for finding in repeated_findings(row) if finding.block == code.hex()]


def joined_conditions(findings: Iterable[RepeatedFinding]) -> str:
    """`only where cl = 0`; "" where nothing is known against the findings."""
    return "; ".join(dict.fromkeys(finding.condition for finding in findings if finding.condition))


def lost_on(findings: Iterable[RepeatedFinding]) -> list[str]:
    """The machines by which a witness is none: measured again with the same values, they did not show it."""
    return [finding.machine for finding in findings if finding.is_lost and not finding.is_example]


def condition_of(row: Discovery) -> str:
    """Where the witness of a discovery shows it; else where examples with other instructions do."""
    findings = repeated_findings(row)
    if condition := joined_conditions(finding for finding in findings if not finding.is_example):
        return condition
    others = joined_conditions(findings)
    return f"some of its blocks {others}" if others else ""


def witness_of(row: Family) -> Discovery | None:
    """The discovery whose witness is that of its family (of those that are at hand)."""
    code = bytes(row.code)
    members: Iterable[Discovery] = row.discoveries.all()
    return next((member for member in members if bytes(member.code) == code), None)


def condition_of_family(row: Family) -> str:
    """Where the witness of a family shows what it stands for."""
    member = witness_of(row)
    return "" if member is None else condition_of(member)
