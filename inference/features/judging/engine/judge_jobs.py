"""Runs that compare: what each source says of the items of a set, beside what they are held against."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from inference.core.events import Event, Log, PhaseStarted, ResultStored
from inference.core.judging.accuracy import ColumnRoles, column_verdict
from inference.core.judging.sheet import AnswerSheet, Grouping
from inference.core.metrics import Unit
from inference.core.protocols import Json
from inference.core.texts import count_of
from inference.features.asking.predictors.kinds import kind_of
from inference.features.judging.engine.item_answers import (
    BlockAnswers,
    ExperimentAnswers,
    QuestionBlocks,
    tell_progress,
)
from inference.features.judging.engine.new_blocks import NewBlocks, drawn_blocks, measured_in_rounds
from inference.features.judging.engine.request import (
    ComparisonConfig,
    JudgeConfig,
    read_config,
    read_lists,
)
from inference.features.judging.engine.sources import (
    AnswerSource,
    ComparisonColumn,
    SourceError,
    Subject,
    source_named,
)
from inference.features.learning.core_model.query import usable_core_models
from inference.isa.blocks import BlockError, block_of_bytes
from inference.models import (
    BasicBlockSet,
    BlockColumn,
    ComparedColumn,
    Comparison,
    ExperimentSet,
    Predictor,
    Run,
)
from inference.predictors import core_model, machine
from inference.predictors.protocol import PredictorError
from inference.runs.errors import JobError
from inference.runs.kinds import Store, Task
from inference.storage.answer_sheets import answers_field, pictured, sheet_fields, summarised

STAGES = ("read", "ask", "sum up")


Facts = Callable[[AnswerSheet, Sequence[ComparisonColumn]], Json]
"""What else the result of a run says, from the sheet and its columns without the reference."""


class JudgeJob:
    """Runs of kind `judge`. Interrupted, they begin anew; what tools have answered is remembered."""

    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def submitted(self, run: Run) -> None:
        """Nothing is to be prepared."""

    def work(self, task: Task) -> Store:
        """Read the set, ask, sum up. A tool that cannot work here says nothing, and the others go on."""
        return self.compared(task, JudgeConfig.stored(task.run.config))

    def compared(
        self,
        task: Task,
        config: JudgeConfig,
        reader: ExperimentAnswers | BlockAnswers | None = None,
        facts: Facts = lambda sheet, columns: {},
        *,
        needs_reference: bool = True,
    ) -> Store:
        """The comparison that a description means; other kinds of runs describe the same in their own words.

        Args:
            task: The run.
            config: Its description.
            reader: The items, where they are not simply those of the set that the description names.
            facts: What the result says besides.
            needs_reference: Whether a reference without any number ends the run by a `JobError`.
        """
        _stage(task, 0)
        subject = reader.row if reader is not None else _subject(config)
        sources = _sources(config, subject)
        items_of = reader or _reader(task, subject, config, sources)
        items_of.read_all()
        if not len(items_of.items):
            what = "settled measurement" if config.experiment_set is not None else "block"
            raise JobError(f"{items_of.row.name!r} has no {what} to compare with")
        _stage(task, 1)
        reference, columns, blocks = _answered(task, items_of, sources, config)
        bounds = _bounds(config, reference, columns, blocks, len(items_of.items))
        _stage(task, 2)
        cycles = items_of.measured if reference is None else reference.answers.cycles
        if reference is not None and reference.error:
            raise JobError(f"{reference.source.name} cannot be asked: {reference.error}")
        if needs_reference and not (cycles > 0).any():
            named = config.against or items_of.row.name
            raise JobError(f"{named}: there is no number to hold others against")
        items = replace(items_of.items, bounds=bounds)
        sheet = AnswerSheet(items, cycles, [column.answers for column in columns])
        is_measured = reference is None or reference.source.measures
        summary = summed_up(task, sheet, columns, is_measured=is_measured)
        return partial(_store, task.run, config, items_of, reference, columns, summary, facts(sheet, columns))


class ComparisonJob(JudgeJob):
    """Runs of kind `comparison`, which are described by a list of ids for each kind of column."""

    def check(self, config: Json) -> Json:
        return read_lists(config).as_json()

    def work(self, task: Task) -> Store:
        return self.compared(task, ComparisonConfig.stored(task.run.config).as_judge)


def _stage(task: Task, index: int) -> None:
    task.reporter.emit(PhaseStarted(STAGES[index], index + 1, STAGES))


def _subject(config: JudgeConfig) -> Subject:
    if config.block_set is not None:
        block_set = BasicBlockSet.objects.filter(pk=config.block_set).select_related("isa").first()
        if block_set is None:
            raise JobError("the basic-block set to compare on has been deleted")
        return block_set
    judge = ExperimentSet.objects.filter(pk=config.experiment_set or 0).select_related("isa").first()
    if judge is None:
        raise JobError("the experiment set to compare on has been deleted")
    return judge


def _sources(config: JudgeConfig, subject: Subject) -> list[AnswerSource]:
    """All sources, the reference last. Raises `JobError` where one is gone."""
    try:
        return [source_named(text, subject) for text in config.texts]
    except SourceError as error:
        raise JobError(f"what is to be compared has been deleted: {error}") from error


def _reader(
    task: Task, subject: Subject, config: JudgeConfig, sources: Sequence[AnswerSource]
) -> ExperimentAnswers | BlockAnswers:
    if isinstance(subject, ExperimentSet):
        return ExperimentAnswers(task, subject, config, sources)
    return drawn_blocks(task, subject, config) if config.rounds else BlockAnswers(task, subject, config)


def _answered(
    task: Task,
    reader: ExperimentAnswers | BlockAnswers,
    sources: Sequence[AnswerSource],
    config: JudgeConfig,
) -> tuple[ComparisonColumn | None, list[ComparisonColumn], QuestionBlocks | None]:
    """The reference, a column for each source, and the blocks that predictors were asked about."""
    blocks: QuestionBlocks | None = None
    columns, measured = [], []
    if config.rounds and isinstance(reader, BlockAnswers):
        blocks = reader.question_blocks()
        measured = list(measured_in_rounds(task, sources[-1], reader.codes, config.rounds))
        sources = sources[:-1]
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
    if measured:
        return measured[0], [measured[1], *columns], blocks
    reference = columns.pop() if config.against else None
    return reference, columns, blocks


def _bounds(
    config: JudgeConfig,
    reference: ComparisonColumn | None,
    columns: Sequence[ComparisonColumn],
    blocks: QuestionBlocks | None,
    size: int,
) -> Grouping | None:
    """The largest bound of each item of a question, by the first core model among the sources.

    Without one, by the newest of the machine that measured the reference.
    """
    rows = [column.source.row for column in columns if not column.error]
    model = first_core_model([row for row in rows if isinstance(row, Predictor)])
    if model is None and reference is not None and isinstance(reference.source.row, Predictor):
        model = machines_core_model(reference.source.row)
    if blocks is None or model is None:
        return None
    labels = [""] * size
    for place, bound in zip(blocks.places, bounds_by(model, blocks.codes, config.mode), strict=True):
        labels[place] = bound
    return Grouping.of(labels)


@dataclass(frozen=True, eq=False)
class SummedUpSheet:
    """Everything of a sheet that is stored, worked out before the transaction that stores it.

    `points` and `fields` are those of the comparison and of its columns.
    """

    sheet: AnswerSheet
    points: Json
    fields: list[Json]


def summed_up(
    task: Task, sheet: AnswerSheet, columns: Sequence[ComparisonColumn], *, is_measured: bool = True
) -> SummedUpSheet:
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
    return SummedUpSheet(sheet, sheet_fields(sheet), fields)


def store_comparison(
    run: Run, subject: Subject, read: int, summary: SummedUpSheet, *, reference: str = "", against: str = ""
) -> Comparison:
    """The rows of a comparison on the items of a set, of which `read` rows were read; in a transaction."""
    is_there = type(subject)._default_manager.filter(pk=subject.pk).exists()
    row = Comparison.objects.create(
        run=run,
        item_kind=summary.sheet.items.kind.value,
        isa=subject.isa,
        experiment_set=subject if isinstance(subject, ExperimentSet) and is_there else None,
        block_set=subject if isinstance(subject, BasicBlockSet) and is_there else None,
        source=subject.name,
        reference=reference[:200],
        against=against,
        read=read,
        n=len(summary.sheet.items),
        common=int(summary.sheet.common.sum()),
        **summary.points,
    )
    for position, fields in enumerate(summary.fields):
        ComparedColumn.objects.create(comparison=row, position=position, **fields)
    return row


def _store(
    run: Run,
    config: JudgeConfig,
    reader: ExperimentAnswers | BlockAnswers,
    reference: ComparisonColumn | None,
    columns: Sequence[ComparisonColumn],
    summary: SummedUpSheet,
    facts: Json,
) -> tuple[Json, Sequence[Event]]:
    kept: list[BlockColumn] = []
    if isinstance(reader, BlockAnswers):
        answered = [*([] if reference is None else [reference]), *columns]
        kept = reader.keep(run, [column for column in answered if not column.error])
    if isinstance(reader, NewBlocks):
        items = replace(summary.sheet.items, ids=reader.ids())
        summary = replace(summary, points=sheet_fields(replace(summary.sheet, items=items)))
    name = "" if reference is None else reference.source.name
    row = store_comparison(run, reader.row, reader.read, summary, reference=name, against=config.against)
    scores = [
        {"name": fields["name"], **fields["summary"]["scores"][Unit.CYCLES.value]}
        for fields in summary.fields
    ]
    result: Json = {
        "comparison": row.pk,
        "name": f"{count_of(len(scores), 'predictor')} on {row.source}",
        "url": f"/comparisons/{run.pk}/",
        "scores": scores,
        **({"block_set": reader.row.pk} if isinstance(reader.row, BasicBlockSet) else {}),
        **facts,
    }
    if kept:
        heads = ({"id": column.pk, "name": column.name, "predictor": column.predictor_id} for column in kept)
        result["columns"] = list(heads)
    return result, [ResultStored({"name": result["name"], "url": result["url"]})]


def first_core_model(predictors: Sequence[Predictor]) -> Json | None:
    """The options of the first core model among predictors; None where there is none."""
    return next((row.options for row in predictors if row.kind == core_model.KIND), None)


def machines_core_model(predictor: Predictor) -> Json | None:
    """The options of the newest core model of the machine that a predictor measures on."""
    if predictor.kind != machine.KIND:
        return None
    newest = usable_core_models().filter(machine__name=predictor.options["machine"]).first()
    return None if newest is None else {"model": newest.name}


def bounds_by(options: Json, codes: Sequence[bytes], mode: str) -> list[str]:
    """The largest bound of each block by the core model with these options.

    "" where it does not know the block, and everywhere where it cannot be used.
    """
    try:
        kind = kind_of(core_model.KIND)
        model = kind.predictor(kind.in_mode(options, mode))
    except PredictorError:
        return [""] * len(codes)
    assert isinstance(model, core_model.ModelledBlocks)
    return [_largest(model, code) for code in codes]


def _largest(model: core_model.ModelledBlocks, code: bytes) -> str:
    try:
        explained = model.explain(block_of_bytes(code))
    except BlockError:
        return ""
    return str(explained.bounds[0].kind) if explained.bounds and not explained.unknown else ""
