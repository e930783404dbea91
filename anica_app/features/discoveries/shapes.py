"""Schemas of blocks and discoveries that several routers share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import BeforeValidator, Field

from anica_app.features.discoveries.query import JudgedSample
from anica_app.features.discoveries.steps import finite
from anica_app.features.discoveries.wording import wording_of
from anica_app.models import Discovery
from anica_app.storage.findings import condition_of
from inference.isa.code.block import BlockName
from inference.storage.instruction_sets import code_isa
from inference.web.api.answers import NamedAnswerOut, NamedBlock, assembly
from inference.web.api.shapes import Ref, fields_of
from inference.web.validation import Id

Interestingness = Annotated[
    float | Literal["infinite"] | None,
    BeforeValidator(lambda value: finite(value) if isinstance(value, float) else value),
    Field(
        description="Mean interestingness of the blocks: difference of the tools in the campaign's "
        "metric; infinite for a crash.",
        examples=[0.73],
    ),
]


class JudgedBlockOut(NamedBlock):
    """A judged block with each predictor's answer, the campaign's tools first.

    `interesting` and `interestingness` are null where the campaign's criterion is unknown.
    """

    assembly: list[str] = Field(examples=[["add rax, rbx", "imul rax, rbx"]])
    interesting: bool | None = Field(examples=[True])
    interestingness: Interestingness
    answers: list[NamedAnswerOut]


class WordsOut(Schema):
    """An abstract block in words: phrases for each instruction, a sentence per constraint on operands and one
    per dependency.
    """

    instructions: list[list[str]] = Field(examples=[[["mnemonic near `bsf`", "reads memory"]]])
    aliasing: list[str] = Field(examples=[[]])
    dependencies: list[str] = Field(examples=[["instruction 2 reads a flag that instruction 1 writes"]])


class DiscoveryOut(NamedBlock):
    """An abstract block whose sampled blocks were all interesting; `words` is null where it cannot be
    expressed here.

    `hex` is the block that it was generalised from.
    """

    id: Id
    number: int = Field(description="Number in its campaign, from 0.", examples=[3])
    label: str = Field(description="Its name in the imported file.", examples=[""])
    kind: str = Field(description="Why its blocks are interesting.", examples=["difference"])
    words: WordsOut | None
    length: int = Field(description="Number of abstract instructions.", examples=[1])
    interestingness: Interestingness
    generality: int | None = Field(
        description="Fewest schemes that one of its instructions represents.", examples=[42]
    )
    concrete: bool = Field(
        description="Whether no block beside its witness is known to be interesting.", examples=[False]
    )
    subsumed_by: Id | None = Field(description="Id of a discovery that includes it.", examples=[None])
    covered: int | None = Field(description="Evaluated blocks that it includes.", examples=[120])
    mark: str = Field(description="known, reported, fixed, no-fault, or empty.", examples=["reported"])
    condition: str = Field(
        description="Operand values with which a machine's measurement shows the finding; empty: with "
        "all measured values.",
        examples=["only where cl = 0"],
    )


def judged_json(example: JudgedSample, isa: str, columns: Sequence[str]) -> dict[str, Any]:
    """A block as `JudgedBlockOut`; `columns` are the names of its answers."""
    name, verdict = BlockName(isa, example.sample.code), example.verdict
    return {
        **name.as_json(),
        "assembly": assembly(name),
        "interesting": example.interesting,
        "interestingness": None if verdict is None else verdict.value,
        "answers": [
            fields_of(answer, NamedAnswerOut, predictor=column)
            for column, answer in zip(columns, example.sample.answers, strict=True)
        ],
    }


def discovery_json(row: Discovery, covered: Mapping[int, int] | None = None) -> dict[str, Any]:
    """A discovery as `DiscoveryOut`; `covered`: {discovery: blocks that it covers}, None without a
    coverage.
    """
    return fields_of(
        row,
        DiscoveryOut,
        words=wording_of(row.abstract),
        subsumed_by=row.subsumed_by_id,
        covered=None if covered is None else covered.get(row.pk, 0),
        **BlockName(code_isa(row.campaign.isa), bytes(row.code)).as_json(),
        condition=condition_of(row),
    )


class CampaignDiscoveryOut(DiscoveryOut):
    """A discovery of any campaign."""

    campaign: Ref
