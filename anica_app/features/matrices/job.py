"""Runs of kind `matrix`: how often each two tools disagree about the blocks of a set (thesis, Figure 8.1)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from pydantic import AfterValidator, Field

from anica_app.core.domain.settings import DomainSettings, SpaceSettings
from anica_app.core.errors import AnicaError
from anica_app.core.explained_blocks import fresh_blocks
from anica_app.core.search.judging import FAILING, InterestSettings
from anica_app.storage.descriptions import Interest, Space
from anica_app.storage.domains import chosen_domain
from inference.core.arrays import Floats
from inference.core.event import Event
from inference.core.events import ResultStored
from inference.core.judging.disagreement import disagreements
from inference.core.protocols import Json
from inference.features.asking.block_sets.columns import add_columns, answers_of, codes_of, read_set
from inference.features.asking.predictors.common_isa import common_isa
from inference.features.asking.predictors.modes import AS_NAMED, QuestionMode, asked_in_mode
from inference.features.asking.predictors.panel import opened_panel
from inference.isa.blocks import mnemonics_of
from inference.models import BasicBlockSet, BlockColumn, Predictor, Run
from inference.predictors.answer_arrays import cycles_in
from inference.predictors.protocol import Answer
from inference.runs.described_rows import read_rows
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Store, Task
from inference.runs.request import RunRequest
from inference.storage.block_rows import BlockToStore, cycles_of, insert_blocks
from inference.storage.instruction_sets import code_isa, code_isa_row
from inference.storage.names import free_name

KIND = "matrix"
MOST_TOOLS = 20
MOST_BLOCKS = 100_000
DEFAULT_BLOCKS, DEFAULT_LENGTH = 2000, 4


def _counts_differences(interest: InterestSettings) -> InterestSettings:
    if interest.metric == FAILING:
        raise ValueError("metric must be relative or absolute: a matrix counts differences")
    return interest


class MatrixConfig(RunRequest):
    """`predictors`: ids of those to ask, `columns`: ids of columns of the set that are there already.

    `block_set`: id of the basic-block set; None to sample `blocks` random ones of `length` instructions, as
    `space` allows (fields of `SpaceSettings`), into a new set. `interest`: fields of `InterestSettings`;
    failures do not count here. `mode`: in which the predictors are asked; without, as measured columns were
    measured.
    """

    noun = "a matrix"
    predictors: list[int] = []
    block_set: Annotated[int, Field(examples=[2])] | None = None
    columns: Annotated[list[int], Field(description="Of the set.", examples=[[5, 6]])] = []
    blocks: Annotated[int, Field(ge=10, le=MOST_BLOCKS)] = DEFAULT_BLOCKS
    length: Annotated[int, Field(ge=1, le=30, description="Instructions of random blocks.")] = DEFAULT_LENGTH
    space: Space = SpaceSettings()
    interest: Annotated[Interest, AfterValidator(_counts_differences)] = InterestSettings()
    mode: QuestionMode = AS_NAMED


def read_config(given: Json) -> MatrixConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    config = MatrixConfig.read(given)
    held_columns = read_rows(BlockColumn, "columns", config.columns, what="column")
    named = read_rows(Predictor, "predictors", config.predictors)
    rows = asked_in_mode(named, config.mode, [column.predictor for column in held_columns])
    predictors = [row.pk for row in rows]
    columns = [row.pk for row in held_columns]
    if config.block_set is not None:
        block_set = read_set(config.block_set).pk
        there = BlockColumn.objects.filter(block_set=block_set, predictor__in=predictors)
        held = dict(there.values_list("predictor", "pk"))
        predictors = [pk for pk in predictors if pk not in held]
        columns = list(dict.fromkeys([*columns, *held.values()]))
    else:
        common_isa(predictors)
    if any(row.block_set_id != config.block_set for row in held_columns):
        raise ConfigError("columns: they must be of the basic-block set")
    if not 2 <= len(predictors) + len(columns) <= MOST_TOOLS:
        raise ConfigError(f"predictors: choose from 2 to {MOST_TOOLS} tools, with the columns of the set")
    return config.model_copy(update={"predictors": predictors, "columns": columns})


class MatrixJob:
    """Runs of kind `matrix`. Interrupted, they begin anew with remembered answers."""

    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def submitted(self, run: Run) -> None:
        """Nothing is to be prepared."""

    def work(self, task: Task) -> Store:
        """Ask the predictors for the blocks that they have no column of, and count."""
        config = MatrixConfig.stored(task.run.config)
        row = None
        if config.block_set is not None:
            row = BasicBlockSet.objects.filter(pk=config.block_set).first()
            if row is None:
                raise JobError("the basic-block set has been deleted")
        isa = common_isa(config.predictors) if row is None else code_isa(row.isa)
        codes = _fresh(config, isa) if row is None else codes_of(row)
        answers: list[list[Answer]] = [[] for _ in config.predictors]
        if config.predictors:
            with opened_panel(task, config.predictors, isa) as panel:
                answers = answers_of(task, panel, codes, KIND)
        columns = list(BlockColumn.objects.filter(pk__in=config.columns).order_by("position"))
        held = [cycles_of(column, len(codes)) for column in columns]
        return partial(_store, task.run, config, isa, codes, answers, [*held, *map(cycles_in, answers)])


def _fresh(config: MatrixConfig, isa: str) -> list[bytes]:
    try:
        domain = chosen_domain(isa, vars(config.space), vars(DomainSettings()))
        return [domain.code(block) for block in fresh_blocks(domain, config.blocks, config.length)]
    except AnicaError as error:
        raise JobError(str(error)) from error


def _store(
    run: Run,
    config: MatrixConfig,
    isa: str,
    codes: Sequence[bytes],
    answers: list[list[Answer]],
    cycles: list[Floats],
) -> tuple[Json, Sequence[Event]]:
    """The new columns, in a new set where there was none, and the counts."""
    known = None if config.block_set is None else BasicBlockSet.objects.filter(pk=config.block_set).first()
    row = known or _new_set(run, config, isa, codes)
    old = list(BlockColumn.objects.filter(pk__in=config.columns).order_by("position"))
    rows = Predictor.objects.in_bulk(config.predictors)
    heads = [(rows[pk].name, rows[pk]) for pk in config.predictors]
    columns = [*old, *add_columns(row, heads, answers)]
    counted = disagreements(cycles, config.interest.metric, config.interest.threshold)
    result: Json = {
        "block_set": row.pk,
        "name": f"{len(columns)} tools on {row.name}",
        "url": f"/campaigns/matrices/{run.pk}/",
        "blocks": len(codes),
        "columns": [{"id": one.pk, "name": one.name, "predictor": one.predictor_id} for one in columns],
        "both": counted.both.tolist(),
        "differing": counted.differing.tolist(),
    }
    return result, [ResultStored({"name": result["name"], "url": result["url"]})]


def _new_set(run: Run, config: MatrixConfig, isa: str, codes: Sequence[bytes]) -> BasicBlockSet:
    row = BasicBlockSet.objects.create(
        name=free_name(BasicBlockSet, f"{len(codes):,} random blocks of {config.length} instructions"),
        isa=code_isa_row(isa),
        run=run,
        origin=BasicBlockSet.Origin.RUN,
        source=f"sampled by {run.name}"[:300],
        size=len(codes),
    )
    insert_blocks(row, (BlockToStore(code, mnemonics_of(code, isa)) for code in codes))
    return row
