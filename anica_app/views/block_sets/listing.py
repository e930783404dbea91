"""The list of basic-block sets, and where a file for a new one is chosen."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path

from anica_app.models import BasicBlockSet
from anica_app.queries.block_sets import SET_ORDERS, block_sets
from inference.queries.paging import Order, page_of


def block_set_list(request: HttpRequest) -> HttpResponse:
    """All of them, newest first, filtered by name or note."""
    q = request.GET.get("q", "").strip()
    order = Order.read(request.GET.get("sort", ""), SET_ORDERS, "-newest")
    page = page_of(block_sets(q), order, SET_ORDERS, request.GET.get("page", ""))
    context = {
        "page": page,
        "q": q,
        "sort": str(order),
        "any": bool(page.rows) or BasicBlockSet.objects.exists(),
    }
    return render(request, "anica/block_sets.html", context)


def block_set_upload(request: HttpRequest) -> HttpResponse:
    """What can be read, and the field for the file; it goes the way of all uploads."""
    return render(request, "anica/block_set_upload.html", {"limit": settings.UPLOAD_LIMIT_BYTES})


urlpatterns = [
    path("block-sets/", block_set_list, name="block-sets"),
    path("block-sets/upload/", block_set_upload, name="block-set-upload"),
]
