"""What runs of AnICA have made, for the list of runs and their pages."""

from __future__ import annotations

from collections.abc import Sequence

from django.urls import reverse

from anica_app.models import Campaign
from inference.features.runs.outcome import Outcome
from inference.models import Run


def campaigns_of(runs: Sequence[Run]) -> dict[int, Outcome]:
    """The campaigns of these runs, those that are still searched for among them (one query)."""
    rows = Campaign.objects.filter(run__in=[run.pk for run in runs]).only("name", "run_id")
    return {
        row.run_id: Outcome(row.name, reverse("campaign", args=[row.pk]))
        for row in rows
        if row.run_id is not None
    }


def coverages_of(runs: Sequence[Run]) -> dict[int, Outcome]:
    """Where the coverage that these runs have found out is shown."""
    done = [run for run in runs if run.result]
    return {
        run.pk: Outcome(f"{run.result['covered']:,} of {run.result['blocks']:,} blocks", run.result["url"])
        for run in done
    }


def matrices_of(runs: Sequence[Run]) -> dict[int, Outcome]:
    """The matrices of these runs."""
    done = [run for run in runs if run.result]
    return {run.pk: Outcome(run.result["name"], reverse("matrix", args=[run.pk])) for run in done}
