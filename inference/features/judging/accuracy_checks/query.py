"""Accuracy checks in the language of their pages: what one has found, and how its run is described."""

from __future__ import annotations

from collections.abc import Iterator

from inference.core.protocols import Json
from inference.features.running.runs.kind_presentation import DescriptionItem, links
from inference.models import BasicBlockSet, Machine, Predictor, Run


def check_of(run: Run) -> Json | None:
    """What a run has found, complete also where an earlier version has stored it; None before it is done."""
    return {"rounds": 1, "floor": None, **run.result["check"]} if run.result else None


def words(run: Run) -> Iterator[DescriptionItem]:
    """What is measured where, and who is asked."""
    config = run.config
    yield DescriptionItem("Machine", links=links(Machine, "machine", [config["machine"]]))
    yield DescriptionItem("Basic-block set", links=links(BasicBlockSet, "block-set", [config["block_set"]]))
    yield DescriptionItem("Blocks", f"{config['blocks']:,} at most, seed {config['seed']}, {config['mode']}")
    names = (
        Predictor.objects.filter(pk__in=config["predictors"]).order_by("pk").values_list("name", flat=True)
    )
    yield DescriptionItem("Asked", ", ".join(names) or "all that suit the machine")
