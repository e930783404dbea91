"""What a user does with a basic-block set: take it away as a file, name and note, delete it or a column."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.utils.text import slugify
from django.views.decorators.http import require_POST

from anica_app.exchange.block_sets import export
from anica_app.models import BasicBlockSet, BlockColumn
from inference.web.naming import delete_page, edit_page


def block_set_csv(request: HttpRequest, pk: int) -> HttpResponseBase:
    """The whole set as CSV, a piece at a time; it imports again."""
    row = get_object_or_404(BasicBlockSet, pk=pk)
    name = f"{slugify(row.name) or 'blocks'}.csv"
    return StreamingHttpResponse(
        export(row),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def block_set_edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Name and note of a set."""
    return edit_page(request, get_object_or_404(BasicBlockSet, pk=pk), "block-set", "block-sets")


def block_set_delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a set, after saying what goes with it."""
    return delete_page(request, get_object_or_404(BasicBlockSet, pk=pk), "block-set", "block-sets")


@require_POST
def block_column_delete(request: HttpRequest, pk: int, column: int) -> HttpResponse:
    """Take a column with its answers out of the set."""
    row = get_object_or_404(BlockColumn, pk=column, block_set=pk)
    row.delete()
    messages.success(request, f"The column “{row.name}” has been removed.")
    return redirect(f"{reverse('block-set', args=[pk])}?tab=columns")


urlpatterns = [
    path("block-sets/<int:pk>/blocks.csv", block_set_csv, name="block-set-csv"),
    path("block-sets/<int:pk>/edit/", block_set_edit, name="block-set-edit"),
    path("block-sets/<int:pk>/delete/", block_set_delete, name="block-set-delete"),
    path("block-sets/<int:pk>/columns/<int:column>/delete/", block_column_delete, name="block-column-delete"),
]
