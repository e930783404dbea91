"""What can be asked: which blocks are measured where, and who predicts them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import Field

from inference.core.protocols import Json
from inference.features.asking.block_sets.columns import read_set
from inference.features.asking.predictors.kinds import kind_of
from inference.features.asking.predictors.modes import in_mode, rows_in_mode
from inference.features.asking.predictors.query import options_for, processor_of_machine, programs, row_for
from inference.features.learning.core_model.query import usable_core_models
from inference.measuring.blocks import MODES, UNROLLED
from inference.models import Machine, Predictor
from inference.predictors import core_model, mapping, nanobench
from inference.predictors.kinds import FoundKind, PredictorKind
from inference.predictors.protocol import PredictorError
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


MOST_CORE_MODELS, MOST_MAPPINGS = 2, 4
"""Of the machine, the newest; mappings of each kind."""


def usual_predictors(machine: Machine, mode: str) -> tuple[list[Predictor], dict[str, str]]:
    """The machine's core models and mappings, and all tools for its processor; {what is left out: why}.

    `mode`: how blocks are measured, and so all are asked.
    """
    rows: dict[int, Predictor] = {}
    left_out: dict[str, str] = {}
    for name, wanted in _wanted(machine):
        row, reason = _first_usable(wanted, mode)
        if row is None:
            left_out[name] = reason
        elif len(rows) < MOST_PREDICTORS:
            rows[row.pk] = row
    configured = Predictor.objects.filter(origin=Predictor.Origin.CONFIGURED).order_by("-pk")
    for row in configured.exclude(kind=nanobench.KIND)[:MOST_PREDICTORS]:
        if len(rows) < MOST_PREDICTORS:
            try:
                asked = in_mode(row, mode)
            except PredictorError as error:
                left_out[row.name] = str(error)
            else:
                rows.setdefault(asked.pk, asked)
    return list(rows.values()), left_out


def _wanted(machine: Machine) -> Iterator[tuple[str, list[tuple[str, Json]]]]:
    """(what it is called, [(kind, options), …] of which the first is taken that can be used)."""
    for name in (
        usable_core_models().filter(machine=machine).values_list("name", flat=True)[:MOST_CORE_MODELS]
    ):
        yield f"core model {name}", [(core_model.KIND, {"model": name})]
    for made in (machine.mappings, machine.resource_mappings):
        for name in made.order_by("-pk").values_list("name", flat=True)[:MOST_MAPPINGS]:
            yield f"mapping {name}", [(mapping.KIND, {"mapping": name})]
    processor = processor_of_machine(machine)
    for kind, found, _ in programs():
        if kind.name != nanobench.KIND:  # that measures the computer of the site
            for one in found:
                yield f"{kind.title} {one.version}", _for_processor(kind, one, processor)


def _for_processor(kind: PredictorKind, one: FoundKind, processor: str) -> list[tuple[str, Json]]:
    return [(kind.name, options) for options in options_for(kind.name, one.options, processor)]


def _first_usable(wanted: Sequence[tuple[str, Json]], mode: str) -> tuple[Predictor | None, str]:
    reason = "it has no model of this processor"
    for kind, options in wanted:
        try:
            return row_for(kind, kind_of(kind).in_mode(options, mode)), ""
        except PredictorError as error:
            reason = str(error)
    return None, reason
