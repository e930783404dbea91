"""API of instruction cards."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router, Schema
from pydantic import Field

from inference.features.library.instruction.evidence import Certainty
from inference.features.library.instruction.query import UnknownInstructionError, card_as_json, card_of
from inference.features.library.instruction.request import InstructionRequest
from inference.models import ISA
from inference.web.api.errors import ProblemError
from inference.web.api.shapes import Conflicts, Cycles, SchemeText, Uop
from inference.web.validation import Id, read

router = Router()


class CpuOut(Schema):
    """A machine, an imported mapping of a processor, or a core model that is a document."""

    key: str = Field(description="Key for `cpus`.", examples=["m3"])
    name: str = Field(examples=["lab, Zen 4"])
    core: str = Field(description='Its microarchitecture; "" if unknown.', examples=["Zen 4"])
    machine_id: Id | None
    mapping_id: Id | None
    ports: list[str] = Field(examples=[["0", "1", "5", "6"]])
    core_model_id: Id | None
    recorded: bool = Field(description="Whether it comes with the software.", examples=[False])


class OtherUsageOut(Schema):
    """Another mapping of the same core with different µops."""

    mapping_id: Id
    mapping: str = Field(examples=["uops.info, Zen 4"])
    uops: list[Uop]


class OperandLatencyOut(Schema):
    """The latency between two operands in cycles, or an upper bound. `breaks`: there is no dependency."""

    source: str = Field(examples=["2"])
    destination: str = Field(examples=["1"])
    least: float | None = Field(examples=[3.0])
    most: float | None = Field(examples=[3.0])
    at_most: float | None = Field(examples=[None])
    breaks: bool = Field(examples=[False])


class OtherNumberOut(Schema):
    """A documented number that differs from the measured one."""

    source: str = Field(examples=["Agner Fog, Instruction tables"])
    what: str = Field(examples=["latency reg2 → reg1"])
    said: str = Field(examples=["3"])


class FormOnCpuOut(Schema):
    """A form on a CPU; null for unknown facts. `slots` if the mapping limits them."""

    cpu: str = Field(description="The key of the CPU.", examples=["m3"])
    uops: list[Uop] | None
    slots: int | None = Field(examples=[1])
    measured: Cycles | None = Field(description="Measured cycles of one instance alone.")
    spread: float | None = Field(
        description="Largest difference of these between passes or measurements.", examples=[0.004]
    )
    predicted: Cycles | None = Field(description="Cycles of one instance alone, predicted by the mapping.")
    experiment_id: Id | None = Field(description="Id of the experiment with one instance alone.")
    latency_least: float | None = Field(
        description="Smallest latency of all pairs of operands, in cycles.", examples=[3.0]
    )
    latency_most: float | None = Field(examples=[4.0])
    latency_at_most: float | None = Field(
        description="Largest upper bound of a pair, in cycles.", examples=[None]
    )
    latency_set_id: Id | None
    latencies: list[OperandLatencyOut] = Field(description="By pair of operands.")
    conditions: list[str] = Field(
        description="Idioms, false dependencies and fusion.", examples=[["fused with je behind it"]]
    )
    certainty: Certainty
    why: str = Field(description="Source of the number.", examples=["12 witnesses"])
    conflicts: Conflicts
    witnesses: int = Field(examples=[12])
    others: list[OtherUsageOut]
    documents: list[OtherNumberOut]


class InstructionFormOut(Schema):
    """A form of the instruction with a cell per CPU, in their order."""

    scheme_id: Id
    scheme: SchemeText
    cells: list[FormOnCpuOut]


class InstructionCardOut(Schema):
    """All forms of a mnemonic on some CPUs. `silent`: forms without facts on these."""

    isa: str = Field(examples=["x86-64"])
    mnemonic: str = Field(examples=["imul"])
    cpus: list[CpuOut]
    further: list[CpuOut] = Field(description="CPUs that were not selected.")
    forms: list[InstructionFormOut] = Field(description="Registers first, then memory, then immediates.")
    silent: list[SchemeText]
    relatives: list[str] = Field(
        description="The mnemonic with or without a leading v, if it exists.", examples=[[]]
    )


@router.get("/isas/{isa_id}/instructions/{mnemonic}", response=InstructionCardOut)
def get_instruction(request: HttpRequest, isa_id: Id, mnemonic: str, cpus: str = "", forms: str = "") -> Any:
    """Ports, cycles and latency of every form of an instruction, on several CPUs.

    Alternative names of assemblers are accepted: `cmovnz`. `cpus`: keys of up to 8 CPUs, separated by commas;
    by default the first 8, this computer first. `forms`: only forms with these operands, as a search
    abbreviates them, such as `r64` or `xmm, m128`.
    """
    isa = get_object_or_404(ISA, pk=isa_id)
    parameters = {"mnemonic": mnemonic, "isa": isa.name, "cpus": cpus, "forms": forms}
    card_request = read(InstructionRequest, parameters)
    try:
        return card_as_json(card_of(card_request))
    except UnknownInstructionError as error:
        raise ProblemError(404, error.what, where="mnemonic") from error
