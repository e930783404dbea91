"""Rows as files: the same address for everything that has exports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path

from inference.formats.problems import ExchangeError
from inference.storage.exporting import Export
from inference.web.file_answers import file_answer
from inference.web.requests import one_of

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
