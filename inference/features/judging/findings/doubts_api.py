"""What is doubtful in a port mapping, and which experiments speak for it, for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.core.doubting import Doubt, DoubtKind
from inference.features.judging.findings.doubts import DoubtsOf, ask
from inference.features.judging.findings.evidence import DoubtDecision
from inference.features.judging.findings.measuring import about_doubt
from inference.features.judging.findings.request import DoubtsRequest
from inference.models import InstructionScheme, PortMapping
from inference.runs.request import OneOf
from inference.storage.rows import ids_of_schemes
from inference.web.api import access
from inference.web.api.access import Deed
from inference.web.api.document import FILE
from inference.web.api.errors import ProblemError
from inference.web.api.paging import PageOf, Paging, listed_in_memory
from inference.web.api.runs import RunOut
from inference.web.api.shapes import Cycles, Input, SchemeText, Uop, uops_json
from inference.web.file_answers import attachment
from inference.web.validation import Id, RequestError

router = Router()
Kind = Annotated[str, OneOf(kind.value for kind in DoubtKind)]


class DoubtOut(Schema):
    """A reason to doubt what a mapping says of a scheme; its µops, and those that it may have instead."""

    kind: str = Field(description="ambiguous, excluded, mispredicted or conflict.", examples=["ambiguous"])
    scheme_id: Id | None
    scheme: SchemeText
    why: str = Field(examples=["another port mapping explains the measurements as well"])
    uops: list[Uop] | None
    others: list[list[Uop]]


class DecisionOut(Schema):
    """An experiment that would decide: predicted with the µops here, with the others, and measured."""

    experiment: str = Field(examples=["2*add GPR[64]:RW, GPR[64]:R"])
    here: Cycles
    otherwise: Cycles
    measured: Cycles | None


class DoubtInFull(DoubtOut):
    """A doubt with the experiments that it rests on, which a run can measure again, and one that decides."""

    again: list[str] = Field(examples=[["add GPR[64]:RW, GPR[64]:R"]])
    decides: DecisionOut | None


class MeasureDoubt(Input):
    """Which experiments about a doubt are measured, and where."""

    machine: Id
    kind: Kind = Field(description="Of the doubt.", examples=["ambiguous"])
    what: Literal["again", "decide"] = Field(
        "again", description="What it rests on, or the experiment that would decide.", examples=["decide"]
    )


@router.get("/mappings/{mapping_id}/doubts", response=PageOf[DoubtOut])
def list_doubts(
    request: HttpRequest, mapping_id: Id, paging: Query[Paging], asked: Query[DoubtsRequest]
) -> Any:
    """What is ambiguous, excluded, badly predicted, or in conflict with another mapping."""
    found = ask(_mapping(mapping_id), asked)
    return listed_in_memory(found.listed, paging, lambda doubts: _doubts_json(found, doubts))


@router.get("/mappings/{mapping_id}/doubts/export", response=str, openapi_extra={FILE: "text/csv"})
def export_doubts(request: HttpRequest, mapping_id: Id, asked: Query[DoubtsRequest]) -> HttpResponse:
    """All doubts as CSV, or those of one kind."""
    found = ask(_mapping(mapping_id), asked)
    access.note(request, Deed.EXPORTED, found.row)
    return attachment(found.csv, "text/csv; charset=utf-8", f"{found.row.name} doubts", "csv")


@router.get("/mappings/{mapping_id}/doubts/{scheme_id}", response=list[DoubtInFull])
def get_doubts(request: HttpRequest, mapping_id: Id, scheme_id: Id, asked: Query[DoubtsRequest]) -> Any:
    """The doubts about one scheme, with the experiments to measure again and those that would decide.

    Measure them by `POST` to its `/measurements`, or by a run of kind `measure` with the plan `listed`.
    """
    found = ask(_mapping(mapping_id), asked)
    scheme = get_object_or_404(InstructionScheme, pk=scheme_id, isa=found.row.isa_id)
    doubts = [doubt for doubt in found.listed if doubt.scheme == scheme.text]
    decided = found.decisions(doubts)
    return [
        {**line, "again": list(map(str, found.again(doubt))), "decides": _decision(decided.get(doubt))}
        for doubt, line in zip(doubts, _doubts_json(found, doubts), strict=True)
    ]


@router.post("/mappings/{mapping_id}/doubts/{scheme_id}/measurements", response={201: RunOut})
def measure_doubt(
    request: HttpRequest, mapping_id: Id, scheme_id: Id, data: MeasureDoubt, asked: Query[DoubtsRequest]
) -> Any:
    """Measure what a doubt about a scheme rests on again, or the experiment that would decide it."""
    found = ask(_mapping(mapping_id), asked)
    scheme = get_object_or_404(InstructionScheme, pk=scheme_id, isa=found.row.isa_id)
    try:
        proposal = about_doubt(found, data.kind, scheme.text, decides=data.what == "decide")
    except RequestError as error:
        raise ProblemError(422, error.what, where="body kind", right=error.right) from error
    return proposal.from_program(request, data.machine)


def _mapping(mapping_id: int) -> PortMapping:
    return get_object_or_404(PortMapping.objects.select_related("isa", "machine"), pk=mapping_id)


def _doubts_json(found: DoubtsOf, doubts: Sequence[Doubt]) -> list[dict[str, Any]]:
    ids = ids_of_schemes(found.row.isa_id, (doubt.scheme for doubt in doubts))
    ports = found.doubts.ports
    return [
        {
            "kind": doubt.kind.value,
            "scheme_id": ids.get(doubt.scheme),
            "scheme": doubt.scheme,
            "why": doubt.words,
            "uops": None if doubt.here is None else uops_json(doubt.here, ports),
            "others": [uops_json(uops, ports) for uops in doubt.others],
        }
        for doubt in doubts
    ]


def _decision(decision: DoubtDecision | None) -> dict[str, Any] | None:
    if decision is None:
        return None
    told = decision.distinction
    return {
        "experiment": str(told.experiment),
        "here": told.first,
        "otherwise": told.second,
        "measured": decision.measured,
    }
