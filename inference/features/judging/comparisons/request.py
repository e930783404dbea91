"""What a run of kind `comparison` compares: its description, checked and made complete."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from inference.core.protocols import Json
from inference.features.asking.predictors.modes import AS_NAMED, QuestionMode, asked_in_mode
from inference.features.judging.comparisons.experiment_blocks import INSTRUCTIONS
from inference.isa.targets import names_with_blocks, target_of
from inference.measuring.blocks import LOOP
from inference.models import ExperimentSet, PortMapping, Predictor, ResourceMapping
from inference.runs.described_rows import read_row, read_rows
from inference.runs.errors import ConfigError
from inference.runs.request import RunRequest

KIND = "comparison"
MOST_COLUMNS = 24
MOST_ASKED = 20_000
"""Experiments that each tool is asked for, unless a description says otherwise."""


class ComparisonConfig(RunRequest):
    """Ids of rows, by kind of column.

    `tools`: names of those whose answers came with the set. `predictors` are asked for blocks of at least
    `instructions` instructions, for `most` experiments at most, which `seed` draws; in `mode`, or in a loop
    where the set was measured here: experiments are.
    """

    noun = "a comparison"
    experiment_set: Annotated[int, Field(examples=[3])]
    mappings: Annotated[list[int], Field(examples=[[7]])] = []
    resource_mappings: list[int] = []
    tools: Annotated[
        list[str], Field(description="Their answers came with the set.", examples=[["IACA"]])
    ] = []
    other_sets: Annotated[list[int], Field(description="With measurements of the same experiments.")] = []
    predictors: list[int] = []
    instructions: Annotated[
        int, Field(ge=1, le=200, description="Of a block that is asked for, at least.")
    ] = INSTRUCTIONS
    most: Annotated[
        int, Field(ge=1, le=1_000_000, description="Experiments that each tool is asked for.")
    ] = MOST_ASKED
    seed: Annotated[int, Field(ge=0, le=2**31 - 1, description="Draws them, where there are more.")] = 1
    mode: QuestionMode = AS_NAMED

    @property
    def columns(self) -> int:
        """How many columns it asks for."""
        rows = (*self.mappings, *self.resource_mappings, *self.other_sets, *self.predictors)
        return len(self.tools) + len(rows)


def read_config(given: Json) -> ComparisonConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    asked = ComparisonConfig.read(given)
    judge = read_row(ExperimentSet.objects.select_related("isa"), "experiment_set", asked.experiment_set)
    found = {
        "mappings": _of_isa("mappings", asked.mappings, PortMapping, judge),
        "resource_mappings": _of_isa("resource_mappings", asked.resource_mappings, ResourceMapping, judge),
        "tools": list(dict.fromkeys(asked.tools)),
        "other_sets": _of_isa("other_sets", asked.other_sets, ExperimentSet, judge),
        "predictors": _predictors(asked, judge),
    }
    config = asked.model_copy(update=found)
    if judge.pk in config.other_sets:
        raise ConfigError("other_sets: a set cannot be compared with itself")
    if not 1 <= config.columns <= MOST_COLUMNS:
        raise ConfigError(f"choose from 1 to {MOST_COLUMNS} predictors, not {config.columns}")
    return config


def _of_isa(name: str, ids: list[int], model: type[Any], judge: ExperimentSet) -> list[int]:
    rows = read_rows(model, name, ids)
    for row in rows:
        if row.isa_id != judge.isa_id:
            raise ConfigError(f"{name}: {row.name!r} and {judge.name!r} are for different instruction sets")
    return [row.pk for row in rows]


def _predictors(asked: ComparisonConfig, judge: ExperimentSet) -> list[int]:
    is_measured_here = judge.origin != ExperimentSet.Origin.UPLOAD
    mode = asked.mode or (LOOP if is_measured_here else AS_NAMED)
    ids = [row.pk for row in asked_in_mode(read_rows(Predictor, "predictors", asked.predictors), mode)]
    if ids and target_of(judge.isa.name).blocks is None:
        right = ", ".join(names_with_blocks())
        raise ConfigError(
            f"predictors can be asked about {right} alone, and {judge.name!r} is for {judge.isa.name}"
        )
    return ids
