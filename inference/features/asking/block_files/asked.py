"""What imports of uploaded files and searches for loops have made, and what was asked of them in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.urls import reverse

from inference.features.asking.block_files.upload_importers import upload_importers
from inference.features.library.uploads.query import waiting_uploads
from inference.features.running.runs.kind_presentation import DescriptionItem, RunOutcome
from inference.formats.blocks_csv import Broken
from inference.models import Run

_BROKEN = {Broken.STOP: "stop the import", Broken.SKIP: "are left out and reported"}


def imports_of(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """What came out of the files, of whichever sort (a query each, or two)."""
    return {run: made for one in upload_importers() for run, made in one.outcomes(runs).items()}


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
    config = run.config
    yield DescriptionItem("Becomes", config["name"])
    yield DescriptionItem("Rows that cannot be read", _BROKEN[Broken(config["broken"])])
    numbers = config["numbers"]
    told = numbers if isinstance(numbers, list) else [numbers]
    yield DescriptionItem("Unit of the numbers", ", ".join(one or "detected" for one in told))
    if config["issue_width"] is not None:
        yield DescriptionItem("Instructions per cycle", f"{config['issue_width']:g} at most")
    yield DescriptionItem("Checked against the ports of", config["bounds"])
