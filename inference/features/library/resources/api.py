"""Resource mappings: the list, their loads, what they predict, and files."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema, Status
from pydantic import Field

from inference.core.resources import ResourceMapping as Resources
from inference.features.library.resources.query import (
    RESOURCE_MAPPING_COLUMNS,
    LoadClass,
    classes_of,
    resource_mappings,
)
from inference.formats.exporting import RESOURCE_EXPORTS
from inference.models import ResourceMapping
from inference.runs.request import OneOf
from inference.storage.resource_mappings import load_resource_mapping
from inference.web.api.document import FILE
from inference.web.api.mapping_shapes import AnyMappingOut, any_mapping_json, described_schemes
from inference.web.api.named_rows import (
    DependentOut,
    NameAndNote,
    deleted,
    dependents_json,
    export_answer,
    renamed,
)
from inference.web.api.paging import PageOf, Paging, listed, listed_in_memory, sorts
from inference.web.api.shapes import Cycles, Name, Text
from inference.web.validation import Id

router = Router()
ResourceSort = Annotated[str, sorts(RESOURCE_MAPPING_COLUMNS)]
ResourceFormat = Annotated[str, OneOf(RESOURCE_EXPORTS)]


class ResourceMappingOut(AnyMappingOut):
    """A conjunctive resource mapping, as Palmed infers them."""

    name: Name = Field(examples=["Palmed, Skylake"])
    origin: str = Field(description="import or conversion.", examples=["import"])
    source: str = Field(examples=["palmed.json, Palmed resource mapping (JSON)"])
    resources: list[str] = Field(examples=[["r0", "r1", "r01"]])


class LoadClassOut(Schema):
    """Schemes that no experiment can tell apart: what one of them takes of each resource, in cycles."""

    schemes: list[str] = Field(examples=[["add GPR[64]:RW, GPR[64]:R"]])
    cycles: Cycles
    loads: dict[str, float] = Field(examples=[{"r01": 0.5}])


@router.get("/resource-mappings", response=PageOf[ResourceMappingOut])
def list_resource_mappings(
    request: HttpRequest, paging: Query[Paging], q: Text = "", sort: ResourceSort = "-created"
) -> Any:
    """All resource mappings, those with the text `q` in name or note."""
    rows = resource_mappings(q.strip())
    return listed(rows, RESOURCE_MAPPING_COLUMNS, sort, paging, lambda found: [_row(row) for row in found])


@router.get("/resource-mappings/{resource_mapping_id}", response=ResourceMappingOut)
def get_resource_mapping(request: HttpRequest, resource_mapping_id: Id) -> Any:
    """One resource mapping."""
    return _row(get_object_or_404(resource_mappings(), pk=resource_mapping_id))


@router.patch("/resource-mappings/{resource_mapping_id}", response=ResourceMappingOut)
def rename_resource_mapping(request: HttpRequest, resource_mapping_id: Id, data: NameAndNote) -> Any:
    """Give a resource mapping another name or note."""
    row = get_object_or_404(resource_mappings(), pk=resource_mapping_id)
    renamed(request, row, data)
    return _row(row)


@router.get("/resource-mappings/{resource_mapping_id}/dependents", response=list[DependentOut])
def list_dependents_of_resource_mapping(request: HttpRequest, resource_mapping_id: Id) -> Any:
    """What depends on this resource mapping, and what becomes of it when the resource mapping is deleted."""
    return dependents_json(get_object_or_404(ResourceMapping, pk=resource_mapping_id))


@router.delete("/resource-mappings/{resource_mapping_id}", response={204: None})
def delete_resource_mapping(request: HttpRequest, resource_mapping_id: Id) -> Any:
    """Delete a resource mapping with its evaluations, unless an unfinished run needs it."""
    deleted(get_object_or_404(ResourceMapping, pk=resource_mapping_id))
    return Status(204, None)


@router.get("/resource-mappings/{resource_mapping_id}/loads", response=PageOf[LoadClassOut])
def list_loads(request: HttpRequest, resource_mapping_id: Id, paging: Query[Paging], q: Text = "") -> Any:
    """Classes of schemes with the same loads, of those that the search `q` finds."""
    row = get_object_or_404(ResourceMapping.objects.select_related("isa"), pk=resource_mapping_id)
    found = described_schemes(row, row.loads, q)
    value = load_resource_mapping(row)
    classes = classes_of(value, set(found.values_list("text", flat=True)))
    return listed_in_memory(classes, paging, lambda page: [_class(each, value) for each in page])


@router.get(
    "/resource-mappings/{resource_mapping_id}/exports/{file_format}",
    response=str,
    openapi_extra={FILE: "application/json"},
)
def export_resource_mapping(
    request: HttpRequest, resource_mapping_id: Id, file_format: ResourceFormat
) -> HttpResponse:
    """The resource mapping as a file: `json` (docs/formats.md), which imports again."""
    row = get_object_or_404(ResourceMapping.objects.select_related("isa", "machine"), pk=resource_mapping_id)
    return export_answer(request, row, RESOURCE_EXPORTS[file_format])


def _class(each: LoadClass, value: Resources) -> dict[str, Any]:
    loads = {value.resources[index]: load for index, load in each.loads}
    return {"schemes": each.schemes, "cycles": each.cycles, "loads": loads}


def _row(row: Any) -> dict[str, Any]:
    """A row of `resource_mappings`."""
    return {**any_mapping_json(row), "resources": row.resources}
