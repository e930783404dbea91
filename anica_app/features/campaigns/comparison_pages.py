"""Campaigns side by side: where their configurations differ, and what of the one the others have found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from anica_app.features.campaigns.asked import asked_of
from anica_app.features.campaigns.comparing import ComparedCampaigns, compared_campaigns, differing
from anica_app.features.campaigns.coverage_pages import start_coverage
from anica_app.features.campaigns.discovery_rows import found_of
from anica_app.features.coverage.query import MOST_CAMPAIGNS
from anica_app.models import Campaign, Discovery
from inference.web.paging import page_in_memory
from inference.web.presentation import UNKNOWN
from inference.web.validation import row_numbers, whole_number


def campaign_compare(request: HttpRequest) -> HttpResponse:
    """Those that the address names with `c`, each once."""
    ids = _ids(request.GET.getlist("c"))
    compared = compared_campaigns(ids)
    rows = compared.rows
    others = Campaign.objects.exclude(pk__in=ids).order_by("-id").only("name")
    context: dict[str, Any] = {"campaigns": rows, "others": others[:200], "ids": [row.pk for row in rows]}
    if len(rows) >= 2:
        context |= _compared(request, compared)
    return render(request, "anica/campaigns/compare.html", context)


def _ids(texts: Sequence[str]) -> list[int]:
    ids = set(row_numbers(texts))
    if len(ids) > MOST_CAMPAIGNS:
        raise BadRequest(f"at most {MOST_CAMPAIGNS} campaigns can be compared at a time, not {len(ids)}")
    return sorted(ids)


def _compared(request: HttpRequest, compared: ComparedCampaigns) -> dict[str, Any]:
    shared, one_sided = differing([_facts(row) for row in compared.rows], UNKNOWN)
    context = {
        "runs": compared.runs,
        "found": compared.found,
        "differing": shared,
        "one_sided": one_sided,
        "sides": compared.sides,
        "pairs": compared.pairs,
    }
    if compared.found:
        alone = compared.alone
        page = page_in_memory(alone, whole_number(request, "page", 0) or 0)
        by_pk = Discovery.listed().in_bulk(page.rows)
        rows = [found_of(by_pk[pk], compared.covered) for pk in page.rows if pk in by_pk]
        context |= {"page": page, "alone": rows}
    return context


def _facts(row: Campaign) -> dict[str, str]:
    tools = " and ".join(tool.name for tool in row.tools)
    items = asked_of(row)
    told = {item.label: item.text or ", ".join(link.text for link in item.links) for item in items}
    return {"Predictors": tools, "Kind": row.get_kind_display(), **told}


@require_POST
def campaign_overlap(request: HttpRequest) -> HttpResponse:
    """Start to hold the discoveries of campaigns against each other."""
    ids = _ids(request.POST.getlist("c"))
    back = f"{reverse('campaign-compare')}?{urlencode([('c', pk) for pk in ids])}"
    names = Campaign.objects.filter(pk__in=ids).values_list("name", flat=True)
    return start_coverage(request, {"campaigns": ids}, " and ".join(names), back)


urlpatterns = [
    path("campaigns/compare/", campaign_compare, name="campaign-compare"),
    path("campaigns/compare/start/", campaign_overlap, name="campaign-overlap"),
]
