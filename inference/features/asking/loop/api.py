"""API of explanations: everything that a core model says about one loop, and why blocks take their time."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router, Schema
from pydantic import Field

from inference.core.core_model import Assumptions, BoundKind
from inference.core.simulation.timeline import MAX_ITERATIONS
from inference.features.asking.loop.answer import answer_of
from inference.features.asking.loop.document import document_of, reason_of
from inference.features.asking.loop.query import analysis_of, cpus
from inference.features.asking.loop.request import TEXT_LIMIT, LoopQuestion
from inference.features.asking.loop.verdict import verdict_of
from inference.features.learning.core_model.query import usable_core_models
from inference.measuring.blocks import LOOP
from inference.storage.instruction_sets import code_isa
from inference.web.api.access import read_access
from inference.web.api.answers import MAX_BLOCKS, ChainStepOut, Code, NamedBlock, SubstitutionOut
from inference.web.api.errors import ProblemError
from inference.web.api.shapes import Input, Uop
from inference.web.code_reading import read_blocks
from inference.web.validation import Id, RequestError

router = Router()
_CODE = ".L2:\nxor eax, ecx\nimul eax, eax, 16777619\ndec esi\njne .L2"


class LoopToExplain(LoopQuestion, Input):
    """A loop, the CPU that executes it, and what is assumed and changed. Latencies are comments in the code,
    as in `mov rax, [rdi] # LATENCY 40`.
    """

    code: str = Field(
        min_length=1,
        max_length=TEXT_LIMIT,
        description="Assembly of x86-64, AArch64 or RISC-V, a listing, or machine code in hexadecimal.",
        examples=[_CODE],
    )
    timeline: int = Field(
        0, ge=0, le=MAX_ITERATIONS, description="Iterations of the timeline; 0: none.", examples=[0]
    )
    tools: bool = Field(False, description="With what tools have answered about the loop.")


class CycleRangeOut(Schema):
    """Cycles from `low` to `high`: equal where everything is measured; `high` is null without a limit."""

    low: float = Field(examples=[4.0])
    high: float | None = Field(examples=[4.0])


class PortLoadOut(Schema):
    """Cycles per iteration for which a port is busy."""

    name: str = Field(
        description="The vendor's name where it is known, else one by what runs there.", examples=["ALU1"]
    )
    port: str = Field(description="Its name in the port mapping.", examples=["9"])
    cycles: float = Field(examples=[1.0])


class ExplainedInstructionOut(Schema):
    """An instruction of the loop; numbers per iteration. The jump that closes the loop is the last."""

    number: int = Field(description="From 1.", examples=[2])
    text: str = Field(examples=["imul eax, 0x1000193"])
    scheme: str = Field(
        description="Empty where it has none.", examples=["imul GPR[32]:W, GPR[32]:R, IMM[32]"]
    )
    bytes: int = Field(examples=[6])
    uops: list[Uop] | None = Field(description="Null where they are unknown; empty where it needs no port.")
    pressure: list[float] | None = Field(
        description="Cycles on each port, in the order of `ports`; the sums are their cycles.",
        examples=[[0.0, 1.0, 0.0]],
    )
    slots: float | None = Field(description="Issue slots.", examples=[1.0])
    latency: float | None = Field(description="The largest between its operands.", examples=[3.0])
    on_chain: float | None = Field(
        description="Cycles that it adds to the critical chain; null where it is not on it.", examples=[3.0]
    )
    unknown: list[str] = Field(
        description="What was not measured and nothing stands for: ports, slots, latency.", examples=[[]]
    )
    nearest: SubstitutionOut | None = Field(description="The nearest scheme that stands for it.")
    note: str = Field(description="How the core treats it: fused with the next, eliminated …", examples=[""])
    line: int | None = Field(description="Its line in the code, from 1.", examples=[3])
    source: str | None = Field(
        description="Its source line, where the listing has it.", examples=["fnv.c:4: hash *= 16777619u;"]
    )
    samples: float | None = Field(
        description="A profiler's number, where the listing has it.", examples=[41.2]
    )


class DependencyOut(Schema):
    """A value that one instruction hands to another; `key` names it in `without`."""

    key: str = Field(examples=["1-0-rax"])
    producer: int = Field(examples=[2])
    consumer: int = Field(examples=[1])
    through: str = Field(description="The register, flag or memory.", examples=["rax"])
    iterations: int = Field(description="Iterations later: 0 within one.", examples=[1])
    cycles: float | None = Field(description="Null where the latency is unknown.", examples=[3.0])
    basis: str = Field(description="The basis of the cycles.", examples=["measured"])
    critical: bool = Field(description="Whether it is on the critical chain.", examples=[True])


class RemedyOut(Schema):
    """A change that would make the loop faster, and the cycles that would remain."""

    kind: str = Field(
        description="dependence, loads, ports, front end or scheduler.", examples=["dependence"]
    )
    text: str = Field(examples=["without this chain 1.2 cycles: use two accumulators"])
    cycles: float = Field(examples=[1.25])
    dependency: str = Field(description="Key of the dependency, empty for none.", examples=["1-0-rax"])


class LoopChangesOut(Schema):
    """The hypothetical changes that the explanation assumes."""

    without: list[str] = Field(description="Keys of removed dependencies.", examples=[[]])
    loads_hit: bool = Field(description="Whether latencies given for loads are ignored.", examples=[False])
    latencies: dict[str, float] = Field(
        description="{number of an instruction: cycles} given in the code.", examples=[{}]
    )


class LoopVersionOut(Schema):
    """A version of the loop, in cycles per iteration of the loop itself."""

    label: str = Field(examples=["Unrolled ×2"])
    note: str = Field(examples=["per original iteration"])
    cycles: float = Field(examples=[4.0])
    range: CycleRangeOut
    bounds: dict[str, float] = Field(examples=[{"dependencies": 4.0, "ports": 1.25}])


class LoopToolOut(Schema):
    """What a tool or another core model predicts for the loop on this CPU."""

    name: str = Field(examples=["llvm-mca 19"])
    cycles: float | None = Field(examples=[4.04])
    percent: float | None = Field(
        description="Off the measurement; without one, off the core model.", examples=[0.5]
    )
    closest_bound: str = Field(
        description="The bound of the core model with about these cycles.", examples=["dependencies, 4.00"]
    )
    reason: str = Field(description="Why there are no cycles; empty where there are.", examples=[""])


class LoopMeasurementOut(Schema):
    """A machine's measurement of the loop, in cycles per iteration."""

    cycles: float = Field(examples=[4.02])
    spread: float | None = Field(examples=[0.003])
    at: datetime | None = Field(
        description="Null where only the number is stored.", examples=["2026-11-30T08:00:00Z"]
    )
    run: int | None = Field(description="The run that measured it.", examples=[12])


class BlockReasonOut(Schema):
    """A core model's explanation of a block, in cycles per iteration."""

    model: str = Field(description="The core model.", examples=["My CPU"])
    text: str = Field(
        description="The verdict in a sentence.", examples=["4.0 cycles: xor → imul wait for each other."]
    )
    cycles: float | None = Field(
        description="The prediction: the largest bound; null if an instruction is not described.",
        examples=[4.0],
    )
    bound: str | None = Field(description="The name of the largest bound.", examples=["dependencies"])
    bounds: dict[str, float] = Field(
        description="The largest first, with the best guess for what is unknown.",
        examples=[{"dependencies": 4.0, "ports": 1.25, "front end": 1.03}],
    )
    why: dict[str, str] = Field(
        description="A short reason per bound.", examples=[{"dependencies": "a chain of 2 steps"}]
    )
    chain: list[int] = Field(
        description="Instructions of the critical chain, from 1, if it is the largest bound.",
        examples=[[1, 2]],
    )
    steps: list[ChainStepOut]
    unknown: list[str] = Field(description="Schemes that the port mapping does not describe.", examples=[[]])
    taken: list[SubstitutionOut] = Field(description="Schemes that were replaced by the nearest ones.")
    lacking: list[str] = Field(description="Missing parts of the model.", examples=[[]])
    sources: dict[str, str] = Field(
        description="The source of each part of the model.",
        examples=[{"latencies": "lab: latencies", "front end": "lab: front end"}],
    )


class LoopExplanationOut(NamedBlock, BlockReasonOut):
    """All that a core model says about a loop, in cycles per iteration."""

    name: str = Field(description="Its label, or a number.", examples=[".L2"])
    kind: str = Field(description="straight or loop", examples=["loop"])
    notes: list[str] = Field(description="Assumptions, and code that was left out.", examples=[[]])
    pieces: list[str] = Field(description="All loops and other blocks of the code.", examples=[[".L2"]])
    cpu: str = Field(examples=["Zen 4, this computer"])
    recorded: bool = Field(description="Whether the core model is the one that comes with pmweb.")
    mode: str = Field(
        description="How a block without a jump is executed: loop or unrolled.", examples=["loop"]
    )
    range: CycleRangeOut = Field(description="What the prediction can be by what is unknown.")
    ranges: dict[str, CycleRangeOut] = Field(
        description="Of each bound.", examples=[{"dependencies": {"low": 4.0, "high": 4.0}}]
    )
    simulated: float | None = Field(
        description="Cycles by the simulated scheduler; null where the model does not allow a simulation.",
        examples=[4.0],
    )
    simulation_note: str = Field(
        description="Why `simulated` and `cycles` differ by more than 3 %; empty where they do not.",
        examples=[""],
    )
    timeline: dict[str, Any] | None = Field(
        description="The simulated loop, as in the page's file; null if it was not requested, or where the "
        "model does not allow a simulation.",
        examples=[None],
    )
    measured: LoopMeasurementOut | None = Field(
        description="The newest measurement by the machine of the core model."
    )
    tools: list[LoopToolOut] | None = Field(
        description="Null if they were not requested; empty where no tool knows the CPU.", examples=[None]
    )
    ports: list[PortLoadOut]
    instructions: list[ExplainedInstructionOut]
    dependencies: list[DependencyOut]
    remedies: list[RemedyOut] = Field(description="The most effective first.")
    changes: LoopChangesOut
    versions: list[LoopVersionOut] = Field(
        description="The loop and its changed versions, if `before`, `other`, `unroll`, `without` or `loads` "
        "ask for one."
    )


@router.post("/block-explanations", response=LoopExplanationOut, auth=read_access)
def explain_loop(request: HttpRequest, data: LoopToExplain) -> Any:
    """Explain a loop, or another block, on a CPU: the whole answer of the page *Explain a loop*.

    Without `cpu`, the CPU of the site's computer explains it, and where none was profiled, a recorded one.
    """
    try:
        return document_of(answer_of(data, cpus()), data.timeline, tools=data.tools)
    except RequestError as error:
        raise ProblemError(422, error.what, where=f"body {error.field}", right=error.right) from error


class CodeToExplain(Code):
    """Basic blocks of the model's instruction set and assumptions. `without`: bounds to leave out. `alike`:
    all registers start with equal values, so that different ones address the same memory, as in measurements.
    `nearest`: instructions that the model does not describe are replaced by the nearest schemes that it does.
    `mode`: execution of a block without a jump, as straight code (unrolled) or as copies in a loop.
    """

    without: Annotated[list[BoundKind], Field(max_length=len(BoundKind))] = []
    alike: bool = True
    nearest: bool = False
    mode: Literal["unrolled", "loop"] = "unrolled"


@router.post("/core-models/{core_model_id}/why", response=list[BlockReasonOut], auth=read_access)
def explain_blocks(request: HttpRequest, core_model_id: Id, data: CodeToExplain) -> Any:
    """Explain the times of up to 100 blocks by a core model."""
    row = get_object_or_404(usable_core_models(), pk=core_model_id)
    assumed = Assumptions(data.without, data.alike, data.nearest, data.mode == LOOP)
    reasons = []
    for block in read_blocks(data.code, MAX_BLOCKS, code_isa(row.isa)):
        analysis = analysis_of(block, row, assumed)
        reasons.append(reason_of(analysis, row, verdict_of(block, analysis)))
    return reasons
