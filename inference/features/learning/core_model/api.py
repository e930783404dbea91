"""API of core models: list, files, and explanations of blocks' times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router, Schema, Status
from pydantic import Field

from inference.core.core_model import Assumptions, BoundKind
from inference.core.errors import CoreError
from inference.features.learning.core_model.comparison import comparable_cores, compare_cores
from inference.features.learning.core_model.query import (
    COLUMNS,
    contents_of,
    core_models,
    reasons_of,
    usable_core_models,
)
from inference.features.learning.core_model.storing import name_ports, store_document, store_parts
from inference.formats.core_model_json import CoreModelDocument, PortNames
from inference.formats.problems import ExchangeError
from inference.measuring.blocks import LOOP
from inference.models import LatencySet, MeasuredFrontEnd, PortMapping, StoredCoreModel
from inference.storage.exporting import CORE_MODEL_EXPORTS
from inference.web.api import access
from inference.web.api.access import AuditAction, read_access
from inference.web.api.answers import MAX_BLOCKS, ChainStepOut, Code, SubstitutionOut
from inference.web.api.errors import ProblemError
from inference.web.api.named_rows import NamedOut, NamedRows
from inference.web.api.shapes import Input, Name, Note, Ref, fields_of, parameter
from inference.web.code_reading import read_blocks
from inference.web.validation import Id

router = Router()


class CoreModelOut(NamedOut):
    """A core model with its parts. `described`: number of schemes with µops."""

    note: Note = Field(examples=[""])
    isa: Ref
    machine: Ref | None
    run: Id | None = Field(validation_alias="run_id")
    mapping: Ref | None
    latencies: Ref | None
    front_end: Ref | None
    described: int = Field(examples=[412])
    with_latencies: int = Field(examples=[405])
    lacking: list[str] = Field(description="Missing parts.")
    sources: dict[str, str] = Field(
        description="The source of each part.",
        examples=[{"latencies": "lab: latencies", "front end": "lab: front end"}],
    )
    port_names: dict[str, str] = Field(
        description="The vendor's names of ports.", examples=[{"0": "ALU0", "1": "ALU1"}]
    )
    selection: dict[str, Any] | None = Field(
        description="Why this mapping was chosen among several; null if there was only one.",
        examples=[{"selected": "Ports and slots", "mixes": 400, "why": "…", "scores": [], "parts": {}}],
    )


class CoreModelIn(Input):
    """Parts of a core model by their ids, or a `document` in the form of an export; not both."""

    name: Name
    note: Annotated[str, Field(max_length=20_000)] = ""
    mapping: Id | None = None
    latencies: Id | None = None
    front_end: Id | None = None
    document: CoreModelDocument | None = None


class PortNamesIn(Input):
    """{port of the mapping: the vendor's name}; omitted ports have none."""

    names: PortNames = Field(examples=[{"0": "ALU0", "1": "ALU1"}])


class CodeToExplain(Code):
    """Basic blocks of x86-64 and assumptions. `without`: bounds to leave out. `alike`: all registers start
    with equal values, so that different ones address the same memory, as in measurements. `nearest`:
    instructions that the model does not describe are replaced by the nearest schemes that it does. `mode`:
    execution of a block without a jump, as straight code (unrolled) or as copies in a loop.
    """

    without: Annotated[list[BoundKind], Field(max_length=len(BoundKind))] = []
    alike: bool = True
    nearest: bool = False
    mode: Literal["unrolled", "loop"] = "unrolled"


class BlockReasonOut(Schema):
    """A core model's explanation of a block, in cycles per iteration."""

    model: str
    cycles: float | None = Field(
        description="The largest bound; null if an instruction is not described.", examples=[4.0]
    )
    bound: str | None = Field(description="The name of the largest bound.", examples=["dependencies"])
    bounds: dict[str, float] = Field(
        description="The largest first.", examples=[{"dependencies": 4.0, "ports": 1.0, "front end": 0.5}]
    )
    why: dict[str, str] = Field(
        description="A short reason per bound.", examples=[{"dependencies": "a chain of 2 steps"}]
    )
    chain: list[int] = Field(
        description="Instructions of the critical chain, from 1, if it is the largest bound.",
        examples=[[1, 2]],
    )
    steps: list[ChainStepOut]
    text: str = Field(examples=["4.0 cycles: the chain rax → imul → rax; ports 1.0, front end 0.5"])
    unknown: list[str] = Field(description="Schemes that the port mapping does not describe.")
    taken: list[SubstitutionOut] = Field(description="Schemes that were replaced by the nearest ones.")
    lacking: list[str] = Field(description="Missing parts of the model.")
    sources: dict[str, str] = Field(
        description="The source of each part of the model.",
        examples=[{"latencies": "lab: latencies", "front end": "lab: front end"}],
    )


def _values(rows: Sequence[StoredCoreModel]) -> list[dict[str, Any]]:
    return [
        fields_of(
            row,
            CoreModelOut,
            **{name: getattr(contents, name) for name in ("described", "with_latencies", "sources")},
            lacking=list(contents.lacking),
        )
        for row, contents in zip(rows, contents_of(rows), strict=True)
    ]


CORE_MODELS = NamedRows(router, "/core-models", "core_model", core_models, CoreModelOut, _values)
CORE_MODELS.add_list(
    COLUMNS,
    "-created",
    """All core models, or those with the text `q` in name or note.

    A run of kind `know` creates one.
    """,
)
CORE_MODELS.add_get("One core model.")
CORE_MODELS.add_changes("Delete a core model; its parts stay.")
CORE_MODELS.add_exports(
    CORE_MODEL_EXPORTS,
    "application/json",
    "The core model as a file (docs/formats.md): `json` imports again, the others are for other tools.",
)


class CoreNumberOut(Schema):
    """A number of two cores; null where it was not measured."""

    subject: str = Field(description="A stage, memory, or a kind of instructions.", examples=["ALU"])
    aspect: str = Field(examples=["ports"])
    unit: str = Field(examples=[""])
    first: float | None = Field(examples=[6])
    second: float | None = Field(examples=[4])
    differs: bool = Field(description="Both are known and differ by more than 3 %.", examples=[True])


class CoreComparisonOut(Schema):
    """Two core models side by side."""

    first: str = Field(examples=["Zen 5 · core model"])
    second: str = Field(examples=["Recorded Zen 4"])
    summary: str = Field(examples=["Zen 5 against Zen 4: ALU ports 6 against 4"])
    numbers: list[CoreNumberOut]


@router.get("/core-models/{core_model_id}/differences", response=CoreComparisonOut)
def compare_core_models(
    request: HttpRequest,
    core_model_id: Id,
    other: str = parameter(..., max_length=200, examples=["Recorded Zen 4"]),
) -> Any:
    """Compare a core model with another one, or with the recorded one, by its name, number by number."""
    row = CORE_MODELS.row(core_model_id)
    choices = comparable_cores(row)
    second = next((choice for choice in choices if choice.name == other), None)
    if second is None:
        names = ", ".join(choice.name for choice in choices) or "none: there is no other core model"
        raise ProblemError(
            404, f"no core model {other!r} of {row.isa.name}", where="query other", right=names
        )
    return compare_cores(row, second).as_json()


@router.post("/core-models", response={201: CoreModelOut})
def make_core_model(request: HttpRequest, data: CoreModelIn) -> Any:
    """Create a core model from existing parts, or from a document."""
    try:
        if data.document is None:
            row = store_parts(
                data.name,
                _part(PortMapping, data.mapping, "mapping"),
                _part(LatencySet, data.latencies, "latencies"),
                _part(MeasuredFrontEnd, data.front_end, "front_end"),
                data.note,
            )
        elif (data.mapping, data.latencies, data.front_end) == (None, None, None):
            data.document.model()
            row = store_document(data.document, data.name, data.note)
        else:
            raise ProblemError(
                422, "both parts and a document", where="body document", right="either of them"
            )
    except (ExchangeError, CoreError) as error:
        raise ProblemError(
            422, str(error), where="body", right="parts of one instruction set, or a valid document"
        ) from error
    return Status(201, CORE_MODELS.value(CORE_MODELS.row(row.pk)))


@router.put("/core-models/{core_model_id}/port-names", response=CoreModelOut)
def name_ports_of_core_model(request: HttpRequest, core_model_id: Id, data: PortNamesIn) -> Any:
    """Replace the vendor's names of the ports."""
    row = CORE_MODELS.row(core_model_id)
    try:
        name_ports(row, data.names)
    except ExchangeError as error:
        raise ProblemError(
            422, str(error), where="body names", right="distinct names of the model's ports"
        ) from error
    access.log_action(request, AuditAction.CHANGED, row)
    return CORE_MODELS.value(row)


@router.post("/core-models/{core_model_id}/why", response=list[BlockReasonOut], auth=read_access)
def explain_blocks(request: HttpRequest, core_model_id: Id, data: CodeToExplain) -> Any:
    """Explain the times of up to 100 blocks by a core model."""
    row = get_object_or_404(usable_core_models(), pk=core_model_id)
    blocks = read_blocks(data.code, MAX_BLOCKS)
    assumed = Assumptions(data.without, data.alike, data.nearest, data.mode == LOOP)
    return [reason.as_json() for reason in reasons_of(blocks, row, assumed)]


def _part(model: Any, pk: int | None, field: str) -> Any:
    if pk is None:
        return None
    row = model.objects.filter(pk=pk).first()
    if row is None:
        raise ProblemError(422, f"there is no {field} {pk}", where=f"body {field}", right="an existing id")
    return row
