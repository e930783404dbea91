"""The list of campaigns."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path

from anica_app.models import Campaign, Predictor
from anica_app.queries.campaigns import CAMPAIGN_ORDERS, campaigns
from inference.models import Run
from inference.web.paging import Order
from inference.web.requests import one_of, whole_number


def campaign_list(request: HttpRequest) -> HttpResponse:
    """All campaigns, newest first, filtered by name or note, kind and tool."""
    q = request.GET.get("q", "").strip()
    kind = one_of(request, "kind", tuple(Campaign.Kind.values))
    tool = whole_number(request, "tool")
    order = Order.read(request.GET.get("sort", ""), CAMPAIGN_ORDERS, "-newest")
    page = campaigns(order, request.GET.get("page", ""), text=q, kind=kind, tool=tool)
    return render(
        request,
        "anica/campaigns.html",
        {
            "page": page,
            "q": q,
            "kind": kind,
            "kinds": Campaign.Kind.choices,
            "tool": tool,
            "tools": Predictor.objects.filter(seats__isnull=False).distinct().order_by("name").only("name"),
            "sort": str(order),
            "any_campaign": bool(page.rows) or Campaign.objects.exists(),
            "working": any(row.run and row.run.state not in Run.FINAL for row in page.rows),
        },
    )


urlpatterns = [path("campaigns/", campaign_list, name="campaigns")]
