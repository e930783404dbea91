"""What runs over coverage were asked, in words, and where their answers are shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from anica_app.core.search.judging import distance_words
from anica_app.models import Campaign
from inference.features.asking.block_sets.query import set_item
from inference.features.running.runs.kind_presentation import DescriptionItem, RunOutcome, links
from inference.models import Run


def coverage_words(run: Run) -> Iterator[DescriptionItem]:
    """Which discoveries, on which blocks."""
    config = run.config
    yield DescriptionItem("Discoveries of", links=links(Campaign, "campaign", config["campaigns"]))
    if config["block_set"] is None:
        yield DescriptionItem("Blocks", "the campaigns’ own interesting blocks")
    else:
        yield set_item(config)
        yield DescriptionItem(
            "Interesting where",
            f"{' and '.join(config['columns'])} differ {distance_words(config['interest'])}",
        )
    yield DescriptionItem("Blocks evaluated", f"{config['blocks']:,} at most")


def coverages_of(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """Where the coverage that these runs have found out is shown."""
    done = [run for run in runs if run.result]
    return {
        run.pk: RunOutcome(f"{run.result['covered']:,} of {run.result['blocks']:,} blocks", run.result["url"])
        for run in done
    }
