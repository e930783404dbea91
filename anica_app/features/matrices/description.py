"""The configuration of a matrix as text."""

from __future__ import annotations

from collections.abc import Iterator

from anica_app.core.search.interestingness import distance_words
from inference.features.asking.block_sets.query import column_names, predictors_item, set_item
from inference.features.running.runs.kind_presentation import DescriptionItem
from inference.models import Run


def matrix_words(run: Run) -> Iterator[DescriptionItem]:
    config = run.config
    if config["block_set"] is None:
        yield DescriptionItem(
            "Blocks", f"{config['blocks']:,} random ones of {config['length']} instructions"
        )
    else:
        yield set_item(config)
        yield DescriptionItem("Columns of the set", column_names(config["columns"]))
    yield predictors_item(config)
    yield DescriptionItem("Disagreement", distance_words(config["interest"]))
