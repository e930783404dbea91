"""Pieces that answers of several families have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ninja import Schema
from pydantic import Field

from anica_app.core.answers import Answer
from anica_app.models import BlockColumn
from anica_app.queries.block_sets import Answered
from inference.api.shapes import Input
from inference.isa.x86.blocks import BlockError
from inference.isa.x86.blocks.listing import intel_of_bytes


class SetAnswerOut(Schema):
    """What a tool says of a block: a number, or why it has none."""

    cycles: float | None = Field(examples=[1.03])
    failure: str | None = Field(
        description="crash, timeout, unsupported or no number; null with a number.", examples=[None]
    )


class SetBlockOut(Schema):
    """A block of a set with what its columns say, null for a tool that was not asked."""

    position: int = Field(description="Its place in the set, from 0.", examples=[0])
    hex: str = Field(examples=["4801d8480fafc3"])
    assembly: list[str] = Field(examples=[["add rax, rbx", "imul rax, rbx"]])
    length: int = Field(description="Number of instructions.", examples=[2])
    weight: float | None = Field(description="How often it ran, where the file said so.", examples=[0.004])
    answers: dict[str, SetAnswerOut | None] = Field(
        examples=[{"llvm-mca 22": {"cycles": 1.03, "failure": None}, "osaca": None}]
    )


class Interest(Input):
    """When two answers disagree."""

    metric: str = Field(
        "relative", max_length=20, description="relative: by the mean of both; absolute: in cycles."
    )
    threshold: float = Field(0.5, ge=0, description="They disagree where they differ by more.")


def block_json(answered: Answered, columns: Sequence[BlockColumn]) -> dict[str, Any]:
    """A block as `SetBlockOut`."""
    block = answered.block
    code = bytes(block.code)
    return {
        "position": block.position,
        "hex": code.hex(),
        "assembly": _assembly(code),
        "length": block.length,
        "weight": block.weight,
        "answers": {
            column.name: answer_json(one) for column, one in zip(columns, answered.answers, strict=True)
        },
    }


def answer_json(answer: Answer | None) -> dict[str, Any] | None:
    """An answer as `SetAnswerOut`."""
    if answer is None:
        return None
    return {"cycles": answer.cycles, "failure": answer.failure}


def _assembly(code: bytes) -> list[str]:
    try:
        return list(intel_of_bytes(code))
    except BlockError:
        return []
