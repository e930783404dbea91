"""How much of what is interesting the discoveries of a campaign explain, and which few explain the most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.views.decorators.http import require_POST

from anica_app.campaigning.covering import KIND
from anica_app.models import BasicBlockSet, Campaign, Discovery
from anica_app.queries.coverage_runs import CoverageRuns, coverage_runs
from anica_app.views.campaigns.shown import Found, found_of
from inference.core.protocols import Json
from inference.runs.errors import ConfigError
from inference.runs.lifecycle import submit, unused_name
from inference.views.address import whole_number
from inference.views.runs.pages import SUMMARIES

SUMMARIES[KIND] = "How much of what is interesting discoveries explain"
OWN = "own"


@dataclass(frozen=True)
class Measure:
    """How many of `blocks` each discovery subsumes, by its id; `over` says which blocks they are."""

    over: str
    blocks: int
    covered: int
    by_discovery: Mapping[int, int]

    @property
    def share(self) -> float | None:
        """What all discoveries together cover."""
        return self.covered / self.blocks if self.blocks else None


@dataclass(frozen=True)
class Size:
    """A selection of k discoveries: the share that they cover, and where its bar stands in the chart."""

    k: int
    share: float
    proven: bool
    chosen: bool


@dataclass(frozen=True)
class Chosen:
    """A discovery of a selection, and how much of the blocks it covers by itself."""

    found: Found
    share: float


def measure_of(campaign: Campaign, wanted: int | None = None) -> Measure | None:
    """The newest run over the campaign, or the one asked for; else what it found out at its own end."""
    runs = coverage_runs([campaign.pk], wanted)
    if runs.shown is not None:
        return _of_run(runs)
    explained: Json = campaign.facts.get("explained") or {}
    if not explained.get("interesting"):
        return None
    ids = dict(campaign.discoveries.values_list("number", "pk"))
    by_number = explained.get("by_discovery", {}).items()
    by_pk = {ids[int(number)]: count for number, count in by_number if int(number) in ids}
    over = f"interesting ones among {explained['blocks']:,} fresh blocks"
    return Measure(over, explained["interesting"], explained["covered"], by_pk)


def _of_run(runs: CoverageRuns) -> Measure:
    found = runs.result
    by_pk = {int(pk): count for pk, count in found["by_discovery"].items()}
    assert runs.shown is not None
    return Measure(over_in_words(runs.shown.config), found["blocks"], found["covered"], by_pk)


def over_in_words(config: Json) -> str:
    """Which blocks a run has looked at."""
    if config.get("block_set") is None:
        return "interesting random blocks of the campaign itself"
    name = BasicBlockSet.objects.filter(pk=config["block_set"]).values_list("name", flat=True).first()
    return f"blocks of {name or 'a deleted set'} on which {' and '.join(config['columns'])} disagree"


def selection(request: HttpRequest, campaign: Campaign, tools: list[str]) -> dict[str, Any]:
    """What the tab shows: a run's best selections of every size, the one of `k` in full."""
    del tools
    runs = coverage_runs([campaign.pk], whole_number(request, "cover"))
    found = runs.result
    context: dict[str, Any] = {"runs": runs, "sets": _sets_for(campaign), "measure": measure_of(campaign)}
    if not found or not found["blocks"]:
        return context
    sizes = found["best"]
    k = min(max(1, whole_number(request, "k", 10) or 1), max(1, len(sizes)))
    best = sizes[k - 1] if sizes else {"chosen": [], "covered": 0, "proven": True}
    by_pk = {int(pk): count for pk, count in found["by_discovery"].items()}
    rows = Discovery.objects.defer("foreign", "facts", "remarks", "note").in_bulk(best["chosen"])
    return context | {
        "measure": _of_run(runs),
        "found": found,
        "k": k,
        "best": best,
        "best_share": best["covered"] / found["blocks"],
        "sizes": [
            Size(at, one["covered"] / found["blocks"], one["proven"], at == k)
            for at, one in enumerate(sizes, start=1)
        ],
        "chosen": [
            Chosen(found_of(rows[pk], by_pk), by_pk.get(pk, 0) / found["blocks"])
            for pk in best["chosen"]
            if pk in rows
        ],
        "uncovered": found["uncovered"][:20],
        "left": found["blocks"] - found["covered"],
    }


def _sets_for(campaign: Campaign) -> list[BasicBlockSet]:
    """The sets that have a column of each of the campaign's predictors (one query)."""
    rows = BasicBlockSet.objects.order_by("-id")
    for pk in campaign.seats.values_list("predictor", flat=True):
        rows = rows.filter(columns__predictor=pk)
    return list(rows.only("name", "size").distinct())


@require_POST
def campaign_coverage(request: HttpRequest, pk: int) -> HttpResponse:
    """Start to look at the campaign's own blocks, or at those of a set."""
    row = get_object_or_404(Campaign, pk=pk)
    config: Json = {"campaigns": [row.pk]}
    over = request.POST.get("over", OWN)
    if over != OWN:
        chosen = get_object_or_404(BasicBlockSet, pk=int(over) if over.isdecimal() and len(over) < 19 else 0)
        tools = list(row.seats.values_list("predictor", flat=True))
        columns = dict(chosen.columns.filter(predictor__in=tools).values_list("predictor", "name"))
        config |= {
            "block_set": chosen.pk,
            "columns": [columns[tool] for tool in tools if tool in columns],
            "interest": row.config.get("interest", {}) if row.format == Campaign.Format.OURS else {},
        }
    return start_coverage(request, config, row.name, f"{reverse('campaign', args=[pk])}?tab=selection")


def start_coverage(request: HttpRequest, config: Json, name: str, back: str) -> HttpResponse:
    """Submit the run and lead back to where its result will be."""
    try:
        submit(KIND, config, unused_name(f"Coverage of {name}"[:180]), user=request.user)
    except ConfigError as error:
        messages.error(request, str(error))
    return redirect(back)


urlpatterns = [path("campaigns/<int:pk>/coverage/", campaign_coverage, name="campaign-coverage")]
