"""What runs have made of basic-block sets, for the list of runs and their pages."""

from __future__ import annotations

from collections.abc import Sequence

from django.urls import reverse

from anica_app.models import BasicBlockSet
from anica_app.views.campaigns.outcomes import campaigns_of
from inference.features.runs.outcome import Outcome
from inference.features.uploads.query import waiting_uploads
from inference.models import Run

_TABS = {"columns": "?tab=columns", "accuracy": "?tab=accuracy&reference={reference}"}


def sets_of(runs: Sequence[Run]) -> dict[int, Outcome]:
    """The sets that these runs are about, as long as they are there (one query)."""
    done = [run for run in runs if run.result.get("block_set")]
    ids = {run.result["block_set"] for run in done}
    names = dict(BasicBlockSet.objects.filter(pk__in=ids).values_list("pk", "name")) if ids else {}
    return {
        run.pk: Outcome(names[run.result["block_set"]], _address(run))
        for run in done
        if run.result["block_set"] in names
    }


def imports_of(runs: Sequence[Run]) -> dict[int, Outcome]:
    """The campaigns and basic-block sets that came out of files (two queries)."""
    return campaigns_of(runs) | sets_of(runs)


def loops_of(runs: Sequence[Run]) -> dict[int, Outcome]:
    """The lists of loops that these runs have found, as long as their files wait (one query)."""
    of_uploads = {run.pk: run.result["upload"] for run in runs if run.result.get("upload")}
    waiting = set(waiting_uploads().filter(pk__in=of_uploads.values()).values_list("pk", flat=True))
    there = {run: upload for run, upload in of_uploads.items() if upload in waiting}
    names = {run.pk: run.result["name"] for run in runs if run.pk in there}
    return {
        run: Outcome(names[run], f"{reverse('anica-loops', args=[upload])}?run={run}")
        for run, upload in there.items()
    }


def _address(run: Run) -> str:
    tab = _TABS.get(run.kind, "").format(reference=run.config.get("reference", ""))
    return reverse("block-set", args=[run.result["block_set"]]) + tab
