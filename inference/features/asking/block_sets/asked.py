"""What runs over basic-block sets are about and what they have made of them, for pages of runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.urls import reverse

from inference.core.protocols import Json
from inference.features.running.runs.asked import links
from inference.features.running.runs.kind_presentation import DescriptionItem, RunOutcome
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


def _address(run: Run) -> str:
    tab = _TABS.get(run.kind, "").format(reference=run.config.get("reference", ""))
    return reverse("block-set", args=[run.result["block_set"]]) + tab


def columns_words(run: Run) -> Iterator[DescriptionItem]:
    """Which predictors, about which set."""
    yield set_item(run.config)
    yield predictors_item(run.config)


def set_item(config: Json) -> DescriptionItem:
    """The set that a run is about."""
    return DescriptionItem("Basic-block set", links=links(BasicBlockSet, "block-set", [config["block_set"]]))


def predictors_item(config: Json) -> DescriptionItem:
    """Those that a run asks."""
    names = dict(Predictor.objects.filter(pk__in=config["predictors"]).values_list("pk", "name"))
    return DescriptionItem(
        "Asked", ", ".join(names.get(pk, "a deleted predictor") for pk in config["predictors"])
    )


def names_of_columns(columns: list[int]) -> str:
    """Of columns by their numbers, separated by commas."""
    names = dict(BlockColumn.objects.filter(pk__in=columns).values_list("pk", "name"))
    return ", ".join(names.get(pk, "a deleted column") for pk in columns)
