"""The description of an accuracy check, and its default predictors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import Field

from inference.core.protocols import Json
from inference.features.asking.block_sets.columns import read_set
from inference.features.asking.predictors.kinds import kind_of
from inference.features.asking.predictors.modes import row_in_mode, rows_in_mode
from inference.features.asking.predictors.query import options_for, program_listings, row_for
from inference.features.learning.core_model.query import usable_core_models
from inference.measuring.blocks import MODES, UNROLLED
from inference.models import Machine, Predictor, Upload
from inference.predictors import core_model, mapping, nanobench
from inference.predictors.processor_names import names_of_older, processor_option
from inference.predictors.protocol import PredictorError
from inference.runs.errors import ConfigError
from inference.runs.machines.facts import read_block_machine
from inference.runs.request import AllowedTexts, RunRequest, read_row, read_rows
from inference.storage.instruction_sets import core_name

KIND = "accuracy-check"
MAX_PREDICTORS = 20
MIN_BLOCKS = 10


class AccuracyCheckConfig(RunRequest):
    """`machine`, `block_set` and `predictors` are ids; without predictors, all that fit the machine are
    asked. In place of a set, `upload` is the id of a program whose loops are measured.

    `seed` samples `blocks` of the set, all of a smaller one. `mode`: that of the measurements and
    predictions. All blocks are measured `rounds` times, one round after the other, and once more.
    """

    noun = "an accuracy check"
    machine: int
    block_set: int | None = None
    upload: int | None = None
    blocks: Annotated[
        int, Field(ge=MIN_BLOCKS, le=5000, description="Largest number of blocks, sampled from the set.")
    ] = 500
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] = 1
    mode: Annotated[str, AllowedTexts(MODES)] = UNROLLED
    rounds: Annotated[
        int, Field(ge=1, le=9, description="Measurements of each block; the median counts.")
    ] = 3
    predictors: Annotated[list[int], Field(max_length=MAX_PREDICTORS)] = []


def read_config(description: Json) -> AccuracyCheckConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    config = AccuracyCheckConfig.read(description)
    read_block_machine(config.machine)
    if (config.block_set is None) == (config.upload is None):
        raise ConfigError(
            "block_set: the blocks are those of a set or the loops of an upload: name one of them"
        )
    if config.block_set is not None:
        block_set = read_set(config.block_set)
        if not block_set.size:
            raise ConfigError(f"block_set: {block_set.name!r} has no blocks")
    else:
        read_row(Upload.objects.defer("beginning"), "upload", config.upload, "uploaded file")
    rows = rows_in_mode(read_rows(Predictor, "predictors", config.predictors), config.mode)
    return config.model_copy(update={"predictors": [row.pk for row in rows]})


MAX_CORE_MODELS, MAX_MAPPINGS = 2, 4
"""Core models and mappings of each kind that are default predictors: the newest of the machine."""


def default_predictors(machine: Machine, mode: str) -> tuple[list[Predictor], dict[str, str]]:
    """(the machine's core models and mappings, and all tools for its processor; {left out: reason}).

    `mode`: the mode of the measurements, in which all predictors answer.
    """
    rows: dict[int, Predictor] = {}
    exclusions: dict[str, str] = {}
    for name, choices in _candidates(machine):
        row, reason = _first_usable(choices, mode)
        if row is None:
            exclusions[name] = reason
        elif len(rows) < MAX_PREDICTORS:
            rows[row.pk] = row
    configured = Predictor.objects.filter(origin=Predictor.Origin.CONFIGURED).order_by("-pk")
    for row in configured.exclude(kind=nanobench.KIND)[:MAX_PREDICTORS]:
        if len(rows) < MAX_PREDICTORS:
            try:
                in_mode = row_in_mode(row, mode)
            except PredictorError as error:
                exclusions[row.name] = str(error)
            else:
                rows.setdefault(in_mode.pk, in_mode)
    return list(rows.values()), exclusions


def _candidates(machine: Machine) -> Iterator[tuple[str, list[tuple[str, Json]]]]:
    """Yields (name, [(kind, options), …]) of the candidates; the first usable options count."""
    for name in usable_core_models().filter(machine=machine).values_list("name", flat=True)[:MAX_CORE_MODELS]:
        yield f"core model {name}", [(core_model.KIND, {"model": name})]
    for mappings in (machine.mappings, machine.resource_mappings):
        for name in mappings.order_by("-pk").values_list("name", flat=True)[:MAX_MAPPINGS]:
            yield f"mapping {name}", [(mapping.KIND, {"mapping": name})]
    processor = core_name(machine)
    for kind, installed, _ in program_listings():
        if kind.name != nanobench.KIND:  # nanoBench measures the site's computer
            for option in installed:
                choices = options_for(kind.name, option.options, processor)
                choices += _options_for_older(kind.name, option.options, processor)
                yield f"{kind.title} {option.version}", [(kind.name, options) for options in choices]


def _options_for_older(kind: str, options: Json, processor: str) -> list[Json]:
    """Options for the cores before the processor, which the predictor's name then states."""
    option = processor_option(kind)
    if not option or option in options:
        return []
    return [{**options, option: name} for name in names_of_older(kind, processor)]


def _first_usable(choices: Sequence[tuple[str, Json]], mode: str) -> tuple[Predictor | None, str]:
    reason = "it has no model of this processor"
    for kind, options in choices:
        try:
            return row_for(kind, kind_of(kind).in_mode(options, mode)), ""
        except PredictorError as error:
            reason = str(error)
    return None, reason
