"""Responses that a browser stores as files: tables, and rows in export formats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path
from django.utils.text import slugify

from inference.formats.problems import ExchangeError
from inference.formats.provenance import head_of
from inference.storage.exporting import Export
from inference.web.validation import choice_parameter


def attachment(content: str | bytes, content_type: str, name: str, extension: str) -> HttpResponse:
    """A response to be stored under a file name made from `name`."""
    file_name = f"{slugify(name) or 'export'}.{extension}"
    return HttpResponse(
        content,
        content_type=content_type,
        headers={"Content-Disposition": f'attachment; filename="{file_name}"'},
    )


def streamed_table(parts: Iterable[str], name: str) -> StreamingHttpResponse:
    """A large CSV table, sent while it is computed."""
    answer = StreamingHttpResponse(parts, content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{slugify(name) or "export"}.csv"'
    return answer


def file_answer(text: str, content_type: str, name: str, extension: str) -> HttpResponse:
    """A UTF-8 text to be stored under a file name made from `name`."""
    return attachment(text, f"{content_type}; charset=utf-8", name, extension)


def table_answer(text: str, name: str, **head: str) -> HttpResponse:
    """A CSV table with a head of product, citation, and the facts `head`."""
    return file_answer(head_of(**head) + text, "text/csv", name, "csv")


Exports = Mapping[str, Export[Any]]


def exports_for(exports: Exports, isa: str) -> dict[str, Export[Any]]:
    return {key: export for key, export in exports.items() if export.describes(isa)}


def export_path(rows: QuerySet[Any], page: str, listing: str, exports: Exports) -> URLPattern:
    """The address of a row's export, in the format `?format=`, else the first one.

    Args:
        rows: Rows that may be exported, with the relations that the formats read.
        page: URL name of a row's page.
        listing: First part of the path.
        exports: Formats by their keys in the address.
    """

    def export(request: HttpRequest, pk: int) -> HttpResponse:
        """A row that the format cannot express leads back to its page, with a message."""
        row = get_object_or_404(rows.all(), pk=pk)
        supported = exports_for(exports, row.isa.name)
        answer_format = supported[
            choice_parameter(request, "format", tuple(supported), next(iter(supported)))
        ]
        try:
            text = answer_format.write(row)
        except ExchangeError as error:
            messages.error(request, f"The file was not exported: {error}")
            return redirect(page, pk)
        return file_answer(text, answer_format.content_type, row.name, answer_format.extension)

    return path(f"{listing}/<int:pk>/export/", export, name=f"{page}-export")
