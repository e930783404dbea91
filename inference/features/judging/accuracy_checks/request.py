"""What can be asked: which blocks are measured where, and who predicts them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from inference.core.protocols import Json
from inference.features.asking.block_sets.columns import read_set
from inference.features.asking.predictors.modes import rows_in_mode
from inference.measuring.blocks import MODES, UNROLLED
from inference.models import Predictor
from inference.runs.errors import ConfigError
from inference.runs.machines.facts import read_block_machine
from inference.runs.request import OneOf, RunRequest, read_rows

KIND = "accuracy-check"
MOST_PREDICTORS = 20


class AccuracyCheckConfig(RunRequest):
    """`machine`, `block_set` and `predictors` are ids; without predictors, all that suit it are asked.

    `blocks` of the set are drawn by the `seed`, all of a smaller one. `mode`: how machines surround a block,
    and how predictors are asked.
    All are measured `rounds` times, one round after the other, and once more.
    """

    noun = "an accuracy check"
    machine: int
    block_set: int
    blocks: Annotated[int, Field(ge=10, le=5000, description="Drawn from the set, at most.")] = 500
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] = 1
    mode: Annotated[str, OneOf(MODES)] = UNROLLED
    rounds: Annotated[int, Field(ge=1, le=9, description="Measurements of each: the median counts.")] = 3
    predictors: Annotated[list[int], Field(max_length=MOST_PREDICTORS)] = []


def read_config(given: Json) -> AccuracyCheckConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    config = AccuracyCheckConfig.read(given)
    read_block_machine(config.machine)
    block_set = read_set(config.block_set)
    if not block_set.size:
        raise ConfigError(f"block_set: {block_set.name!r} has no blocks")
    rows = rows_in_mode(read_rows(Predictor, "predictors", config.predictors), config.mode)
    return config.model_copy(update={"predictors": [row.pk for row in rows]})
