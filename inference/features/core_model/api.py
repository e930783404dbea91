"""Core models for programs: the bounds of blocks on a machine, and the reason in a sentence."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router, Schema
from pydantic import Field

from inference.core.core_model import BoundKind
from inference.features.blocks.api import MOST_BLOCKS, Code
from inference.features.core_model.query import machines_with_latencies, reasons_of
from inference.isa.x86.blocks import read
from inference.models import Machine
from inference.web.api.access import READS, reading
from inference.web.api.errors import ProblemError
from inference.web.validation import Id

router = Router()


class CodeToExplain(Code):
    """Basic blocks of x86-64, and which bounds are left out."""

    without: Annotated[list[BoundKind], Field(max_length=len(BoundKind))] = []


class BoundOut(Schema):
    """Cycles per iteration that a block takes at least, and why."""

    kind: str = Field(examples=["dependencies"])
    cycles: float = Field(examples=[4.0])
    why: str = Field(examples=["a chain of 2 steps"])


class ChainCyclesOut(Schema):
    """An instruction of the critical chain."""

    instruction: int = Field(description="Its place in the block, from 0.", examples=[1])
    cycles: float = Field(examples=[3.0])


class BlockReasonOut(Schema):
    """What a core model says of a block."""

    machine: str
    cycles: float | None = Field(
        description="The largest bound; null where an instruction is not described.", examples=[4.0]
    )
    why: str = Field(examples=["4.0 cycles: the chain rax → imul → rax; ports 1.0, front end 0.5"])
    bounds: list[BoundOut] = Field(description="The largest first.")
    chain: list[ChainCyclesOut] = Field(description="Where dependencies are the largest bound.")
    unknown: list[str] = Field(description="Schemes that the port mapping does not describe.")
    lacking: list[str] = Field(description="Parts that the model does not have.")
    sources: dict[str, str] = Field(
        description="What each part of the model was taken from.",
        examples=[{"latencies": "lab: latencies", "front end": "lab: front end"}],
    )


@router.post("/machines/{machine_id}/why", response=list[BlockReasonOut], auth=reading, openapi_extra=READS)
def explain_blocks(request: HttpRequest, machine_id: Id, data: CodeToExplain) -> Any:
    """Why up to 100 blocks take as long as they do on a machine, by all that was found out about its core."""
    machine = get_object_or_404(Machine, pk=machine_id)
    if machine not in machines_with_latencies():
        raise ProblemError(409, f"the latencies of {machine.name!r} are not known yet", right="a run `know`")
    blocks = [piece.block for piece in read(data.code, MOST_BLOCKS).pieces]
    return [reason.as_json() for reason in reasons_of(blocks, machine, data.without)]
