"""Campaigns side by side: where their configurations differ, and what of the one the others have found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from anica_app.campaigning.covering import MOST_CAMPAIGNS
from anica_app.models import Campaign, Discovery
from anica_app.queries.campaigns import listed_campaigns
from anica_app.queries.coverage_runs import coverage_runs
from anica_app.views.campaigns.asked import asked_of
from anica_app.views.campaigns.coverage import start_coverage
from anica_app.views.campaigns.shown import Found, found_of
from inference.core.protocols import Json
from inference.queries.paging import page_in_memory
from inference.views.address import whole_number
from inference.views.presentation import UNKNOWN


@dataclass(frozen=True)
class Side:
    """A campaign with what it alone has found: so many of its `discoveries` no other one includes."""

    campaign: Campaign
    discoveries: int
    alone: int | None
    covered: int | None


@dataclass(frozen=True)
class Pair:
    """How many discoveries of one campaign are included by some of another one's."""

    shared: int | None
    of: int

    @property
    def share(self) -> float | None:
        """As a share."""
        return None if self.shared is None or not self.of else self.shared / self.of

    @property
    def shade(self) -> int:
        """From 0 to 8, for the cell's background."""
        return round(8 * (self.share or 0.0))


def campaign_compare(request: HttpRequest) -> HttpResponse:
    """Those that the address names with `c`, each once."""
    ids = _ids(request.GET.getlist("c"))
    rows = list(listed_campaigns().defer(None).filter(pk__in=ids).order_by("pk"))
    others = Campaign.objects.exclude(pk__in=ids).order_by("-id").only("name")
    context: dict[str, Any] = {"campaigns": rows, "others": others[:200], "ids": [row.pk for row in rows]}
    if len(rows) >= 2:
        context |= _compared(request, rows)
    return render(request, "anica/campaign_compare.html", context)


def _ids(texts: Sequence[str]) -> list[int]:
    ids = {int(text) for text in texts if text.isdecimal() and len(text) < 19}
    if len(ids) > MOST_CAMPAIGNS:
        raise BadRequest(f"at most {MOST_CAMPAIGNS} campaigns can be compared at a time, not {len(ids)}")
    return sorted(ids)


def _compared(request: HttpRequest, rows: Sequence[Campaign]) -> dict[str, Any]:
    runs = coverage_runs([row.pk for row in rows])
    found = runs.result
    pks = found.get("discoveries", [])
    owner = dict(Discovery.objects.filter(pk__in=pks).values_list("pk", "campaign_id"))
    overlap = {int(pk): {owner.get(one) for one in others} for pk, others in found.get("overlap", {}).items()}
    shared, one_sided = _differing(rows)
    context = {
        "runs": runs,
        "found": found,
        "differing": shared,
        "one_sided": one_sided,
        "sides": [_side(row, found, owner, overlap) for row in rows],
        "pairs": [(row, [_pair(row, other, bool(found), owner, overlap) for other in rows]) for row in rows],
    }
    if found:
        alone = [pk for pk in pks if pk in owner and not overlap.get(pk)]
        page = page_in_memory(alone, whole_number(request, "page", 0) or 0)
        shown = Discovery.objects.select_related("campaign").defer("foreign", "facts", "remarks", "note")
        by_pk = shown.defer("campaign__config", "campaign__facts").in_bulk(page.rows)
        covered = {int(pk): count for pk, count in found["by_discovery"].items()}
        context |= {"page": page, "alone": _found(page.rows, by_pk, covered)}
    return context


def _found(pks: Sequence[int], by_pk: dict[int, Discovery], covered: dict[int, int]) -> list[Found]:
    return [found_of(by_pk[pk], covered) for pk in pks if pk in by_pk]


def _side(row: Campaign, found: Json, owner: dict[int, int], overlap: dict[int, Any]) -> Side:
    own = [pk for pk, campaign in owner.items() if campaign == row.pk]
    if not found:
        return Side(row, row.found, None, None)  # type: ignore[attr-defined]
    alone = sum(not overlap.get(pk) for pk in own)
    return Side(row, len(own), alone, found["by_campaign"].get(str(row.pk), 0))


def _pair(
    row: Campaign,
    other: Campaign,
    known: bool,
    owner: dict[int, int],
    overlap: dict[int, Any],
) -> Pair | None:
    """Of the discoveries of `row`, those that `other` includes; None for a campaign beside itself."""
    if row.pk == other.pk:
        return None
    own = [pk for pk, campaign in owner.items() if campaign == row.pk]
    return Pair(sum(other.pk in overlap.get(pk, ()) for pk in own) if known else None, len(own))


Line = tuple[str, list[str]]
"""What, and its value in each campaign."""


def _differing(rows: Sequence[Campaign]) -> tuple[list[Line], list[Line]]:
    """What is not the same in all; apart from it, what some have nothing of: those of other programs."""
    told = [_facts(row) for row in rows]
    names = dict.fromkeys(name for facts in told for name in facts)
    lines = [(name, [facts.get(name, UNKNOWN) for facts in told]) for name in names]
    differing = [(name, values) for name, values in lines if len(set(values)) > 1]
    shared = [line for line in differing if UNKNOWN not in line[1]]
    return shared, [line for line in differing if line not in shared]


def _facts(row: Campaign) -> dict[str, str]:
    tools = " and ".join(seat.predictor.name for seat in row.seats.select_related("predictor"))
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
