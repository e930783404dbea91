"""Exports as answers: texts that are stored as files."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.text import slugify

from inference.api import access
from inference.api.access import Deed
from inference.exchange.exporting import Export


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
