"""Runs of kind `matrix`: how often each two tools disagree on the blocks of a set (thesis, Figure 8.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, Field

from anica_app.core.discovery_selection import fresh_blocks
from anica_app.core.domain.settings import DomainSettings, SpaceSettings
from anica_app.core.errors import AnicaError
from anica_app.core.search.interestingness import FAILING, InterestSettings
from anica_app.storage.descriptions import Interest, Space
from anica_app.storage.domains import chosen_domain
from inference.core.judging.disagreement import disagreements
from inference.core.judging.sheet import AnswerSheet
from inference.core.protocols import Json
from inference.features.asking.block_sets.columns import read_set
from inference.features.asking.predictors.kinds import common_isa
from inference.features.asking.predictors.modes import AS_NAMED, QuestionMode, rows_in_question_mode
from inference.features.judging.engine.item_answers import BlockSetAnswers, store_answer_columns
from inference.features.judging.engine.judge_jobs import JudgeJob
from inference.features.judging.engine.new_blocks import NewBlocks
from inference.features.judging.engine.request import JudgeConfig
from inference.features.judging.engine.sources import ComparisonColumn, SourceKind
from inference.isa.blocks import mnemonics_of
from inference.models import BasicBlockSet, BlockColumn, Predictor, Run
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Store, Task
from inference.runs.request import RunRequest, read_rows
from inference.storage.block_sets import BlockToStore
from inference.storage.instruction_sets import loaded_isa_row
from inference.storage.names import enumerated, result_name, row_names

KIND = "matrix"
MAX_TOOLS = 20
MAX_BLOCKS = 100_000
ALL_BLOCKS = 10_000_000
"""Larger than any set: all blocks of a set are predicted."""
DEFAULT_BLOCKS, DEFAULT_LENGTH = 2000, 4


def _counts_differences(interest: InterestSettings) -> InterestSettings:
    if interest.metric == FAILING:
        raise ValueError("metric must be relative or absolute: a matrix counts differences")
    return interest


class MatrixConfig(RunRequest):
    """The description of a matrix.

    `predictors`: ids of those to run; `columns`: ids of existing columns of the set. `block_set`: id of the
    basic-block set; None to sample `blocks` random ones of `length` instructions, as `space` allows (fields
    of `SpaceSettings`), into a new set. `interest`: fields of `InterestSettings`; failures do not count.
    `mode`: in which the predictors run; by default that of measured columns.
    """

    noun = "a matrix"
    predictors: list[int] = []
    block_set: Annotated[int, Field(examples=[2])] | None = None
    columns: Annotated[
        list[int], Field(description="Ids of existing columns of the set.", examples=[[5, 6]])
    ] = []
    blocks: Annotated[int, Field(ge=10, le=MAX_BLOCKS)] = DEFAULT_BLOCKS
    length: Annotated[int, Field(ge=1, le=30, description="Number of instructions of a random block.")] = (
        DEFAULT_LENGTH
    )
    space: Space = SpaceSettings()
    interest: Annotated[Interest, AfterValidator(_counts_differences)] = InterestSettings()
    mode: QuestionMode = AS_NAMED


def read_config(description: Json) -> MatrixConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    config = MatrixConfig.read(description)
    existing_columns = read_rows(BlockColumn, "columns", config.columns, noun="column")
    named = read_rows(Predictor, "predictors", config.predictors)
    rows = rows_in_question_mode(named, config.mode, [column.predictor for column in existing_columns])
    predictors = [row.pk for row in rows]
    columns = [row.pk for row in existing_columns]
    if config.block_set is not None:
        block_set = read_set(config.block_set).pk
        there = BlockColumn.objects.filter(block_set=block_set, predictor__in=predictors)
        stored = dict(there.values_list("predictor", "pk"))
        predictors = [pk for pk in predictors if pk not in stored]
        columns = list(dict.fromkeys([*columns, *stored.values()]))
    else:
        common_isa(predictors)
    if any(row.block_set_id != config.block_set for row in existing_columns):
        raise ConfigError("columns: they must be of the basic-block set")
    if not 2 <= len(predictors) + len(columns) <= MAX_TOOLS:
        raise ConfigError(f"predictors: choose from 2 to {MAX_TOOLS} tools, with the columns of the set")
    return config.model_copy(update={"predictors": predictors, "columns": columns})


class ExtendedBlockSet(BlockSetAnswers):
    """A basic-block set that stores new answers as columns."""

    def store_columns(self, run: Run, columns: Sequence[ComparisonColumn]) -> list[BlockColumn]:
        return store_answer_columns(self.row, columns)


class MatrixJob(JudgeJob):
    """Runs of kind `matrix`: a comparison of tools with each other, with the first as the reference."""

    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def default_name(self, config: Json) -> str:
        sets = row_names(BasicBlockSet, [config["block_set"]])
        columns = row_names(BlockColumn, config["columns"])
        tools = enumerated([*columns, *row_names(Predictor, config["predictors"])])
        return result_name(*(sets or [f"{config['blocks']:,} random blocks"]), tools)

    def work(self, task: Task) -> Store:
        """Run the predictors that have no column yet, and count differences."""
        config = MatrixConfig.from_stored(task.run.config)
        existing = BlockColumn.objects.filter(pk__in=config.columns).order_by("position")
        against, *sources = (
            *(f"{SourceKind.COLUMN}:{pk}" for pk in existing.values_list("pk", flat=True)),
            *(f"{SourceKind.PREDICTOR}:{pk}" for pk in config.predictors),
        )
        described = JudgeConfig.model_construct(
            block_set=config.block_set, sources=sources, against=against, most=ALL_BLOCKS, mode=config.mode
        )
        reader = _reader(task, config, described)

        def facts(sheet: AnswerSheet, columns: Sequence[ComparisonColumn]) -> Json:
            answered = [column.answers.cycles for column in columns if not column.error]
            cycles = [sheet.reference, *answered]
            counted = disagreements(cycles, config.interest.metric, config.interest.threshold)
            return {
                "name": f"{len(cycles)} tools on {reader.row.name}",
                "url": f"/campaigns/matrices/{task.run.pk}/",
                "blocks": len(sheet.items),
                "both": counted.both.tolist(),
                "differing": counted.differing.tolist(),
            }

        return self.compare(task, described, reader, facts, needs_reference=False)


def _reader(task: Task, config: MatrixConfig, described: JudgeConfig) -> BlockSetAnswers:
    if config.block_set is not None:
        row = BasicBlockSet.objects.filter(pk=config.block_set).select_related("isa").first()
        if row is None:
            raise JobError("the basic-block set has been deleted")
        return ExtendedBlockSet(task, row, described)
    isa = common_isa(config.predictors)
    blocks = [BlockToStore(code, mnemonics_of(code, isa)) for code in _fresh(config, isa)]
    name = f"{len(blocks):,} random blocks of {config.length} instructions"
    row = BasicBlockSet(name=name, isa=loaded_isa_row(isa), source=f"sampled by {task.run.name}"[:300])
    return NewBlocks(task, row, described, blocks)


def _fresh(config: MatrixConfig, isa: str) -> list[bytes]:
    try:
        domain = chosen_domain(isa, vars(config.space), vars(DomainSettings()))
        return [domain.code(block) for block in fresh_blocks(domain, config.blocks, config.length)]
    except AnicaError as error:
        raise JobError(str(error)) from error


JOBS = {"matrix": MatrixJob}
