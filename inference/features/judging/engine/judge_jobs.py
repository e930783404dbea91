"""Runs that compare: what each source says of the items of a set, beside what they are held against."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from inference.core.event import Event
from inference.core.events import Log, PhaseStarted, ResultStored
from inference.core.judging.sheet import Answers, AnswerSheet, Grouping
from inference.core.metrics import Unit
from inference.core.protocols import Json
from inference.core.texts import count_of
from inference.features.judging.engine.block_answers import BlockAnswers
from inference.features.judging.engine.column_verdicts import ColumnRoles, column_verdict
from inference.features.judging.engine.experiment_answers import ExperimentAnswers
from inference.features.judging.engine.largest_bounds import bounds_by, first_core_model
from inference.features.judging.engine.question_blocks import QuestionBlocks, tell_progress
from inference.features.judging.engine.request import (
    ComparisonConfig,
    JudgeConfig,
    read_config,
    read_lists,
)
from inference.features.judging.engine.sources import AnswerSource, SourceError, source_named
from inference.models import BasicBlockSet, ComparedColumn, Comparison, ExperimentSet, Predictor, Run
from inference.predictors.protocol import PredictorError
from inference.runs.errors import JobError
from inference.runs.kinds import Store, Task
from inference.storage.answer_sheets import answers_field, pictured, sheet_fields, summarised

STAGES = ("read", "ask", "sum up")


@dataclass(frozen=True, eq=False)
class ComparisonColumn:
    """A column to be stored."""

    source: AnswerSource
    answers: Answers
    error: str = ""


class JudgeJob:
    """Runs of kind `judge`. Interrupted, they begin anew; what tools have answered is remembered."""

    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def submitted(self, run: Run) -> None:
        """Nothing is to be prepared."""

    def description(self, run: Run) -> JudgeConfig:
        """What a run compares; other kinds of runs describe the same in other words."""
        return JudgeConfig.stored(run.config)

    def work(self, task: Task) -> Store:
        """Read the set, ask, sum up. A tool that cannot work here says nothing, and the others go on."""
        config = self.description(task.run)
        _stage(task, 0)
        reader, sources = _opened(task, config)
        reader.read_all()
        if not len(reader.items):
            what = "settled measurement" if config.experiment_set is not None else "block"
            raise JobError(f"{reader.row.name!r} has no {what} to compare with")
        _stage(task, 1)
        columns, blocks = _answered(task, reader, sources)
        reference = columns.pop() if config.against else None
        items = replace(reader.items, bounds=_bounds(config, columns, blocks, len(reader.items)))
        _stage(task, 2)
        cycles = reader.measured if reference is None else reference.answers.cycles
        if not (cycles > 0).any():
            raise JobError(f"{config.against or reader.row.name}: there is no number to hold others against")
        sheet = AnswerSheet(items, cycles, [column.answers for column in columns])
        is_measured = reference is None or reference.source.measures
        summary = _summed_up(task, sheet, columns, is_measured=is_measured)
        return partial(_store, task.run, config, reader, reference, summary)


class ComparisonJob(JudgeJob):
    """Runs of kind `comparison`, which are described by a list of ids for each kind of column."""

    def check(self, config: Json) -> Json:
        return read_lists(config).as_json()

    def description(self, run: Run) -> JudgeConfig:
        return ComparisonConfig.stored(run.config).as_judge


def _stage(task: Task, index: int) -> None:
    task.reporter.emit(PhaseStarted(STAGES[index], index + 1, STAGES))


def _opened(task: Task, config: JudgeConfig) -> tuple[ExperimentAnswers | BlockAnswers, list[AnswerSource]]:
    """Whoever reads the set, and all sources; raises `JobError` where one is gone."""
    try:
        if config.block_set is not None:
            block_set = BasicBlockSet.objects.filter(pk=config.block_set).select_related("isa").first()
            if block_set is None:
                raise JobError("the basic-block set to compare on has been deleted")
            sources = [source_named(text, block_set) for text in config.texts]
            return BlockAnswers(task, block_set, config), sources
        judge = ExperimentSet.objects.filter(pk=config.experiment_set or 0).select_related("isa").first()
        if judge is None:
            raise JobError("the experiment set to compare on has been deleted")
        sources = [source_named(text, judge) for text in config.texts]
        return ExperimentAnswers(task, judge, config, sources), sources
    except SourceError as error:
        raise JobError(f"what is to be compared has been deleted: {error}") from error


def _answered(
    task: Task, reader: ExperimentAnswers | BlockAnswers, sources: Sequence[AnswerSource]
) -> tuple[list[ComparisonColumn], QuestionBlocks | None]:
    """A column for each source, and the blocks that predictors were asked about."""
    blocks: QuestionBlocks | None = None
    columns = []
    for source in sources:
        answers = reader.direct(source)
        if answers is not None:
            columns.append(ComparisonColumn(source, answers))
            continue
        blocks = blocks or reader.question_blocks()
        try:
            assert isinstance(source.row, Predictor), "whoever is asked was stored as a predictor"
            columns.append(ComparisonColumn(source, blocks.ask(source.row)))
        except PredictorError as error:
            task.reporter.emit(Log("warning", f"{source.name} cannot be asked: {error}"))
            columns.append(ComparisonColumn(source, blocks.nothing(), str(error)))
    return columns, blocks


def _bounds(
    config: JudgeConfig, columns: Sequence[ComparisonColumn], blocks: QuestionBlocks | None, size: int
) -> Grouping | None:
    """The largest bound of each item of a question, by the first core model among the sources."""
    rows = [column.source.row for column in columns if not column.error]
    model = first_core_model([row for row in rows if isinstance(row, Predictor)])
    if blocks is None or model is None:
        return None
    labels = [""] * size
    for place, bound in zip(blocks.places, bounds_by(model, blocks.codes, config.mode), strict=True):
        labels[place] = bound
    return Grouping.of(labels)


@dataclass(frozen=True, eq=False)
class _SummedUp:
    """Everything that is stored, worked out before the transaction that stores it."""

    n: int
    fields: list[Json]
    common: int
    points: Json


def _summed_up(
    task: Task, sheet: AnswerSheet, columns: Sequence[ComparisonColumn], *, is_measured: bool
) -> _SummedUp:
    """`is_measured`: whether the reference is a measurement."""
    fields = []
    repeats = [is_measured and column.source.measures for column in columns]
    published = [column.source.is_published for column in columns]
    roles = ColumnRoles(
        tuple(at for at, repeated in enumerate(repeats) if repeated),
        tuple((columns[at].source.name, at) for at, is_tool in enumerate(published) if is_tool),
    )
    began = time.monotonic()
    for position, column in enumerate(columns):
        tell_progress(task, "sum up", position, len(columns), "predictors", began)
        fields.append(
            {
                "kind": column.source.column_kind,
                "name": column.source.name[:200],
                "error": column.error,
                "summary": {
                    **summarised(sheet, position),
                    "verdict": column_verdict(sheet, position, roles).as_json(),
                    "repeats": repeats[position],
                    "is_published": published[position],
                },
                "pictures": pictured(sheet, position),
                "answers": answers_field(column.answers),
                **column.source.column_fields,
            }
        )
    return _SummedUp(len(sheet.items), fields, int(sheet.common.sum()), sheet_fields(sheet))


def _store(
    run: Run,
    config: JudgeConfig,
    reader: ExperimentAnswers | BlockAnswers,
    reference: ComparisonColumn | None,
    summary: _SummedUp,
) -> tuple[Json, Sequence[Event]]:
    subject = reader.row
    is_there = type(subject)._default_manager.filter(pk=subject.pk).exists()
    row = Comparison.objects.create(
        run=run,
        item_kind=reader.items.kind.value,
        isa=subject.isa,
        experiment_set=subject if isinstance(subject, ExperimentSet) and is_there else None,
        block_set=subject if isinstance(subject, BasicBlockSet) and is_there else None,
        source=subject.name,
        reference="" if reference is None else reference.source.name[:200],
        against=config.against,
        read=reader.read,
        n=summary.n,
        common=summary.common,
        **summary.points,
    )
    for position, fields in enumerate(summary.fields):
        ComparedColumn.objects.create(comparison=row, position=position, **fields)
    scores = [
        {"name": fields["name"], **fields["summary"]["scores"][Unit.CYCLES.value]}
        for fields in summary.fields
    ]
    result: Json = {
        "comparison": row.pk,
        "name": f"{count_of(len(scores), 'predictor')} on {subject.name}",
        "url": f"/comparisons/{run.pk}/",
        "scores": scores,
        **({"block_set": subject.pk} if isinstance(subject, BasicBlockSet) else {}),
    }
    return result, [ResultStored({"name": result["name"], "url": result["url"]})]
