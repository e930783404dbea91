"""What is doubtful in a port mapping, and which experiments speak for it."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.api.errors import ProblemError
from inference.api.paging import Id, PageOf, Paging, listed_in_memory
from inference.api.shapes import Cycles, SchemeText, Text, Uop, uops_json
from inference.core.doubting import Doubt, DoubtKind, Doubts
from inference.models import Evaluation, InstructionScheme, PortMapping
from inference.models.scheme_search import search_schemes
from inference.queries.deciding import Decision, again, decisions
from inference.queries.doubts import USUAL_ERROR, doubts_of
from inference.queries.evaluations import evaluations_of

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
        texts = set(search_schemes(row.isa.schemes.all(), q).values_list("text", flat=True))
        found = [each for each in found if each.scheme in texts]
    return listed_in_memory(found, paging, lambda shown: _told(row, doubts, shown))


@router.get("/mappings/{mapping_id}/doubts/{scheme_id}", response=list[DoubtInFull])
def get_doubts(request: HttpRequest, mapping_id: Id, scheme_id: Id, against: Query[Against]) -> Any:
    """The doubts about one scheme, with the experiments to measure again and those that would decide.

    Measure them by a run of kind `measure` with the plan `listed`.
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
    texts = {each.scheme for each in found}
    ids = dict(InstructionScheme.objects.filter(isa=row.isa_id, text__in=texts).values_list("text", "pk"))
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
