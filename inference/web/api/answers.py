"""Shapes of API answers about basic blocks and predictors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from ninja import Schema
from pydantic import Field

from inference.isa.blocks import DETECTED, intel_of_bytes
from inference.isa.code.block import BlockError, BlockName
from inference.isa.targets import DEFAULT
from inference.models import BasicBlock, BlockColumn
from inference.predictors.protocol import Answer
from inference.web.api.shapes import Input, RowOut

PredictorNames = Annotated[
    list[str], Field(max_length=50, description="Names of predictors.", examples=[["osaca 0.7.1"]])
]


class AnswerOut(Schema):
    """Cycles per execution in a steady state, or a failure: crash, timeout, unsupported, no number."""

    cycles: float | None = Field(examples=[6.0])
    failure: str | None = Field(examples=[None])
    detail: str = Field(description="Message of the tool.", examples=[""])


class NamedAnswerOut(AnswerOut):
    """What a predictor said, by its name."""

    predictor: str = Field(examples=["llvm-mca 22"])


class SetAnswerOut(Schema):
    """What a tool says of a block: a number, or why it has none."""

    cycles: float | None = Field(examples=[1.03])
    failure: str | None = Field(
        description="crash, timeout, unsupported or no number; null with a number.", examples=[None]
    )


class NamedBlock(RowOut):
    """A block by its name: digits alone name none where there are several instruction sets."""

    isa: str = Field(description="Instruction set of the machine code.", examples=[DEFAULT])
    hex: str = Field(description="Machine code in hexadecimal digits.", examples=["4801d8480fafc3"])


class SetBlockOut(NamedBlock):
    """A block of a set with what its columns say, null for a tool that was not asked."""

    position: int = Field(description="Position in the set, from 0.", examples=[0])
    assembly: list[str] = Field(examples=[["add rax, rbx", "imul rax, rbx"]])
    length: int = Field(description="Number of instructions.", examples=[2])
    weight: float | None = Field(description="Number of executions, if the file has it.", examples=[0.004])
    origin: str = Field(description="Source of the block, if known.", examples=["a.out, dot, 0x11c8"])
    answers: dict[str, SetAnswerOut | None] = Field(
        examples=[{"llvm-mca 22": {"cycles": 1.03, "failure": None}, "osaca": None}]
    )


def assembly(name: BlockName) -> list[str]:
    """The instructions in Intel syntax; none where the bytes are no instructions."""
    try:
        return list(intel_of_bytes(name.code, name.isa))
    except BlockError:
        return []


def block_json(
    block: BasicBlock, isa: str, answers: Sequence[Answer | None], columns: Sequence[BlockColumn]
) -> dict[str, Any]:
    """A block as `SetBlockOut`; `isa` is that of its set."""
    name = BlockName(isa, bytes(block.code))
    return {
        **{field: getattr(block, field) for field in ("position", "length", "weight", "origin")},
        **name.as_json(),
        "assembly": assembly(name),
        "answers": {column.name: answer for column, answer in zip(columns, answers, strict=True)},
    }


MAX_BLOCKS = 100


MAX_CODE_LENGTH = 100_000


class Code(Input):
    """Basic blocks of one instruction set."""

    isa: str = Field(
        DETECTED,
        max_length=200,
        description="Instruction set of the blocks; empty: as the code shows, of digits x86-64.",
        examples=[DEFAULT],
    )
    code: str = Field(
        min_length=1,
        max_length=MAX_CODE_LENGTH,
        description="Assembly, what compilers and disassemblers print, or hexadecimal digits; "
        "code with jumps is cut into loops and straight pieces, paragraphs are blocks of their own.",
        examples=["add rax, rbx\nimul rax, rbx"],
    )


class ChainStepOut(Schema):
    """A step of the critical chain; instructions count from 1."""

    instruction: int = Field(examples=[2])
    through: str = Field(description="The register, flag or memory that it waits for.", examples=["rax"])
    source: str = Field(examples=["1"])
    destination: str = Field(examples=["1"])
    cycles: float = Field(examples=[3.0])
    basis: str = Field(description="The basis of the cycles.", examples=["measured"])


class SubstitutionOut(Schema):
    """A scheme that the model does not describe, its substitute, and how they differ."""

    scheme: str = Field(examples=["add GPR[16]:RW, GPR[16]:R"])
    nearest: str = Field(examples=["add GPR[32]:RW, GPR[32]:R"])
    differs: str = Field(examples=["other width"])
    parts: list[str] = Field(
        description="The substituted parts: ports, latencies, idioms.", examples=[["ports", "latencies"]]
    )
