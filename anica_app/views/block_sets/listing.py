"""The list of basic-block sets, and where a file for a new one is chosen."""

from __future__ import annotations

from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_POST

from anica_app.exchange.incoming import sort_of_content
from anica_app.models import BasicBlockSet
from anica_app.queries.block_sets import SET_ORDERS, block_sets
from inference.features.uploads.query import keep_all
from inference.runs.errors import LimitError
from inference.storage.errors import ExchangeError
from inference.web.paging import Order, page_of


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


@require_POST
def block_set_paste(request: HttpRequest) -> HttpResponse:
    """Keep a pasted text as if it were an uploaded file; its preview comes next."""
    text = request.POST.get("text", "").replace("\r\n", "\n")
    error = "" if text.strip() else "There is nothing to read: paste a text first."
    if not error and sort_of_content(text.encode("utf-8", "replace")) is None:
        error = "This is no text of perf annotate, perf script or objdump, and no table of blocks."
    if not error:
        file = SimpleUploadedFile("pasted.txt", text.encode("utf-8", "replace"))
        try:
            return redirect("upload-preview", keep_all([file], request.user)[0].pk)
        except (ExchangeError, LimitError) as problem:
            error = str(problem)
    context = {"limit": settings.UPLOAD_LIMIT_BYTES, "error": error, "text": text[:100_000]}
    return render(request, "anica/block_set_upload.html", context, status=400)


urlpatterns = [
    path("block-sets/", block_set_list, name="block-sets"),
    path("block-sets/upload/", block_set_upload, name="block-set-upload"),
    path("block-sets/paste/", block_set_paste, name="block-set-paste"),
]
