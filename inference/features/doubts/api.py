"""What is doubtful in a port mapping, and which experiments speak for it."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.core.doubting import LABELS, Doubt, DoubtKind, Doubts
from inference.features.doubts.query import (
    REPEATS,
    USUAL_ERROR,
    Decision,
    again,
    decisions,
    doubts_head,
    doubts_of,
    write_doubts_csv,
)
from inference.features.evaluations.query import evaluations_of
from inference.features.explained.api import machine_of
from inference.features.measure.listed import listed_config
from inference.features.runs.api import RunOut
from inference.features.runs.runs_of_kind import started
from inference.models import Evaluation, InstructionScheme, PortMapping
from inference.models.scheme_search import texts_found
from inference.storage.rows import ids_of_schemes
from inference.web.api import access
from inference.web.api.access import Deed
from inference.web.api.document import FILE
from inference.web.api.errors import ProblemError
from inference.web.api.paging import Id, PageOf, Paging, listed_in_memory
from inference.web.api.shapes import Cycles, Input, SchemeText, Text, Uop, attachment, uops_json

router = Router()
Kind = Literal[tuple(each.value for each in DoubtKind)]  # type: ignore[valid-type]


class Against(Schema):
    """What a mapping is held against."""

    other: Id | None = Field(
        None, description="Number of another port mapping: conflicts with it.", examples=[None]
    )
    evaluation: Id | None = Field(
        None, description="Number of one of its evaluations in cycles; the first without.", examples=[None]
    )
    over: float = Field(
        USUAL_ERROR,
        ge=0,
        le=10_000,
        description="Per cent of error on average above which a scheme is badly predicted.",
        examples=[20.0],
    )


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
    request: HttpRequest,
    mapping_id: Id,
    paging: Query[Paging],
    against: Query[Against],
    kind: Kind | None = None,
    q: Text = "",
) -> Any:
    """What is ambiguous, excluded, badly predicted, or in conflict with another mapping."""
    row, other, evaluation = _asked(mapping_id, against)
    doubts = doubts_of(row, other, evaluation, against.over)
    found = [each for each in doubts.rows if kind is None or each.kind == kind]
    if q.strip():
        texts = texts_found(row.isa_id, q)
        found = [each for each in found if each.scheme in texts]
    return listed_in_memory(found, paging, lambda shown: _told(row, doubts, shown))


@router.get("/mappings/{mapping_id}/doubts/export", response=str, openapi_extra={FILE: "text/csv"})
def export_doubts(
    request: HttpRequest, mapping_id: Id, against: Query[Against], kind: Kind | None = None
) -> HttpResponse:
    """All doubts as CSV, or those of one kind."""
    row, other, evaluation = _asked(mapping_id, against)
    doubts = doubts_of(row, other, evaluation, against.over)
    found = tuple(each for each in doubts.rows if kind is None or each.kind == kind)
    text = write_doubts_csv(Doubts(found, doubts.ports), doubts_head(row, other))
    access.note(request, Deed.EXPORTED, row)
    return attachment(text, "text/csv; charset=utf-8", f"{row.name} doubts", "csv")


@router.get("/mappings/{mapping_id}/doubts/{scheme_id}", response=list[DoubtInFull])
def get_doubts(request: HttpRequest, mapping_id: Id, scheme_id: Id, against: Query[Against]) -> Any:
    """The doubts about one scheme, with the experiments to measure again and those that would decide.

    Measure them by `POST` to its `/measurements`, or by a run of kind `measure` with the plan `listed`.
    """
    row, other, evaluation = _asked(mapping_id, against)
    scheme = get_object_or_404(InstructionScheme, pk=scheme_id, isa=row.isa_id)
    doubts = doubts_of(row, other, evaluation, against.over)
    found = doubts.of(scheme.text)
    decided = decisions(row, other, found)
    return [
        {
            **told,
            "again": [str(one) for one in again(row, each, other, evaluation)],
            "decides": _decision(decided.get(each)),
        }
        for each, told in zip(found, _told(row, doubts, found), strict=True)
    ]


@router.post("/mappings/{mapping_id}/doubts/{scheme_id}/measurements", response={201: RunOut})
def measure_doubt(
    request: HttpRequest, mapping_id: Id, scheme_id: Id, data: MeasureDoubt, against: Query[Against]
) -> Any:
    """Measure what a doubt about a scheme rests on again, or the experiment that would decide it."""
    row, other, evaluation = _asked(mapping_id, against)
    scheme = get_object_or_404(InstructionScheme, pk=scheme_id, isa=row.isa_id)
    doubts = doubts_of(row, other, evaluation, against.over).of(scheme.text)
    doubt = next((each for each in doubts if each.kind == data.kind), None)
    decided = None if doubt is None else decisions(row, other, [doubt]).get(doubt)
    if doubt is None or (data.what == "decide" and decided is None):
        missing = f"Nothing of this kind is doubtful in {scheme.text}"
        what = missing if doubt is None else "No short experiment decides this doubt"
        raise ProblemError(422, what, where="body kind", right="a doubt that the scheme's list has")
    machine = machine_of(row, data.machine)
    if data.what == "decide":
        assert decided is not None
        experiments, words = [decided.distinction.experiment], "what decides"
    else:
        experiments, words = again(row, doubt, other, evaluation), LABELS[doubt.kind]
    config = listed_config(machine.pk, experiments, REPEATS)
    usual = f"{scheme.text[:100]}: {words}, measured on {machine.name}"[:180]
    return started(request, "measure", config, usual)


def _asked(mapping_id: int, against: Against) -> tuple[PortMapping, PortMapping | None, Evaluation | None]:
    row = get_object_or_404(PortMapping.objects.select_related("isa", "machine"), pk=mapping_id)
    other = None
    if against.other is not None:
        other = get_object_or_404(PortMapping.objects.select_related("isa"), pk=against.other)
        if other.isa_id != row.isa_id:
            raise ProblemError(
                422,
                f"{other.name!r} describes {other.isa.name}, not {row.isa.name}",
                where="query other",
                right="a mapping of the same instruction set",
            )
    evaluations = evaluations_of(row).filter(unit=Evaluation.Unit.CYCLES)
    if against.evaluation is None:
        return row, other, evaluations.first()
    return row, other, get_object_or_404(evaluations, pk=against.evaluation)


def _told(row: PortMapping, doubts: Doubts, shown: Any) -> list[dict[str, Any]]:
    found: list[Doubt] = list(shown)
    ids = ids_of_schemes(row.isa_id, (each.scheme for each in found))
    return [
        {
            "kind": each.kind.value,
            "scheme_id": ids.get(each.scheme),
            "scheme": each.scheme,
            "why": each.words,
            "uops": None if each.here is None else uops_json(each.here, doubts.ports),
            "others": [uops_json(uops, doubts.ports) for uops in each.others],
        }
        for each in found
    ]


def _decision(found: Decision | None) -> dict[str, Any] | None:
    if found is None:
        return None
    said = found.distinction
    return {
        "experiment": str(said.experiment),
        "here": said.first,
        "otherwise": said.second,
        "measured": found.measured,
    }
