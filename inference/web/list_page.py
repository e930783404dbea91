"""Lists of rows with names: the same search, order and pages for all of them (`inference/web/list.html`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from inference.models.named import Named
from inference.storage.names import kind_of
from inference.web.paging import Order, Page, page_of


def list_page(
    request: HttpRequest,
    template: str,
    rows: Callable[[str], QuerySet[Any]],
    columns: Mapping[str, str],
    usual: str,
    context: Callable[[Page[Any]], dict[str, Any]] = lambda page: {},
    noun: str = "",
) -> HttpResponse:
    """A page of the rows that have the search's text in name or note, in the order that the address names.

    Args:
        rows: Those with a text in name or note, all for an empty one.
        columns: What an order may be by, as `Order.read` takes them; `usual` is the order without one.
        context: What the template needs besides; `rows` where its cells show more than a row of the model.
        noun: What a row is called, where that is not its model's name.
    """
    q = request.GET.get("q", "").strip()
    order = Order.read(request.GET.get("sort", ""), columns, usual)
    page = page_of(rows(q), order, columns, request.GET.get("page", ""))
    model: type[Named] = rows("").model
    noun = noun or kind_of(model)
    shared = {
        "page": page,
        "rows": page.rows,
        "q": q,
        "sort": str(order),
        "any": bool(page.rows) or model._default_manager.exists(),
        "noun": noun,
        "what": f"{noun}s",
    }
    return render(request, template, shared | context(page))
