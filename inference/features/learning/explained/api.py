"""API of an inference's further results: verdicts with witnesses, the front, conversions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema, Status
from pydantic import Field

from inference.core.mapping import ports_in
from inference.core.resources import MAX_RESOURCES, Conversion
from inference.features.learning.explained.proof_api import router as proof_router
from inference.features.learning.explained.query import VERDICT_COLUMNS, VerdictQuery, usages_in, verdicts
from inference.features.learning.inferring.front import front_of
from inference.models import Characterisation, FrontPoint, PortMapping, Witness
from inference.storage.judging import grounds_of
from inference.storage.mappings import convert
from inference.storage.names import NAME_LIMIT, NOTE_LIMIT
from inference.storage.results import pick
from inference.web.api.errors import ProblemError
from inference.web.api.paging import PageOf, Paging, allowed_sorts, list_answer
from inference.web.api.shapes import (
    Conflicts,
    Input,
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
from inference.web.validation import Id

router = Router()
router.add_router("", proof_router)

VerdictSort = Annotated[str, allowed_sorts(VERDICT_COLUMNS)]


class EvidenceOut(Schema):
    """A witness: measurements of a flooded set of ports without and with the scheme."""

    blocker: SchemeText
    copies: int = Field(examples=[8])
    ports: list[str] = Field(examples=[["0", "1"]])
    base_cycles: float | None = Field(examples=[4.0])
    cycles: float | None = Field(examples=[4.5])
    samples: int = Field(examples=[11])
    seen: str = Field(examples=["surplus"])


class VerdictOut(Schema):
    """The verdict on a scheme. `uops` is null for a scheme without a usage."""

    scheme_id: Id
    scheme: SchemeText
    outcome: str = Field(examples=["characterised"])
    stage: str = Field(examples=["blocking"])
    reason: str = Field(examples=[""])
    text: str = Field(description="The reason with its numbers.", examples=[""])
    uops: list[Uop] | None
    conflicts: Conflicts
    cycles: float | None = Field(description="Measured cycles of the scheme alone.", examples=[0.25])
    counted: float | None = Field(
        description="µops counted by performance counters; null without.", examples=[1.0]
    )
    doubts: list[Any] = Field(examples=[[]])
    alternatives: list[list[Uop]]
    witnesses: list[EvidenceOut]


@router.get("/mappings/{mapping_id}/verdicts", response=PageOf[VerdictOut])
def list_verdicts(
    request: HttpRequest,
    mapping_id: Id,
    paging: Query[Paging],
    q: Text = "",
    outcome: Text = "",
    stage: Text = "",
    doubtful: bool = False,
    sort: VerdictSort = "row",
) -> Any:
    """List the verdicts on schemes with their witnesses; empty for mappings of other algorithms."""
    row = get_object_or_404(PortMapping.objects.select_related("isa"), pk=mapping_id)
    rows = verdicts(row, VerdictQuery(outcome=outcome, stage=stage, q=q, doubtful=doubtful))
    return list_answer(rows, VERDICT_COLUMNS, sort, paging, lambda page: _verdicts(row, page))


def _verdicts(row: PortMapping, page: Sequence[Characterisation]) -> list[dict[str, Any]]:
    usage = usages_in(row, [verdict.scheme_id for verdict in page])
    grounds = grounds_of(row, [verdict.scheme.text for verdict in page])
    witnesses: dict[int, list[Witness]] = {verdict.pk: [] for verdict in page}
    for witness in (
        Witness.objects.filter(characterisation__in=list(witnesses)).select_related("blocker").order_by("id")
    ):
        witnesses[witness.characterisation_id].append(witness)
    return [
        fields_of(
            verdict,
            VerdictOut,
            scheme=verdict.scheme.text,
            uops=uops_json(usage[verdict.scheme_id], row.ports) if verdict.scheme_id in usage else None,
            conflicts=grounds.conflict_words(verdict.scheme.text),
            alternatives=[uops_json(uops, row.ports) for uops in verdict.alternatives],
            witnesses=[
                fields_of(
                    witness,
                    EvidenceOut,
                    blocker=witness.blocker.text,
                    ports=[row.ports[bit] for bit in ports_in(witness.mask)],
                )
                for witness in witnesses[verdict.pk]
            ],
        )
        for verdict in page
    ]


class FrontPointOut(RowOut):
    """A mapping of the front; `mapping` is its stored row, null if it was not picked."""

    place: int = Field(examples=[0])
    error: float = Field(description="Mean relative error on the training experiments.", examples=[0.03])
    volume: int = Field(description="Volume: sum over µops of the number of their ports.", examples=[900])
    kinds: int = Field(description="Number of different µops.", examples=[14])
    mape: float | None = Field(
        description="MAPE on the run's held-out measurements, in per cent.", examples=[6.3]
    )
    mapping: Ref | None = Field(validation_alias="picked")


class NewConversion(Input):
    """A conversion to a resource mapping: more than `max_resources` resources are refused."""

    name: str = Field(min_length=1, max_length=NAME_LIMIT, examples=["Zen 3 as resources"])
    note: str = Field("", max_length=NOTE_LIMIT)
    max_resources: int = Field(Conversion.max_resources, ge=1, le=MAX_RESOURCES)


class CreatedOut(Schema):
    """The created row, or the existing one."""

    id: Id
    name: Name
    note: Note


@router.get("/mappings/{mapping_id}/front", response=list[FrontPointOut])
def get_front(request: HttpRequest, mapping_id: Id) -> Any:
    """The front of the mapping's run, most accurate first; empty if there is none."""
    front = front_of(get_object_or_404(PortMapping, pk=mapping_id))
    return () if front is None else front.points


@router.post("/mappings/{mapping_id}/front/{place}/pick", response={200: CreatedOut, 201: CreatedOut})
def pick_point(request: HttpRequest, mapping_id: Id, place: Id) -> Any:
    """Store a point of the front as a mapping, or return the mapping that it has."""
    front = front_of(get_object_or_404(PortMapping, pk=mapping_id))
    rows = FrontPoint.objects.filter(mapping=None if front is None else front.owner).select_related(
        "mapping__isa"
    )
    point = rows.filter(place=place).first()
    if point is None:
        raise ProblemError(
            404, "The front has no such place", where="path place", right="a place of the front"
        )
    mapping, is_new = pick(point)
    return Status(201 if is_new else 200, mapping)


@router.post("/mappings/{mapping_id}/conversions", response={201: CreatedOut})
def convert_mapping(request: HttpRequest, mapping_id: Id, data: NewConversion) -> Any:
    """Create an equivalent resource mapping."""
    row = get_object_or_404(PortMapping.objects.select_related("isa"), pk=mapping_id)
    resource_mapping = convert(row, data.name.strip(), Conversion(data.max_resources), data.note)
    return Status(201, resource_mapping)
