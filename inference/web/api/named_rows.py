"""Renaming, deleting and exporting rows that have names: the same rules as on their pages."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Schema
from pydantic import Field

from inference.models.named import Named
from inference.storage.exporting import Export
from inference.storage.names import NAME_LIMIT, NOTE_LIMIT, kind_of, rename
from inference.web.api import access
from inference.web.api.access import Deed
from inference.web.api.errors import Flaw, ProblemError
from inference.web.api.shapes import Input
from inference.web.deleting import delete_unless_needed, dependents_of
from inference.web.file_answers import attachment


class NameAndNote(Input):
    """Another name, another note, or both; what is absent stays."""

    name: str | None = Field(None, min_length=1, max_length=NAME_LIMIT, examples=["Zen 3, second attempt"])
    note: str | None = Field(None, max_length=NOTE_LIMIT, examples=["without AVX"])


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


def export_answer(request: HttpRequest, row: Any, export: Export[Any]) -> HttpResponse:
    """A row in this format, under a file name made of its own. Raises `ExchangeError`."""
    text = export.write(row)
    access.note(request, Deed.EXPORTED, row)
    return attachment(text, f"{export.content_type}; charset=utf-8", row.name, export.extension)
