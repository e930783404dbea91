"""Other mappings that come of one: points of the front that it was found with, and resource mappings."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router, Schema, Status
from pydantic import Field

from inference.core.resources import MAX_RESOURCES, Conversion
from inference.features.learning.inferring.query import front_of
from inference.models import FrontPoint, PortMapping
from inference.storage.mappings import convert
from inference.storage.names import NAME_LIMIT, NOTE_LIMIT
from inference.storage.results import pick
from inference.web.api.errors import ProblemError
from inference.web.api.shapes import Input, Name, Note, Ref, RowOut
from inference.web.validation import Id

router = Router()


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
