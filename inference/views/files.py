"""Texts that a browser stores as files."""

from __future__ import annotations

from django.http import HttpResponse
from django.utils.text import slugify

from inference.exchange.provenance import head_of


def file_answer(text: str, content_type: str, name: str, extension: str) -> HttpResponse:
    """The text under a file name made of what it is called."""
    return HttpResponse(
        text,
        content_type=f"{content_type}; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{slugify(name) or "export"}.{extension}"'},
    )


def table_answer(text: str, name: str, **about: str) -> HttpResponse:
    """A table as CSV behind the product, what it is `about`, and how to cite it."""
    return file_answer(head_of(**about) + text, "text/csv", name, "csv")
