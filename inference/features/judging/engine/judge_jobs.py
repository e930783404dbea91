"""Runs that compare the answers of sources on the items of a set with a reference."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from inference.core.events import Event, Log, PhaseStarted, ResultStored
from inference.core.experiment import Unit
from inference.core.judging.accuracy import ColumnRoles, column_verdict
from inference.core.judging.sheet import AnswerSheet, Grouping
from inference.core.protocols import Json
from inference.core.texts import count_of
from inference.features.asking.predictors.kinds import kind_of
from inference.features.judging.engine.item_answers import (
    BlockSetAnswers,
    ExperimentAnswers,
    QuestionBlocks,
    report_progress,
)
from inference.features.judging.engine.new_blocks import NewBlocks, measure_in_rounds, sampled_blocks
from inference.features.judging.engine.request import (
    ComparisonConfig,
    JudgeConfig,
    read_config,
    read_lists,
    subject_of,
)
from inference.features.judging.engine.sources import (
    AnswerSource,
    ComparisonColumn,
    SourceError,
    Subject,
    source_named,
)
from inference.features.learning.core_model.query import usable_core_models
from inference.isa.blocks import block_of_bytes
from inference.isa.code.block import BlockError
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
from inference.runs.kinds import Job, Store, Task
from inference.storage.answer_sheets import answers_field, column_heat_maps, column_summary, sheet_fields
from inference.storage.names import enumerated, result_name

STAGES = ("read", "ask", "sum up")
LABELS = ("Read the items", "Ask the predictors", "Sum up")


ExtraFacts = Callable[[AnswerSheet, Sequence[ComparisonColumn]], Json]
"""Computes further fields of a run's result from the sheet and its columns, without the reference."""


class JudgeJob(Job):
    """Runs of kind `judge`. An interrupted run starts again; answers of tools are cached."""

    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def default_name(self, config: Json) -> str:
        judged = JudgeConfig.from_stored(config)
        subject = subject_of(judged)
        return result_name(
            subject.name, enumerated([source_named(text, subject).name for text in judged.sources])
        )

    def work(self, task: Task) -> Store:
        """Compare the sources; one that cannot be used here gets an error, and the others go on."""
        return self.compare(task, JudgeConfig.from_stored(task.run.config))

    def compare(
        self,
        task: Task,
        config: JudgeConfig,
        reader: ExperimentAnswers | BlockSetAnswers | None = None,
        facts: ExtraFacts = lambda sheet, columns: {},
        *,
        needs_reference: bool = True,
    ) -> Store:
        """Compare as `config` says; other kinds of runs translate their descriptions into one.

        Args:
            task: The run.
            config: Its description.
            reader: Reads the items, if they are not simply those of the set in the description.
            facts: Computes further fields of the result.
            needs_reference: Whether a reference without any number is an error.
        """
        _report_stage(task, 0)
        subject = reader.row if reader is not None else _subject(config)
        sources = _sources(config, subject)
        item_reader = reader or _reader(task, subject, config, sources)
        item_reader.read_all()
        if not len(item_reader.items):
            items_noun = "settled measurement" if config.experiment_set is not None else "block"
            raise JobError(f"{item_reader.row.name!r} has no {items_noun} to compare with")
        _report_stage(task, 1)
        reference, columns, blocks = _collect_answers(task, item_reader, sources, config)
        bounds = _bounds(config, reference, columns, blocks, len(item_reader.items))
        _report_stage(task, 2)
        cycles = item_reader.measured if reference is None else reference.answers.cycles
        if reference is not None and reference.error:
            raise JobError(f"{reference.source.name} cannot be used: {reference.error}")
        if needs_reference and not (cycles > 0).any():
            named = config.against or item_reader.row.name
            raise JobError(f"{named} has no number above 0 to compare with")
        items = replace(item_reader.items, bounds=bounds)
        sheet = AnswerSheet(items, cycles, [column.answers for column in columns])
        is_measured = reference is None or reference.source.measures
        summary = summarise_sheet(task, sheet, columns, is_measured=is_measured)
        return partial(
            _store, task.run, config, item_reader, reference, columns, summary, facts(sheet, columns)
        )


class ComparisonJob(JudgeJob):
    """Runs of kind `comparison`, whose description has a list of ids per kind of column."""

    def check(self, config: Json) -> Json:
        return read_lists(config).as_json()

    def default_name(self, config: Json) -> str:
        return super().default_name(ComparisonConfig.from_stored(config).as_judge.as_json())

    def work(self, task: Task) -> Store:
        return self.compare(task, ComparisonConfig.from_stored(task.run.config).as_judge)


def _report_stage(task: Task, index: int) -> None:
    task.reporter.emit(PhaseStarted(STAGES[index], index + 1, LABELS))


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
    """All sources, the reference last. Raises `JobError` if one has been deleted."""
    try:
        return [source_named(text, subject) for text in config.texts]
    except SourceError as error:
        raise JobError(f"a source of the comparison has been deleted: {error}") from error


def _reader(
    task: Task, subject: Subject, config: JudgeConfig, sources: Sequence[AnswerSource]
) -> ExperimentAnswers | BlockSetAnswers:
    if isinstance(subject, ExperimentSet):
        return ExperimentAnswers(task, subject, config, sources)
    return sampled_blocks(task, subject, config) if config.rounds else BlockSetAnswers(task, subject, config)


def _collect_answers(
    task: Task,
    reader: ExperimentAnswers | BlockSetAnswers,
    sources: Sequence[AnswerSource],
    config: JudgeConfig,
) -> tuple[ComparisonColumn | None, list[ComparisonColumn], QuestionBlocks | None]:
    """The reference, a column per source, and the blocks that predictors answered for, None without any."""
    blocks: QuestionBlocks | None = None
    columns, measured = [], []
    if config.rounds and isinstance(reader, BlockSetAnswers):
        blocks = reader.question_blocks()
        measured = list(measure_in_rounds(task, sources[-1], reader.codes, config.rounds))
        sources = sources[:-1]
    for source in sources:
        answers = reader.direct_answers(source)
        if answers is not None:
            columns.append(ComparisonColumn(source, answers))
            continue
        blocks = blocks or reader.question_blocks()
        try:
            assert isinstance(source.row, Predictor), "a source without direct answers is a predictor"
            columns.append(ComparisonColumn(source, blocks.ask(source.row)))
        except PredictorError as error:
            task.reporter.emit(Log("warning", f"{source.name} cannot be used: {error}"))
            columns.append(ComparisonColumn(source, blocks.no_answers(), str(error)))
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
    """The largest bound of each item by the first core model among the sources.

    Without one, by the newest core model of the machine that measured the reference; None without that too.
    """
    rows = [column.source.row for column in columns if not column.error]
    model = first_core_model([row for row in rows if isinstance(row, Predictor)])
    if model is None and reference is not None and isinstance(reference.source.row, Predictor):
        model = core_model_of_machine(reference.source.row)
    if blocks is None or model is None:
        return None
    labels = [""] * size
    for place, bound in zip(blocks.places, largest_bounds(model, blocks.codes, config.mode), strict=True):
        labels[place] = bound
    return Grouping.of(labels)


@dataclass(frozen=True, eq=False)
class ComparisonSummary:
    """The stored parts of a sheet, computed before the transaction that stores them.

    Attributes:
        points: Fields of the comparison.
        fields: Fields of each column.
    """

    sheet: AnswerSheet
    points: Json
    fields: list[Json]


def summarise_sheet(
    task: Task, sheet: AnswerSheet, columns: Sequence[ComparisonColumn], *, is_measured: bool = True
) -> ComparisonSummary:
    """Compute the summary of a sheet. `is_measured`: whether the reference is a measurement."""
    fields = []
    repeats = [is_measured and column.source.measures for column in columns]
    published = [column.source.is_published for column in columns]
    roles = ColumnRoles(
        tuple(at for at, repeated in enumerate(repeats) if repeated),
        tuple((columns[at].source.name, at) for at, is_tool in enumerate(published) if is_tool),
    )
    began = time.monotonic()
    for position, column in enumerate(columns):
        report_progress(task, "sum up", position, len(columns), "predictors", began)
        fields.append(
            {
                "kind": column.source.column_kind,
                "name": column.source.name[:200],
                "error": column.error,
                "summary": {
                    **column_summary(sheet, position),
                    "verdict": column_verdict(sheet, position, roles).as_json(),
                    "repeats": repeats[position],
                    "is_published": published[position],
                },
                "pictures": column_heat_maps(sheet, position),
                "answers": answers_field(column.answers),
                **column.source.column_fields,
            }
        )
    return ComparisonSummary(sheet, sheet_fields(sheet), fields)


def store_comparison(
    run: Run,
    subject: Subject,
    read: int,
    summary: ComparisonSummary,
    *,
    reference: str = "",
    against: str = "",
) -> Comparison:
    """Store a comparison on the items of a set, of which `read` rows were read; call it in a transaction."""
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
    reader: ExperimentAnswers | BlockSetAnswers,
    reference: ComparisonColumn | None,
    columns: Sequence[ComparisonColumn],
    summary: ComparisonSummary,
    facts: Json,
) -> tuple[Json, Sequence[Event]]:
    stored_columns: list[BlockColumn] = []
    if isinstance(reader, BlockSetAnswers):
        answer_columns = [*([] if reference is None else [reference]), *columns]
        stored_columns = reader.store_columns(run, [column for column in answer_columns if not column.error])
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
    if stored_columns:
        heads = (
            {"id": column.pk, "name": column.name, "predictor": column.predictor_id}
            for column in stored_columns
        )
        result["columns"] = list(heads)
    return result, [ResultStored({"name": result["name"], "url": result["url"]})]


def first_core_model(predictors: Sequence[Predictor]) -> Json | None:
    """The options of the first core model among predictors; None without one."""
    return next((row.options for row in predictors if row.kind == core_model.KIND), None)


def core_model_of_machine(predictor: Predictor) -> Json | None:
    """The options of the newest core model of a machine predictor's machine; None without one."""
    if predictor.kind != machine.KIND:
        return None
    newest = usable_core_models().filter(machine__name=predictor.options["machine"]).first()
    return None if newest is None else {"model": newest.name}


def largest_bounds(options: Json, codes: Sequence[bytes], mode: str) -> list[str]:
    """The kind of the largest bound of each block, by the core model with these options.

    "" for a block that the model does not describe, and for all blocks if it cannot be used.
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
        prediction = model.explain(block_of_bytes(code, model.isa))
    except BlockError:
        return ""
    return str(prediction.bounds[0].kind) if prediction.bounds and not prediction.unknown else ""


JOBS = {"judge": JudgeJob, "comparison": ComparisonJob}
