"""How much of what is interesting a campaign's discoveries explain, and which few explain the most."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.views.decorators.http import require_POST

from anica_app.features.campaigns.discovery_rows import found_of
from anica_app.features.coverage.query import (
    KIND,
    coverage_config,
    coverage_runs,
    measure_of,
    measure_of_run,
    sets_for,
)
from anica_app.models import Campaign, Discovery
from inference.core.protocols import Json
from inference.models import BasicBlockSet
from inference.web.request_fields import start_or_tell
from inference.web.validation import row_number, whole_number

OWN = "own"


def selection(request: HttpRequest, campaign: Campaign, _tools: list[str]) -> dict[str, Any]:
    """What the tab shows: a run's best selections of every size, the one of `k` in full."""
    runs = coverage_runs([campaign.pk], whole_number(request, "cover"))
    found = runs.result
    context: dict[str, Any] = {"runs": runs, "sets": sets_for(campaign), "measure": measure_of(campaign)}
    if not found or not found["blocks"]:
        return context
    sizes = found["best"]
    k = min(max(1, whole_number(request, "k", 10) or 1), max(1, len(sizes)))
    best: Json = sizes[k - 1] if sizes else {"chosen": [], "covered": 0, "proven": True}
    by_pk = {int(pk): count for pk, count in found["by_discovery"].items()}
    rows = Discovery.objects.defer("foreign", "remarks", "note").in_bulk(best["chosen"])
    return context | {
        "measure": measure_of_run(runs),
        "found": found,
        "k": k,
        "best": best,
        "best_share": best["covered"] / found["blocks"],
        "sizes": [(at, one["covered"] / found["blocks"]) for at, one in enumerate(sizes, start=1)],
        "chosen": [
            (found_of(rows[pk], by_pk), by_pk.get(pk, 0) / found["blocks"])
            for pk in best["chosen"]
            if pk in rows
        ],
        "uncovered": found["uncovered"][:20],
        "left": found["blocks"] - found["covered"],
    }


@require_POST
def campaign_coverage(request: HttpRequest, pk: int) -> HttpResponse:
    """Start to look at the campaign's own blocks, or at those of a set."""
    row = get_object_or_404(Campaign, pk=pk)
    over = request.POST.get("over", OWN)
    chosen = None
    if over != OWN:
        chosen = get_object_or_404(BasicBlockSet, pk=row_number(over))
    config = coverage_config(row, chosen)
    return start_coverage(request, config, row.name, f"{reverse('campaign', args=[pk])}?tab=selection")


def start_coverage(request: HttpRequest, config: Json, name: str, back: str) -> HttpResponse:
    """Submit the run and lead back to where its result will be."""
    start_or_tell(request, KIND, config, f"Coverage of {name}"[:180])
    return redirect(back)


urlpatterns = [
    path("campaigns/<int:pk>/coverage/", campaign_coverage, name="campaign-coverage"),
]
