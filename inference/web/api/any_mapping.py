"""What port mappings and resource mappings have in common: how they are told, what they describe."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, Manager, OuterRef, QuerySet
from ninja import Schema
from pydantic import Field

from inference.models import InstructionScheme, PortMapping, ResourceMapping
from inference.models.scheme_search import search_schemes
from inference.web.api.paging import Id
from inference.web.api.shapes import Name, Note, Ref, Time, ref


class AnyMappingOut(Schema):
    """A mapping of schemes of one instruction set to what they occupy."""

    id: Id
    name: Name
    note: Note
    created: Time
    isa: Ref
    machine: Ref | None
    schemes: int = Field(description="That it describes.", examples=[577])
    evaluation_id: Id | None = Field(description="The one that says most about it.", examples=[3])


def any_mapping_json(row: Any) -> dict[str, Any]:
    """A row of `port_mappings` or `resource_mappings` as far as they are alike."""
    copied = ("name", "note", "created", "origin", "source", "evaluation_id")
    return {
        "id": row.pk,
        **{name: getattr(row, name) for name in copied},
        "isa": ref(row.isa),
        "machine": ref(row.machine),
        "schemes": row.scheme_count,
    }


def described_schemes(
    row: PortMapping | ResourceMapping, parts: Manager[Any], q: str
) -> QuerySet[InstructionScheme]:
    """The schemes that the mapping describes, in its `parts` (usages or loads), and the search `q` finds."""
    described = Exists(parts.filter(scheme=OuterRef("pk")))
    return search_schemes(InstructionScheme.objects.filter(described, isa=row.isa_id), q)
