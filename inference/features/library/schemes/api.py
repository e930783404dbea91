"""API of instruction sets and their schemes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import File, Query, Router, Schema, Status
from ninja.files import UploadedFile
from pydantic import Field

from inference.features.library.resources.query import loads_of
from inference.features.library.schemes.cpu_table import SchemeTable, TableRequest, scheme_table
from inference.features.library.schemes.query import SCHEME_COLUMNS, MappingFacts, facts_of, instruction_sets
from inference.models import ISA, InstructionScheme, Measurement
from inference.storage.instruction_sets import BYTES_AT_ONCE, load_document
from inference.storage.rows import measurements_of
from inference.web.api import access
from inference.web.api.access import AuditAction
from inference.web.api.errors import ProblemError
from inference.web.api.paging import PageOf, Paging, allowed_sorts, list_answer
from inference.web.api.shapes import (
    Conflicts,
    Cycles,
    Name,
    Note,
    Ref,
    RowOut,
    SchemeText,
    Text,
    Uop,
    fields_of,
    uops_json,
)
from inference.web.validation import Id, read

router = Router()
SchemeSort = Annotated[str, allowed_sorts(SCHEME_COLUMNS)]
MIN_FIRST_LENGTH = {"length": "experiment__length"}


class IsaOut(RowOut):
    """An instruction set with numbers of its rows."""

    id: Id
    name: Name = Field(examples=["x86-64"])
    note: Note
    source: str = Field(examples=["iced-x86 1.21"])
    schemes: int = Field(validation_alias="scheme_count", examples=[14000])
    default_schemes: int = Field(
        validation_alias="default_count",
        description="Number of schemes in the default set for inference.",
        examples=[1500],
    )
    experiment_sets: int = Field(validation_alias="set_count", examples=[12])
    mappings: int = Field(validation_alias="mapping_count", examples=[5])
    resource_mappings: int = Field(validation_alias="resource_mapping_count", examples=[1])


class SchemeOnCpuOut(Schema):
    """What a CPU says about a scheme; null for unknown numbers, in cycles."""

    cpu: str = Field(description="Key of the CPU.", examples=["m3"])
    uops: list[Uop] | None
    cycles: float | None = Field(description="Of one instance alone.", examples=[1.0])
    measured: bool = Field(description="Whether the cycles are measured, not predicted.", examples=[True])
    latency_least: float | None = Field(examples=[3.0])
    latency_most: float | None = Field(examples=[3.0])
    latency_is_bound: bool = Field(examples=[False])


class SchemeOut(Schema):
    id: Id
    text: SchemeText
    mnemonic: str = Field(examples=["add"])
    extension: str = Field(description="Required CPU features, joined by +.", examples=["X64"])
    category: str = Field(examples=["arithmetic"])
    memory: str = Field(description='Memory access: "", R, W, RW or A (address only).', examples=[""])
    width: int = Field(description="Widest operand in bits.", examples=[64])
    exclusion: str = Field(description="Why it is not in the default set; empty if it is.", examples=[""])
    starter: bool = Field(examples=[True])


class UsageIn(Schema):
    """The µops of a scheme in one port mapping, with evidence; null if unknown.

    `outcome` and `witnesses` are those of explainable inference; `error` and `signed_error` are means in per
    cent over the `experiments` with the scheme in the evaluation that has most of them.
    """

    mapping: Ref
    uops: list[Uop] | None
    cycles: Cycles | None
    outcome: str | None = Field(examples=["characterised"])
    witnesses: int = Field(examples=[3])
    evaluation_id: Id | None = Field(examples=[3])
    experiments: int = Field(examples=[40])
    error: float | None = Field(examples=[7.5])
    signed_error: float | None = Field(examples=[-2.5])
    conflicts: Conflicts


class LoadsIn(Schema):
    """The loads of a scheme in one resource mapping, the largest first, in cycles."""

    mapping: Ref
    cycles: Cycles
    loads: dict[str, float] = Field(examples=[{"r01": 0.5}])


class SchemeOnCpusOut(SchemeOut):
    """A scheme of the table, with what the chosen CPUs say about it."""

    cpus: list[SchemeOnCpuOut] = Field(examples=[[]])


class SchemeInFull(SchemeOut):
    """A scheme with its µops and loads in all mappings."""

    isa: Ref
    operands: list[dict[str, Any]] = Field(
        examples=[[{"kind": "register", "text": "GPR[64]", "access": "RW"}]]
    )
    usages: list[UsageIn]
    resource_loads: list[LoadsIn]


class MeasuredIn(Schema):
    """A measurement that contains the scheme."""

    id: Id
    experiment_id: Id
    experiment: str = Field(examples=["2*add GPR[64]:RW, GPR[64]:R"])
    experiment_set: Ref
    state: str = Field(examples=["settled"])
    cycles: Cycles | None


@router.get("/isas", response=list[IsaOut])
def list_isas(request: HttpRequest) -> Any:
    """List the loaded instruction sets."""
    return instruction_sets()


@router.post("/isas", response={201: IsaOut})
def load_isa(request: HttpRequest, document: File[UploadedFile]) -> Any:
    """Load an instruction set from a document (docs/formats.md), or update the existing one of its name."""
    if (document.size or 0) > BYTES_AT_ONCE:
        limit = f"up to {BYTES_AT_ONCE >> 20} MiB; load larger ones by manage.py load-isa FILE"
        raise ProblemError(413, "The document is too large", where="form document", right=limit)
    isa = load_document(document.read())
    access.log_action(request, AuditAction.UPLOADED, isa)
    return Status(201, instruction_sets().get(pk=isa.pk))


@router.get("/isas/{isa_id}", response=IsaOut)
def get_isa(request: HttpRequest, isa_id: Id) -> Any:
    """An instruction set with its numbers."""
    return get_object_or_404(instruction_sets(), pk=isa_id)


@router.get("/isas/{isa_id}/schemes", response=PageOf[SchemeOnCpusOut])
def list_schemes(
    request: HttpRequest,
    isa_id: Id,
    paging: Query[Paging],
    q: Text = "",
    avx512: bool = False,
    sort: SchemeSort = "fit",
    cpus: str = "",
    show: str = "",
) -> Any:
    """List the schemes that match a search in the syntax of the scheme table: `imul ext:AVX2 memory:none`.

    Names of assemblers, uops.info and LLVM are accepted: `cmovnz`, `addq`, `ADD_R64_R64`, `ADD64rr`. Sorted
    by `fit`, exact names come first, then measured schemes, then common register widths. AVX-512 is included
    if the search names it, or with `avx512`.

    `cpus`: keys of up to 4 CPUs, separated by commas, as instruction cards have them: `m3,r-zen-5`. `show`:
    `known` for schemes that one of these knows, `differing` for those with different numbers.
    """
    isa = get_object_or_404(ISA, pk=isa_id)
    keys = tuple(filter(None, cpus.split(",")))
    query = {"q": q, "cpu": keys, "show": show, "avx512": avx512}
    table = scheme_table(isa, read(TableRequest, query))
    return list_answer(table.rows, SCHEME_COLUMNS, sort, paging, partial(_on_cpus, table))


def _on_cpus(table: SchemeTable, rows: Sequence[InstructionScheme]) -> list[dict[str, Any]]:
    return [
        fields_of(
            row,
            SchemeOnCpusOut,
            cpus=[
                {
                    "cpu": column.cpu.key,
                    "uops": None if value.uops is None else uops_json(value.uops, column.cpu.ports),
                    "cycles": value.cycles,
                    "measured": value.is_measured,
                    "latency_least": value.least_latency,
                    "latency_most": value.latency,
                    "latency_is_bound": value.is_bound,
                }
                for column, value in table.cells(row.text)
            ],
        )
        for row in rows
    ]


@router.get("/schemes/{scheme_id}", response=SchemeInFull)
def get_scheme(request: HttpRequest, scheme_id: Id) -> Any:
    """A scheme with its µops and loads in all mappings that describe it or have a verdict on it, newest
    first.
    """
    row = get_object_or_404(InstructionScheme.objects.select_related("isa"), pk=scheme_id)
    loads = [
        {"mapping": line.mapping, "cycles": line.cycles, "loads": dict(line.loads)} for line in loads_of(row)
    ]
    usages = [_usage_json(facts) for facts in facts_of(row)]
    return fields_of(row, SchemeInFull, usages=usages, resource_loads=loads)


@router.get("/schemes/{scheme_id}/measurements", response=PageOf[MeasuredIn])
def list_measurements_of_scheme(request: HttpRequest, scheme_id: Id, paging: Query[Paging]) -> Any:
    """List the measurements that contain a scheme, in all sets, shortest experiments first."""
    row = get_object_or_404(InstructionScheme, pk=scheme_id)
    rows = Measurement.objects.filter(experiment__terms__scheme=row).select_related(
        "experiment", "experiment_set"
    )
    return list_answer(rows, MIN_FIRST_LENGTH, "length", paging, _measured_json)


def _usage_json(facts: MappingFacts) -> dict[str, Any]:
    residual = facts.residual
    error = None if residual is None else residual.error
    return fields_of(
        facts,
        UsageIn,
        uops=None if facts.uops is None else uops_json(facts.uops, facts.mapping.ports),
        outcome=None if facts.verdict is None else facts.verdict.outcome,
        evaluation_id=None if residual is None else residual.evaluation.pk,
        experiments=0 if error is None else error.n,
        error=None if error is None else error.absolute,
        signed_error=None if error is None else error.signed,
    )


def _measured_json(rows: Any) -> list[dict[str, Any]]:
    values = {
        stored.id: stored.value
        for stored in measurements_of(Measurement.objects.filter(pk__in=[r.pk for r in rows]))
    }
    return [
        fields_of(row, MeasuredIn, experiment=str(values[row.pk].experiment))
        for row in rows
        if row.pk in values
    ]
