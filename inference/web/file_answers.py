"""Texts that a browser stores as files: tables, and rows in the formats of their exports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path
from django.utils.text import slugify

from inference.formats.errors import ExchangeError
from inference.formats.provenance import head_of
from inference.storage.exporting import Export
from inference.web.validation import one_of


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


Exports = Mapping[str, Export[Any]]


def exports_for(exports: Exports, isa: str) -> dict[str, Export[Any]]:
    """Those formats that have words for an instruction set."""
    return {key: export for key, export in exports.items() if export.describes(isa)}


def export_path(rows: QuerySet[Any], page: str, listing: str, exports: Exports) -> URLPattern:
    """The address below a list's at which a row is a file, in its first format or `?format=`.

    Args:
        rows: Those that may be written, with what that needs.
        page: The name of a row's own address.
        listing: The name of the list's address.
        exports: By their keys in the address.
    """

    def export(request: HttpRequest, pk: int) -> HttpResponse:
        """Says on the row's page why nothing was written, where a format cannot have it."""
        row = get_object_or_404(rows.all(), pk=pk)
        known = exports_for(exports, row.isa.name)
        chosen = known[one_of(request, "format", tuple(known), next(iter(known)))]
        try:
            text = chosen.write(row)
        except ExchangeError as error:
            messages.error(request, f"Nothing was exported: {error}")
            return redirect(page, pk)
        return file_answer(text, chosen.content_type, row.name, chosen.extension)

    return path(f"{listing}/<int:pk>/export/", export, name=f"{page}-export")
