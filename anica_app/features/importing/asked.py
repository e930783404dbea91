"""What imports of files with blocks or campaigns have made, and their descriptions in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from django.urls import reverse

from anica_app.features.campaigns.asked import campaigns_of
from inference.features.asking.block_sets.asked import sets_of
from inference.features.library.uploads.query import waiting_uploads
from inference.features.running.runs.kind_presentation import DescriptionItem, RunOutcome
from inference.formats.blocks_csv import Broken
from inference.models import Run

_BROKEN = {Broken.STOP: "stop the import", Broken.SKIP: "are left out and reported"}


def imports_of(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """The campaigns and basic-block sets that came out of files (two queries); of several, the first."""
    more = {run.pk: len(run.result.get("campaigns", ())) - 1 for run in runs}
    campaigns = {
        run: replace(made, name=f"{made.name} and {more[run]} more") if more[run] > 0 else made
        for run, made in campaigns_of(runs).items()
    }
    return campaigns | sets_of(runs)


def loops_of(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """The lists of loops that these runs have found, as long as their files wait (one query)."""
    of_uploads = {run.pk: run.result["upload"] for run in runs if run.result.get("upload")}
    waiting = set(waiting_uploads().filter(pk__in=of_uploads.values()).values_list("pk", flat=True))
    there = {run: upload for run, upload in of_uploads.items() if upload in waiting}
    names = {run.pk: run.result["name"] for run in runs if run.pk in there}
    return {
        run: RunOutcome(names[run], f"{reverse('anica-loops', args=[upload])}?run={run}")
        for run, upload in there.items()
    }


def import_words(run: Run) -> Iterator[DescriptionItem]:
    """What is imported, as what."""
    config = run.config
    yield DescriptionItem("Becomes", config["name"])
    yield DescriptionItem("Rows that cannot be read", _BROKEN[Broken(config["broken"])])
    numbers = config["numbers"]
    told = numbers if isinstance(numbers, list) else [numbers]
    yield DescriptionItem("Unit of the numbers", ", ".join(one or "detected" for one in told))
    if config["issue_width"] is not None:
        yield DescriptionItem("Instructions per cycle", f"{config['issue_width']:g} at most")
    yield DescriptionItem("Checked against the ports of", config["bounds"])
