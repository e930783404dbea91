"""What pages, API and shell read of accuracy checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.urls import reverse

from inference.features.judging.accuracy_checks.result import AccuracyCheck
from inference.features.running.runs.asked import links
from inference.features.running.runs.kind_presentation import DescriptionItem, RunOutcome
from inference.models import BasicBlockSet, Machine, Predictor, Run


def check_of(run: Run) -> AccuracyCheck | None:
    """What a run has found; None before it is done."""
    return AccuracyCheck.from_json(run.result["check"]) if run.result else None


def checks_of(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """The pages of these runs."""
    return {
        run.pk: RunOutcome(run.result["name"], reverse("accuracy-check", args=[run.pk]))
        for run in runs
        if run.result
    }


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
