"""The description of a measuring run, in words and from an archive."""

from __future__ import annotations

from collections.abc import Iterator

from inference.core.protocols import Json
from inference.features.machines.measure.job import MeasureConfig
from inference.features.running.runs.kind_presentation import (
    DescriptionItem,
    KindPresentation,
    links,
    schemes_text,
)
from inference.models import Machine, Run

_PLAN_WORDS = {
    "singletons": "every scheme alone",
    "pairs": "alone and in pairs",
    "mixes": "random mixes",
    "slots": "alone, and among moves that count slots",
    "listed": "listed one by one",
}


def measure_description(run: Run) -> Iterator[DescriptionItem]:
    """The description of a run of kind `measure`, item by item."""
    config = run.config
    yield DescriptionItem("Machine", links=links(Machine, "machine", [config["machine"]]))
    yield DescriptionItem("Instruction set", config["isa"])
    yield DescriptionItem("Schemes", schemes_text(config))
    yield DescriptionItem("Experiments", _PLAN_WORDS[config["plan"]])
    if config["plan"] == "listed":
        yield DescriptionItem("Listed", f"{len(config['experiments']):,}, each {config['repeats']:,} times")
    if config["plan"] == "mixes":
        yield DescriptionItem("Mixes", f"{config['mixes']:,} of {config['length']} instructions")
        yield DescriptionItem("Seed", str(config["seed"]))


def archived(config: Json) -> Json:
    """The description of a run from an archive. Raises `ExchangeError` or `ConfigError`."""
    return MeasureConfig.from_archive(config, "isa").as_json()


PRESENTATIONS = {"measure": KindPresentation(words=measure_description, archived=archived)}
