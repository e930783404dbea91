"""What runs have made of basic-block sets, for the list of runs and their pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from django.urls import reverse

from anica_app.core.search.judging import ABSOLUTE
from anica_app.features.campaigns.asked import campaigns_of
from anica_app.formats.blocks_csv import Broken
from anica_app.models import Campaign
from inference.core.protocols import Json
from inference.features.library.uploads.query import waiting_uploads
from inference.features.running.runs.asked import DescriptionItem, links
from inference.features.running.runs.outcome import RunOutcome
from inference.models import BasicBlockSet, BlockColumn, Predictor, Run

_TABS = {"columns": "?tab=columns", "accuracy": "?tab=accuracy&reference={reference}"}


def sets_of(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """The sets that these runs are about, as long as they are there (one query)."""
    done = [run for run in runs if run.result.get("block_set")]
    ids = {run.result["block_set"] for run in done}
    names = dict(BasicBlockSet.objects.filter(pk__in=ids).values_list("pk", "name")) if ids else {}
    return {
        run.pk: RunOutcome(names[run.result["block_set"]], _address(run))
        for run in done
        if run.result["block_set"] in names
    }


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


def _address(run: Run) -> str:
    tab = _TABS.get(run.kind, "").format(reference=run.config.get("reference", ""))
    return reverse("block-set", args=[run.result["block_set"]]) + tab


# Descriptions of runs over basic-block sets and campaigns in words, for the pages of the runs.


_BROKEN = {Broken.STOP: "stop the import", Broken.SKIP: "are left out and reported"}


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


def columns_words(run: Run) -> Iterator[DescriptionItem]:
    """Which predictors, about which set."""
    yield _set(run.config)
    yield _predictors(run.config)


def accuracy_words(run: Run) -> Iterator[DescriptionItem]:
    """Which columns, compared with which."""
    yield _set(run.config)
    yield DescriptionItem("Reference", _names_of([run.config["reference"]]))


def coverage_words(run: Run) -> Iterator[DescriptionItem]:
    """Which discoveries, on which blocks."""
    config = run.config
    yield DescriptionItem("Discoveries of", links=links(Campaign, "campaign", config["campaigns"]))
    if config["block_set"] is None:
        yield DescriptionItem("Blocks", "the campaigns’ own interesting blocks")
    else:
        yield _set(config)
        yield DescriptionItem(
            "Interesting where", f"{' and '.join(config['columns'])} differ {_by(config['interest'])}"
        )
    yield DescriptionItem("Blocks evaluated", f"{config['blocks']:,} at most")


def matrix_words(run: Run) -> Iterator[DescriptionItem]:
    """Which tools, about which blocks."""
    config = run.config
    if config["block_set"] is None:
        yield DescriptionItem(
            "Blocks", f"{config['blocks']:,} random ones of {config['length']} instructions"
        )
    else:
        yield _set(config)
        yield DescriptionItem("Columns of the set", _names_of(config["columns"]))
    yield _predictors(config)
    yield DescriptionItem("Disagreement", _by(config["interest"]))


def _set(config: Json) -> DescriptionItem:
    return DescriptionItem("Basic-block set", links=links(BasicBlockSet, "block-set", [config["block_set"]]))


def _predictors(config: Json) -> DescriptionItem:
    names = dict(Predictor.objects.filter(pk__in=config["predictors"]).values_list("pk", "name"))
    return DescriptionItem(
        "Asked", ", ".join(names.get(pk, "a deleted predictor") for pk in config["predictors"])
    )


def _names_of(columns: list[int]) -> str:
    names = dict(BlockColumn.objects.filter(pk__in=columns).values_list("pk", "name"))
    return ", ".join(names.get(pk, "a deleted column") for pk in columns)


def _by(interest: Json) -> str:
    unit = "cycles" if interest["metric"] == ABSOLUTE else "of their mean"
    return f"by more than {interest['threshold']:g} {unit}"
