"""Pieces that answers of several families have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any, Self

from django.db.models import Exists, Manager, Model, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.text import slugify
from ninja import Schema
from ninja.params import functions
from pydantic import ConfigDict, Field, ModelWrapValidatorHandler, model_validator

from inference.core.mapping import Uops, ports_in
from inference.models import InstructionScheme, PortMapping, ResourceMapping
from inference.models.isa import Named
from inference.models.scheme_search import search_schemes
from inference.storage.exporting import Export
from inference.storage.names import NAME_LIMIT, NOTE_LIMIT, kind_of, rename
from inference.web.api import access
from inference.web.api.access import Deed
from inference.web.api.errors import Flaw, ProblemError
from inference.web.naming import delete_unless_needed, dependents_of
from inference.web.validation import Id, few_flaws

Name = Annotated[str, Field(examples=["Zen 3, inferred"])]
Note = Annotated[str, Field(examples=["measured with frequency scaling off"])]
Time = Annotated[datetime, Field(examples=["2026-11-22T09:30:00Z"])]
SchemeText = Annotated[str, Field(examples=["add GPR[64]:RW, GPR[64]:R"])]
ExperimentText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=20_000,
        description="Schemes with their numbers: `2*add GPR[64]:RW, GPR[64]:R; 1*imul …`.",
        examples=["2*add GPR[64]:RW, GPR[64]:R"],
    ),
]
Cycles = Annotated[float, Field(description="Cycles per execution of the experiment.", examples=[0.5])]
Text = Annotated[str, Field(max_length=500)]
Unit = Annotated[str, Field(description="cycles, cpi or ipc.", examples=["cycles"])]


parameter: Callable[..., Any] = functions.Query
"""A parameter of an address with its default, limits and description; `ninja.Query` is typed for models."""


class Input(Schema):
    """What a request brings: fields that nobody knows are an error, not ignored."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="wrap")
    @classmethod
    def _few_flaws(cls, given: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        return few_flaws(cls, given, validate)


class Ref(Schema):
    """Something else with a page and a number of its own."""

    id: Id
    name: Name


class NameAndNote(Input):
    """Another name, another note, or both; what is absent stays."""

    name: str | None = Field(None, min_length=1, max_length=NAME_LIMIT, examples=["Zen 3, second attempt"])
    note: str | None = Field(None, max_length=NOTE_LIMIT, examples=["without AVX"])


class Uop(Schema):
    """µops of one kind: how many, and the ports that each can use."""

    count: int = Field(examples=[1])
    ports: list[str] = Field(examples=[["0", "1", "5"]])


Conflicts = Annotated[
    list[str],
    Field(
        description="What other results of the machine say of the scheme, each with both sides.",
        examples=[["PMEvo: 1×[1,2,10]; explained: 3 µops; not settled"]],
    ),
]


class WordOut(Schema):
    """The strongest word that may be used of a result, and why it is no stronger."""

    text: str = Field(examples=["best of 3, 12 experiments unexplained"])
    is_strong: bool = Field(
        description="Whether held-out experiments and all other results of the machine bear it out.",
        examples=[False],
    )
    reasons: list[str] = Field(examples=[["contradicted by lab: ports and slots"]])


class Scores(Schema):
    """How well predictions fit. Null where undefined: constant numbers, fewer than two."""

    n: int = Field(description="Measurements that were predicted.", examples=[1000])
    mape: float | None = Field(None, description="Mean absolute percentage error.", examples=[6.3])
    pearson: float | None = Field(None, description="Pearson's r.", examples=[0.98])
    kendall: float | None = Field(None, description="Kendall's τ.", examples=[0.92])


def ref(row: Any) -> dict[str, Any] | None:
    """A row as `Ref`; None for none."""
    return None if row is None else {"id": row.pk, "name": str(row)}


def uops_json(uops: Uops, ports: Sequence[str]) -> list[dict[str, Any]]:
    """Each kind of µop with the names of its ports."""
    return [{"count": count, "ports": [ports[bit] for bit in ports_in(mask)]} for mask, count in uops]


def by_id(rows: Iterable[Model]) -> dict[int, Any]:
    """{row id: row}."""
    return {row.pk: row for row in rows}


# Exports as answers: texts that are stored as files.


def file_answer(request: HttpRequest, row: Any, export: Export[Any]) -> HttpResponse:
    """A row in this format, under a file name made of its own. Raises `ExchangeError`."""
    text = export.write(row)
    access.note(request, Deed.EXPORTED, row)
    return attachment(text, f"{export.content_type}; charset=utf-8", row.name, export.extension)


def attachment(content: str | bytes, content_type: str, name: str, extension: str) -> HttpResponse:
    """Content to be stored as a file."""
    file_name = f"{slugify(name) or 'export'}.{extension}"
    return HttpResponse(
        content,
        content_type=content_type,
        headers={"Content-Disposition": f'attachment; filename="{file_name}"'},
    )


# Renaming and deleting: the same rules for everything that has a name, as on its pages.


class DependentOut(Schema):
    """What depends on something that may be deleted, and its fate; `blocks`: it forbids the deletion."""

    what: str = Field(examples=["3 evaluations"])
    fate: str = Field(examples=["are deleted with it"])
    blocks: bool = Field(examples=[False])


def dependents_json(row: Named) -> list[dict[str, Any]]:
    """What the page asks about before something is deleted, as `DependentOut`."""
    return [{"what": each.label, "fate": each.fate, "blocks": each.blocks} for each in dependents_of(row)]


def renamed(request: HttpRequest, row: Named, wanted: NameAndNote) -> None:
    """Give the row its new name and note. Raises `NameTakenError` and `ExchangeError`."""
    name = row.name if wanted.name is None else wanted.name.strip()
    rename(row, name, row.note if wanted.note is None else wanted.note.strip())
    access.note(request, Deed.CHANGED, row)


def deleted(row: Named) -> None:
    """Delete the row with what belongs to it. Raises `ProblemError` (409) where something needs it."""
    blockers = delete_unless_needed(row)
    if blockers:
        needed = [Flaw(each.label, right=each.fate) for each in blockers]
        raise ProblemError(409, f"The {kind_of(type(row))} {row.name!r} cannot be deleted now", flaws=needed)


# What port mappings and resource mappings have in common: how they are told, what they describe.


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


class HeatMapOut(Schema):
    """`counts[row][column]`: predictions in bin `row`, measurements in `column`, `limit` / `bins` wide."""

    bins: int = Field(examples=[35])
    limit: float = Field(examples=[10.0])
    n: int = Field(examples=[1000])
    outside: int = Field(examples=[0])
    counts: list[list[int]] = Field(examples=[[[3, 0], [1, 5]]])


class SchemeErrorOut(Schema):
    """Relative errors of the experiments with a scheme, in per cent; `signed` > 0: predicted too long."""

    scheme: SchemeText
    n: int = Field(examples=[40])
    signed: float = Field(examples=[-3.0])
    absolute: float = Field(examples=[5.1])
