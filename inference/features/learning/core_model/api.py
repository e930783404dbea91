"""Core models for programs: the list, their files, and why blocks take as long as they do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema, Status
from pydantic import Field

from inference.core.core_model import Assumptions, BoundKind
from inference.core.errors import CoreError
from inference.features.learning.core_model.port_names import name_ports
from inference.features.learning.core_model.query import (
    COLUMNS,
    CoreModelContents,
    contents_of,
    core_models,
    reasons_of,
    usable_core_models,
)
from inference.features.learning.core_model.storing import store_document, store_parts
from inference.formats.core_model_json import CoreModelDocument, PortNamesTold
from inference.formats.errors import ExchangeError
from inference.isa.blocks import read_blocks
from inference.measuring.blocks import LOOP
from inference.models import LatencySet, MeasuredFrontEnd, PortMapping, StoredCoreModel
from inference.runs.request import OneOf
from inference.storage.exporting import CORE_MODEL_EXPORTS
from inference.web.api import access
from inference.web.api.access import READS, Deed, reading
from inference.web.api.answers import MOST_BLOCKS, Code
from inference.web.api.document import FILE
from inference.web.api.errors import ProblemError
from inference.web.api.named_rows import (
    DependentOut,
    NameAndNote,
    deleted,
    dependents_json,
    export_answer,
    renamed,
)
from inference.web.api.paging import PageOf, Paging, listed, sorts
from inference.web.api.shapes import Input, Name, Ref, Text, Time, ref
from inference.web.validation import Id

router = Router()
CoreModelSort = Annotated[str, sorts(COLUMNS)]
CoreModelFormat = Annotated[str, OneOf(CORE_MODEL_EXPORTS)]


class CoreModelOut(Schema):
    """A core model with what it consists of. `described`: schemes with µops."""

    id: Id
    name: Name
    note: str = Field(examples=[""])
    created: Time
    isa: Ref
    machine: Ref | None
    run: Id | None
    mapping: Ref | None
    latencies: Ref | None
    front_end: Ref | None
    described: int = Field(examples=[412])
    with_latencies: int = Field(examples=[405])
    lacking: list[str] = Field(description="Parts that it does not have.")
    sources: dict[str, str] = Field(
        description="What each part was taken from.",
        examples=[{"latencies": "lab: latencies", "front end": "lab: front end"}],
    )
    port_names: dict[str, str] = Field(
        description="What the vendor calls ports.", examples=[{"0": "ALU0", "1": "ALU1"}]
    )
    selection: dict[str, Any] | None = Field(
        description="Why this mapping of several was taken; null where there was no choice.",
        examples=[{"selected": "Ports and slots", "mixes": 400, "why": "…", "scores": [], "parts": {}}],
    )


class CoreModelIn(Input):
    """Parts of a core model by their ids, or a `document` as an export has it; either, not both."""

    name: Name
    note: Annotated[str, Field(max_length=20_000)] = ""
    mapping: Id | None = None
    latencies: Id | None = None
    front_end: Id | None = None
    document: CoreModelDocument | None = None


class PortNamesIn(Input):
    """What the vendor calls the ports, by their names in the mapping; ports that are left out have none."""

    names: PortNamesTold = Field(examples=[{"0": "ALU0", "1": "ALU1"}])


class CodeToExplain(Code):
    """Basic blocks of x86-64, which bounds are left out, and whether registers start alike: different ones
    lead to one place in memory then, as where machines measure blocks. `nearest`: instructions that the model
    does not describe are taken for the nearest schemes that it does. `mode`: how a block without a jump is
    executed, as straight code (unrolled) or as copies in a loop."""

    without: Annotated[list[BoundKind], Field(max_length=len(BoundKind))] = []
    alike: bool = True
    nearest: bool = False
    mode: Literal["unrolled", "loop"] = "unrolled"


class ChainStepOut(Schema):
    """A step of the critical chain; instructions count from 1."""

    instruction: int = Field(examples=[2])
    through: str = Field(description="Register, flag or memory that it waits for.", examples=["rax"])
    source: str = Field(examples=["1"])
    destination: str = Field(examples=["1"])
    cycles: float = Field(examples=[3.0])
    basis: str = Field(description="What the cycles rest on.", examples=["measured"])


class TakenSchemeOut(Schema):
    """A scheme that the model does not describe, the one that it was taken for, and in what they differ."""

    scheme: str = Field(examples=["add GPR[16]:RW, GPR[16]:R"])
    nearest: str = Field(examples=["add GPR[32]:RW, GPR[32]:R"])
    differs: str = Field(examples=["other width"])
    parts: list[str] = Field(
        description="What of it was taken: ports, latencies, idioms.", examples=[["ports", "latencies"]]
    )


class BlockReasonOut(Schema):
    """What a core model says of a block, in cycles per iteration."""

    model: str
    cycles: float | None = Field(
        description="The largest bound; null where an instruction is not described.", examples=[4.0]
    )
    bound: str | None = Field(description="The name of the largest bound.", examples=["dependencies"])
    bounds: dict[str, float] = Field(
        description="The largest first.", examples=[{"dependencies": 4.0, "ports": 1.0, "front end": 0.5}]
    )
    why: dict[str, str] = Field(
        description="Of each bound, in a few words.", examples=[{"dependencies": "a chain of 2 steps"}]
    )
    chain: list[int] = Field(
        description="Instructions of the critical chain, from 1, where it is the largest bound.",
        examples=[[1, 2]],
    )
    steps: list[ChainStepOut]
    text: str = Field(examples=["4.0 cycles: the chain rax → imul → rax; ports 1.0, front end 0.5"])
    unknown: list[str] = Field(description="Schemes that the port mapping does not describe.")
    taken: list[TakenSchemeOut] = Field(description="Schemes that were taken for the nearest ones.")
    lacking: list[str] = Field(description="Parts that the model does not have.")
    sources: dict[str, str] = Field(
        description="What each part of the model was taken from.",
        examples=[{"latencies": "lab: latencies", "front end": "lab: front end"}],
    )


@router.get("/core-models", response=PageOf[CoreModelOut])
def list_core_models(
    request: HttpRequest, paging: Query[Paging], q: Text = "", sort: CoreModelSort = "-created"
) -> Any:
    """All core models; those with a text in name or note where `q` gives one.

    A run of the kind `know` makes one.
    """
    return listed(core_models(q.strip()), COLUMNS, sort, paging, _rows)


@router.post("/core-models", response={201: CoreModelOut})
def make_core_model(request: HttpRequest, data: CoreModelIn) -> Any:
    """Make a core model of parts that are there, or of a document."""
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
            raise ProblemError(422, "both parts and a document", where="body document", right="one of them")
    except (ExchangeError, CoreError) as error:
        raise ProblemError(
            422, str(error), where="body", right="parts or a document that go together"
        ) from error
    return Status(201, _row(core_models().get(pk=row.pk)))


@router.get("/core-models/{core_model_id}", response=CoreModelOut)
def get_core_model(request: HttpRequest, core_model_id: Id) -> Any:
    """One core model."""
    return _row(get_object_or_404(core_models(), pk=core_model_id))


@router.patch("/core-models/{core_model_id}", response=CoreModelOut)
def rename_core_model(request: HttpRequest, core_model_id: Id, data: NameAndNote) -> Any:
    """Give a core model another name or note."""
    row = get_object_or_404(core_models(), pk=core_model_id)
    renamed(request, row, data)
    return _row(row)


@router.put("/core-models/{core_model_id}/port-names", response=CoreModelOut)
def name_ports_of_core_model(request: HttpRequest, core_model_id: Id, data: PortNamesIn) -> Any:
    """Say what the vendor calls the ports, instead of what was said before."""
    row = get_object_or_404(core_models(), pk=core_model_id)
    try:
        name_ports(row, data.names)
    except ExchangeError as error:
        raise ProblemError(
            422, str(error), where="body names", right="a name of its own for each port that has one"
        ) from error
    access.note(request, Deed.CHANGED, row)
    return _row(row)


@router.get("/core-models/{core_model_id}/dependents", response=list[DependentOut])
def list_dependents_of_core_model(request: HttpRequest, core_model_id: Id) -> Any:
    """What depends on this core model, and what becomes of it when the core model is deleted."""
    return dependents_json(get_object_or_404(StoredCoreModel, pk=core_model_id))


@router.delete("/core-models/{core_model_id}", response={204: None})
def delete_core_model(request: HttpRequest, core_model_id: Id) -> Any:
    """Delete a core model; its parts stay."""
    deleted(get_object_or_404(StoredCoreModel, pk=core_model_id))
    return Status(204, None)


@router.get(
    "/core-models/{core_model_id}/exports/{file_format}",
    response=str,
    openapi_extra={FILE: "application/json"},
)
def export_core_model(request: HttpRequest, core_model_id: Id, file_format: CoreModelFormat) -> HttpResponse:
    """The core model as a file (docs/formats.md): `json` imports again, the others are for other tools."""
    return export_answer(
        request, get_object_or_404(core_models(), pk=core_model_id), CORE_MODEL_EXPORTS[file_format]
    )


@router.post(
    "/core-models/{core_model_id}/why", response=list[BlockReasonOut], auth=reading, openapi_extra=READS
)
def explain_blocks(request: HttpRequest, core_model_id: Id, data: CodeToExplain) -> Any:
    """Why up to 100 blocks take as long as they do, by all that is known of a core."""
    row = get_object_or_404(usable_core_models(), pk=core_model_id)
    blocks = read_blocks(data.code, MOST_BLOCKS)
    assumed = Assumptions(data.without, data.alike, data.nearest, data.mode == LOOP)
    return [reason.as_json() for reason in reasons_of(blocks, row, assumed)]


def _part(model: Any, pk: int | None, field: str) -> Any:
    if pk is None:
        return None
    row = model.objects.filter(pk=pk).first()
    if row is None:
        raise ProblemError(422, f"there is no {field} {pk}", where=f"body {field}", right="the id of one")
    return row


def _row(row: StoredCoreModel) -> dict[str, Any]:
    (told,) = _rows([row])
    return told


def _rows(rows: Sequence[StoredCoreModel]) -> list[dict[str, Any]]:
    return [_told(row, contents) for row, contents in zip(rows, contents_of(rows), strict=True)]


def _told(row: StoredCoreModel, contents: CoreModelContents) -> dict[str, Any]:
    return {
        "id": row.pk,
        **{name: getattr(row, name) for name in ("name", "note", "created")},
        "isa": ref(row.isa),
        "run": row.run_id,
        **{
            name: None if getattr(row, name) is None else ref(getattr(row, name))
            for name in ("machine", "mapping", "latencies", "front_end")
        },
        "described": contents.described,
        "with_latencies": contents.with_latencies,
        "lacking": list(contents.lacking),
        "sources": contents.sources,
        "port_names": row.port_names,
        "selection": row.selection,
    }
