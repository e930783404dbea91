"""Texts that a browser stores as files, and tables among them."""

from __future__ import annotations

from collections.abc import Iterable

from django.http import HttpResponse, StreamingHttpResponse
from django.utils.text import slugify

from inference.formats.provenance import head_of


def attachment(content: str | bytes, content_type: str, name: str, extension: str) -> HttpResponse:
    """Content to be stored as a file."""
    file_name = f"{slugify(name) or 'export'}.{extension}"
    return HttpResponse(
        content,
        content_type=content_type,
        headers={"Content-Disposition": f'attachment; filename="{file_name}"'},
    )


def streamed_table(parts: Iterable[str], name: str) -> StreamingHttpResponse:
    """A large table as CSV, sent as it is made."""
    answer = StreamingHttpResponse(parts, content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{slugify(name) or "export"}.csv"'
    return answer


def file_answer(text: str, content_type: str, name: str, extension: str) -> HttpResponse:
    """The text under a file name made of what it is called."""
    return attachment(text, f"{content_type}; charset=utf-8", name, extension)


def table_answer(text: str, name: str, **about: str) -> HttpResponse:
    """A table as CSV behind the product, what it is `about`, and how to cite it."""
    return file_answer(head_of(**about) + text, "text/csv", name, "csv")
