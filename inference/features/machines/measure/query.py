"""What a measuring run was asked, in words and as the archive of a run from elsewhere has it."""

from __future__ import annotations

from collections.abc import Iterator

from inference.core.protocols import Json
from inference.features.machines.measure.job import MeasureConfig
from inference.features.running.runs.kind_presentation import DescriptionItem, links, schemes_in_words
from inference.models import Machine, Run

_PLANS_IN_WORDS = {
    "singletons": "every scheme alone",
    "pairs": "alone and in pairs",
    "mixes": "random mixes",
    "slots": "alone, and among moves that count slots",
    "listed": "listed one by one",
}


def measure_words(run: Run) -> Iterator[DescriptionItem]:
    """Where was measured, and what."""
    config = run.config
    yield DescriptionItem("Machine", links=links(Machine, "machine", [config["machine"]]))
    yield DescriptionItem("Instruction set", config["isa"])
    yield DescriptionItem("Schemes", schemes_in_words(config))
    yield DescriptionItem("Experiments", _PLANS_IN_WORDS[config["plan"]])
    if config["plan"] == "listed":
        yield DescriptionItem("Listed", f"{len(config['experiments']):,}, each {config['repeats']:,} times")
    if config["plan"] == "mixes":
        yield DescriptionItem("Mixes", f"{config['mixes']:,} of {config['length']} instructions")
        yield DescriptionItem("Seed", str(config["seed"]))


def archived(config: Json) -> Json:
    """The description of a run from elsewhere. Raises `ExchangeError` or `ConfigError`."""
    return MeasureConfig.archived(config, "isa").as_json()
