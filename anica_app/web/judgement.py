"""A user's mark and note on a discovery or a family, by page, API and shell."""

from __future__ import annotations

from typing import Annotated

from django.contrib import messages
from django.http import HttpRequest
from pydantic import Field, ValidationError

from anica_app.models import Discovery, Family
from inference.runs.request import AllowedTexts
from inference.storage.names import NOTE_LIMIT
from inference.web.api.shapes import Input
from inference.web.validation import error_message

Mark = Annotated[str, AllowedTexts(Discovery.Mark.values)]


class Judgement(Input):
    """A mark and a note; an absent one is not changed."""

    mark: Mark | None = Field(
        None, description="known, reported, fixed, no-fault, or empty.", examples=["reported"]
    )
    note: str | None = Field(None, max_length=NOTE_LIMIT, examples=["https://github.com/llvm/…"])

    def store(self, row: Discovery | Family) -> None:
        row.mark = row.mark if self.mark is None else self.mark
        row.note = row.note if self.note is None else self.note.strip()
        row.save(update_fields=["mark", "note"])


def store_judgement(request: HttpRequest, row: Discovery | Family) -> None:
    """Store the form of a page; errors become a message."""
    stated = {
        name: value for name, value in request.POST.items() if name not in ("csrfmiddlewaretoken", "back")
    }
    try:
        Judgement.model_validate({"mark": "", "note": "", **stated}).store(row)
        messages.success(request, "Saved.")
    except ValidationError as error:
        first = error.errors()[0]
        messages.error(request, f"The judgement was not saved: {first['loc'][0]}: {error_message(first)}")
