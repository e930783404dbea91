"""API of resource mappings: list, loads and files."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.core.resources import ResourceMapping as Resources
from inference.features.library.resources.query import (
    RESOURCE_MAPPING_COLUMNS,
    LoadClass,
    classes_of,
    resource_mappings,
)
from inference.models import ResourceMapping
from inference.storage.exporting import RESOURCE_EXPORTS
from inference.storage.mappings import load_resource_mapping
from inference.web.api.named_rows import NamedRows
from inference.web.api.paging import PageOf, Paging, list_answer_in_memory
from inference.web.api.result_shapes import AnyMappingOut, described_schemes
from inference.web.api.shapes import Cycles, Name, Text
from inference.web.validation import Id

router = Router()


class ResourceMappingOut(AnyMappingOut):
    """A conjunctive resource mapping, as Palmed infers them."""

    name: Name = Field(examples=["Palmed, Skylake"])
    origin: str = Field(description="import or conversion.", examples=["import"])
    source: str = Field(examples=["palmed.json, Palmed resource mapping (JSON)"])
    resources: list[str] = Field(examples=[["r0", "r1", "r01"]])


class LoadClassOut(Schema):
    """Schemes with equal loads, which no experiment can distinguish: cycles of each resource per instance."""

    schemes: list[str] = Field(examples=[["add GPR[64]:RW, GPR[64]:R"]])
    cycles: Cycles
    loads: dict[str, float] = Field(examples=[{"r01": 0.5}])


RESOURCE_MAPPINGS = NamedRows(
    router, "/resource-mappings", "resource_mapping", resource_mappings, ResourceMappingOut
)
RESOURCE_MAPPINGS.add_list(
    RESOURCE_MAPPING_COLUMNS, "-created", "All resource mappings, or those with the text `q` in name or note."
)
RESOURCE_MAPPINGS.add_get("One resource mapping.")
RESOURCE_MAPPINGS.add_changes(
    "Delete a resource mapping with its evaluations, unless an unfinished run needs it."
)
RESOURCE_MAPPINGS.add_exports(
    RESOURCE_EXPORTS,
    "application/json",
    "The resource mapping as a file: `json` (docs/formats.md), which imports again.",
)


@router.get("/resource-mappings/{resource_mapping_id}/loads", response=PageOf[LoadClassOut])
def list_loads(request: HttpRequest, resource_mapping_id: Id, paging: Query[Paging], q: Text = "") -> Any:
    """Classes of schemes with equal loads, restricted to schemes that match the search `q`."""
    row = get_object_or_404(ResourceMapping.objects.select_related("isa"), pk=resource_mapping_id)
    schemes = described_schemes(row, row.loads, q)
    value = load_resource_mapping(row)
    classes = classes_of(value, set(schemes.values_list("text", flat=True)))
    return list_answer_in_memory(classes, paging, lambda page: [_class(row, value) for row in page])


def _class(load_class: LoadClass, value: Resources) -> dict[str, Any]:
    loads = {value.resources[index]: load for index, load in load_class.loads}
    return {"schemes": load_class.schemes, "cycles": load_class.cycles, "loads": loads}
