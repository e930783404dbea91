"""What runs have made of basic-block sets, for the list of runs and their pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.urls import reverse

from anica_app.core.search.judging import ABSOLUTE
from anica_app.features.campaigns.asked import campaigns_of
from anica_app.formats.blocks_csv import Broken
from anica_app.models import BasicBlockSet, BlockColumn, Campaign, Predictor
from inference.core.protocols import Json
from inference.features.runs.asked import Item, links
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


# Descriptions of runs over basic-block sets and campaigns in words, for the pages of the runs.


_BROKEN = {Broken.STOP: "stop the import", Broken.SKIP: "are left out and reported"}


def import_words(run: Run) -> Iterator[Item]:
    """What is imported, as what."""
    config = run.config
    yield Item("Becomes", config["name"])
    yield Item("Rows that cannot be read", _BROKEN[Broken(config["broken"])])
    numbers = config["numbers"]
    told = numbers if isinstance(numbers, list) else [numbers]
    yield Item("Its numbers are", ", ".join(one or "what they look like" for one in told))
    if config["issue_width"] is not None:
        yield Item("Instructions per cycle", f"{config['issue_width']:g} at most")
    yield Item("Held against the ports of", config["bounds"])


def columns_words(run: Run) -> Iterator[Item]:
    """Which predictors, about which set."""
    yield _set(run.config)
    yield _predictors(run.config)


def accuracy_words(run: Run) -> Iterator[Item]:
    """Which columns, compared with which."""
    yield _set(run.config)
    yield Item("Reference", _names_of([run.config["reference"]]))


def coverage_words(run: Run) -> Iterator[Item]:
    """Which discoveries, on which blocks."""
    config = run.config
    yield Item("Discoveries of", links=links(Campaign, "campaign", config["campaigns"]))
    if config["block_set"] is None:
        yield Item("Blocks", "the campaigns’ own interesting ones")
    else:
        yield _set(config)
        yield Item("Interesting where", f"{' and '.join(config['columns'])} differ {_by(config['interest'])}")
    yield Item("Blocks looked at", f"{config['blocks']:,} at most")


def matrix_words(run: Run) -> Iterator[Item]:
    """Which tools, about which blocks."""
    config = run.config
    if config["block_set"] is None:
        yield Item("Blocks", f"{config['blocks']:,} random ones of {config['length']} instructions")
    else:
        yield _set(config)
        yield Item("Columns of the set", _names_of(config["columns"]))
    yield _predictors(config)
    yield Item("Disagreement", _by(config["interest"]))


def _set(config: Json) -> Item:
    return Item("Basic-block set", links=links(BasicBlockSet, "block-set", [config["block_set"]]))


def _predictors(config: Json) -> Item:
    names = dict(Predictor.objects.filter(pk__in=config["predictors"]).values_list("pk", "name"))
    return Item("Asked", ", ".join(names.get(pk, "a deleted predictor") for pk in config["predictors"]))


def _names_of(columns: list[int]) -> str:
    names = dict(BlockColumn.objects.filter(pk__in=columns).values_list("pk", "name"))
    return ", ".join(names.get(pk, "a deleted column") for pk in columns)


def _by(interest: Json) -> str:
    unit = "cycles" if interest["metric"] == ABSOLUTE else "of their mean"
    return f"by more than {interest['threshold']:g} {unit}"
