"""Descriptions of runs over basic-block sets and campaigns in words, for the pages of the runs."""

from __future__ import annotations

from collections.abc import Iterator

from anica_app.core.search.judging import ABSOLUTE
from anica_app.exchange.blocks_csv import Broken
from anica_app.models import BasicBlockSet, BlockColumn, Campaign, Predictor
from inference.core.protocols import Json
from inference.features.runs import asked
from inference.features.runs.asked import Item, links
from inference.models import Run

_BROKEN = {Broken.STOP: "stop the import", Broken.SKIP: "are left out and reported"}


def register() -> None:
    """Let the pages of runs use these words."""
    for kind, words in (
        ("import-anica", _import),
        ("columns", _columns),
        ("accuracy", _accuracy),
        ("coverage", _coverage),
        ("matrix", _matrix),
    ):
        asked.register(kind, words)


def _import(run: Run) -> Iterator[Item]:
    config = run.config
    yield Item("Becomes", config["name"])
    yield Item("Rows that cannot be read", _BROKEN[Broken(config["broken"])])
    numbers = config["numbers"]
    told = numbers if isinstance(numbers, list) else [numbers]
    yield Item("Its numbers are", ", ".join(one or "what they look like" for one in told))
    if config["issue_width"] is not None:
        yield Item("Instructions per cycle", f"{config['issue_width']:g} at most")
    yield Item("Held against the ports of", config["bounds"])


def _columns(run: Run) -> Iterator[Item]:
    yield _set(run.config)
    yield _predictors(run.config)


def _accuracy(run: Run) -> Iterator[Item]:
    yield _set(run.config)
    yield Item("Reference", _names_of([run.config["reference"]]))


def _coverage(run: Run) -> Iterator[Item]:
    config = run.config
    yield Item("Discoveries of", links=links(Campaign, "campaign", config["campaigns"]))
    if config["block_set"] is None:
        yield Item("Blocks", "the campaigns’ own interesting ones")
    else:
        yield _set(config)
        yield Item("Interesting where", f"{' and '.join(config['columns'])} differ {_by(config['interest'])}")
    yield Item("Blocks looked at", f"{config['blocks']:,} at most")


def _matrix(run: Run) -> Iterator[Item]:
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
