"""What comes of an inference beside its mapping: verdicts with witnesses, points of its front,
conversions.
"""

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
from inference.storage.fronts import pick
from inference.storage.judging import grounds_of
from inference.storage.names import NAME_LIMIT, NOTE_LIMIT
from inference.storage.resource_mappings import convert
from inference.web.api.errors import ProblemError
from inference.web.api.paging import PageOf, Paging, listed, sorts
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

VerdictSort = Annotated[str, sorts(VERDICT_COLUMNS)]


class EvidenceOut(Schema):
    """Two measurements that show whether a scheme can evade a set of ports: the flood alone, and with it."""

    blocker: SchemeText
    copies: int = Field(examples=[8])
    ports: list[str] = Field(examples=[["0", "1"]])
    base_cycles: float | None = Field(examples=[4.0])
    cycles: float | None = Field(examples=[4.5])
    samples: int = Field(examples=[11])
    seen: str = Field(examples=["surplus"])


class VerdictOut(Schema):
    """What explainable inference concluded of a scheme. `uops` is null for one without a usage."""

    scheme_id: Id
    scheme: SchemeText
    outcome: str = Field(examples=["characterised"])
    stage: str = Field(examples=["blocking"])
    reason: str = Field(examples=[""])
    text: str = Field(description="The reason with its numbers.", examples=[""])
    uops: list[Uop] | None
    conflicts: Conflicts
    cycles: float | None = Field(description="Measured alone.", examples=[0.25])
    counted: float | None = Field(description="µops counted.", examples=[1.0])
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
    """What explainable inference concluded of each scheme, with witnesses; nothing for other mappings."""
    row = get_object_or_404(PortMapping.objects.select_related("isa"), pk=mapping_id)
    rows = verdicts(row, VerdictQuery(outcome=outcome, stage=stage, q=q, doubtful=doubtful))
    return listed(rows, VERDICT_COLUMNS, sort, paging, lambda found: _verdicts(row, found))


def _verdicts(row: PortMapping, found: Sequence[Characterisation]) -> list[dict[str, Any]]:
    usage = usages_in(row, [each.scheme_id for each in found])
    grounds = grounds_of(row, [each.scheme.text for each in found])
    shown: dict[int, list[Witness]] = {each.pk: [] for each in found}
    for witness in (
        Witness.objects.filter(characterisation__in=list(shown)).select_related("blocker").order_by("id")
    ):
        shown[witness.characterisation_id].append(witness)
    return [
        fields_of(
            each,
            VerdictOut,
            scheme=each.scheme.text,
            uops=uops_json(usage[each.scheme_id], row.ports) if each.scheme_id in usage else None,
            conflicts=grounds.conflict_words(each.scheme.text),
            alternatives=[uops_json(uops, row.ports) for uops in each.alternatives],
            witnesses=[
                fields_of(
                    witness,
                    EvidenceOut,
                    blocker=witness.blocker.text,
                    ports=[row.ports[bit] for bit in ports_in(witness.mask)],
                )
                for witness in shown[each.pk]
            ],
        )
        for each in found
    ]


class FrontPointOut(RowOut):
    """A mapping between the most accurate and the most compact; `mapping` is what it has become, if any."""

    place: int = Field(examples=[0])
    error: float = Field(description="Mean relative error on what was learnt from.", examples=[0.03])
    volume: int = Field(description="µops times ports.", examples=[900])
    kinds: int = Field(description="Different µops.", examples=[14])
    mape: float | None = Field(description="Per cent, on what the run judged by.", examples=[6.3])
    mapping: Ref | None = Field(validation_alias="picked")


class NewConversion(Input):
    """How a port mapping becomes a resource mapping."""

    name: str = Field(min_length=1, max_length=NAME_LIMIT, examples=["Zen 3 as resources"])
    note: str = Field("", max_length=NOTE_LIMIT)
    max_resources: int = Field(Conversion.max_resources, ge=1, le=MAX_RESOURCES)


class MadeOut(Schema):
    """What was made, or had been made before."""

    id: Id
    name: Name
    note: Note


@router.get("/mappings/{mapping_id}/front", response=list[FrontPointOut])
def get_front(request: HttpRequest, mapping_id: Id) -> Any:
    """The front that the mapping was found with or picked from, most accurate first; there may be none."""
    found = front_of(get_object_or_404(PortMapping, pk=mapping_id))
    return () if found is None else found.points


@router.post("/mappings/{mapping_id}/front/{place}/pick", response={200: MadeOut, 201: MadeOut})
def pick_point(request: HttpRequest, mapping_id: Id, place: Id) -> Any:
    """Make a point of the front a mapping of its own; a point has one mapping, however often it is picked."""
    found = front_of(get_object_or_404(PortMapping, pk=mapping_id))
    rows = FrontPoint.objects.filter(mapping=None if found is None else found.owner).select_related(
        "mapping__isa"
    )
    point = rows.filter(place=place).first()
    if point is None:
        raise ProblemError(
            404, "The front has no such place", where="path place", right="one that the front lists"
        )
    made, fresh = pick(point)
    return Status(201 if fresh else 200, made)


@router.post("/mappings/{mapping_id}/conversions", response={201: MadeOut})
def convert_mapping(request: HttpRequest, mapping_id: Id, data: NewConversion) -> Any:
    """Make a resource mapping that predicts the same."""
    row = get_object_or_404(PortMapping.objects.select_related("isa"), pk=mapping_id)
    made = convert(row, data.name.strip(), Conversion(data.max_resources), data.note)
    return Status(201, made)
