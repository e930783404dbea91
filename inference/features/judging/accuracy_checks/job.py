"""Runs of kind `accuracy-check`: blocks are measured on a machine, then predicted by all that can."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import partial
from random import Random

from inference.core.event import Event
from inference.core.events import Log, PhaseStarted, Progress, ResultStored
from inference.core.protocols import Checkpoint, Json
from inference.features.asking.predictors.query import kind_of, row_for
from inference.features.asking.predictors.stored_kinds import measured
from inference.features.asking.questions.asking import PredictorColumn, ask
from inference.features.judging.accuracy_checks.predicting import largest_bounds, usual_predictors
from inference.features.judging.accuracy_checks.request import AccuracyCheckConfig, read_config
from inference.features.judging.accuracy_checks.result import (
    AccuracyCheck,
    AskedColumn,
    MeasuredBlockList,
    medians,
)
from inference.features.judging.accuracy_checks.traits import traits_of
from inference.features.judging.engine.sources import PUBLISHED
from inference.models import BasicBlock, BasicBlockSet, BlockColumn, Machine, Predictor, Run
from inference.predictors import machine as measuring
from inference.predictors.answer_arrays import cycles_in
from inference.predictors.protocol import Answer, PredictorError
from inference.runs.errors import JobError
from inference.runs.kinds import Store, Task
from inference.storage.block_rows import insert_answers
from inference.storage.instruction_sets import code_isa
from inference.storage.names import NAME_LIMIT, free_name

STAGES = ("Measure", "Measure again", "Predict")
_PIECE = 96
"""Blocks measured between two signs of life."""


class AccuracyCheckJob:
    """See `AccuracyCheckConfig`. Taken up again, it finds what the agent has measured, and cached answers.

    Measured in rounds, each block has the median of moments that are minutes apart: on a shared computer one
    moment may be disturbed for all that it takes.
    """

    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def submitted(self, run: Run) -> None:
        """Nothing is to be prepared."""

    def work(self, task: Task) -> Store:
        """Measure, measure again, ask everybody, compare."""
        config = AccuracyCheckConfig.stored(task.run.config)
        machine = Machine.objects.filter(pk=config.machine).select_related("isa").first()
        source = BasicBlockSet.objects.filter(pk=config.block_set).first()
        if machine is None or source is None:
            gone = "machine" if machine is None else "basic-block set"
            raise JobError(f"the {gone} that this run needs has been deleted")
        blocks = drawn(source, config.blocks, config.seed)
        codes, isa = [bytes(block.code) for block in blocks], code_isa(source.isa)
        settings = measuring.MachineSettings(machine=machine.name, mode=config.mode)
        once = medians(_measured(task, settings, codes, range(config.rounds), 0))
        if not any(one.cycles for one in once):
            raise JobError(f"none of the {len(codes)} blocks could be measured: {_complaint(once)}")
        (again,) = _measured(task, settings, codes, range(config.rounds, config.rounds + 1), 1)
        columns, unasked = _predicted(task, machine, config, codes, isa)
        bounds = largest_bounds(machine, [one.predictor for one in columns], codes, config.mode)
        measured_blocks = MeasuredBlockList(isa, codes, cycles_in(once), bounds, traits_of(codes, bounds))
        repeated = AskedColumn(f"{machine.name}, measured again", again)
        floor, predictors = measured_blocks.judged(
            repeated,
            [
                AskedColumn(one.predictor.name, one.answers, one.predictor.kind in PUBLISHED)
                for one in columns
            ],
        )
        found = AccuracyCheck(
            machine.name,
            source.name,
            config.mode,
            config.rounds,
            len(codes),
            int((measured_blocks.cycles > 0).sum()),
            measured_blocks.beside(repeated.name, repeated.answers),
            predictors,
            unasked,
            floor,
        )
        return partial(_store, task.run, source, blocks, settings, (once, again, columns), found)


def drawn(source: BasicBlockSet, number: int, seed: int) -> list[BasicBlock]:
    """So many blocks of a set, in its order; all of a smaller one."""
    places = range(source.size)
    if number < source.size:
        places = Random(seed).sample(places, number)  # type: ignore[assignment]  # noqa: S311 nothing secret
    wanted = set(places)
    return [row for row in source.blocks.order_by("position").iterator() if row.position in wanted]


def _measured(
    task: Task, settings: measuring.MachineSettings, codes: Sequence[bytes], repeats: range, stage: int
) -> list[list[Answer]]:
    """All blocks once for each of the repeats, which are one stage."""
    _phase(task, stage)
    rounds: list[list[Answer]] = []
    try:
        for repeat in repeats:
            answers: list[Answer] = []
            with closing(measured(settings, task, repeat)) as machine:
                for begin in range(0, len(codes), _PIECE):
                    answers += machine.predict(codes[begin : begin + _PIECE])
                    done = len(rounds) * len(codes) + len(answers)
                    _progress(task, STAGES[stage], done, len(repeats) * len(codes), "blocks")
            rounds.append(answers)
    except PredictorError as error:
        raise JobError(str(error)) from error
    return rounds


def _predicted(
    task: Task, machine: Machine, config: AccuracyCheckConfig, codes: Sequence[bytes], isa: str
) -> tuple[list[PredictorColumn], dict[str, str]]:
    """What each predictor says, in the order in which they are to be shown; {who says nothing: why}."""
    _phase(task, 2)
    if config.predictors:
        there = Predictor.objects.in_bulk(config.predictors)
        rows = [there[pk] for pk in config.predictors if pk in there]
        unasked: dict[str, str] = {}
    else:
        rows, unasked = usual_predictors(machine, config.mode)
    found: dict[int, PredictorColumn] = {}
    for column in ask(rows, codes, isa=isa, task=task):
        if column.error:
            unasked[column.predictor.name] = column.error
        else:
            found[column.predictor.pk] = column
        _progress(task, STAGES[2], len(found), len(rows), "predictors")
    for name, reason in unasked.items():
        task.reporter.emit(Log("warning", f"{name} is left out: {reason}"))
    return [found[row.pk] for row in rows if row.pk in found], unasked


def _phase(task: Task, place: int) -> None:
    task.reporter.emit(PhaseStarted(STAGES[place], place + 1, STAGES))


def _progress(task: Task, phase: str, done: int, total: int, unit: str) -> None:
    task.reporter.save(task.checkpoint or Checkpoint({}))  # it tells that the run gets on
    task.reporter.emit(Progress(phase, done, total, 0.0, unit, None))


def _complaint(answers: Sequence[Answer]) -> str:
    return next((one.detail or str(one.failure) for one in answers), "there is none")


def _store(
    run: Run,
    source: BasicBlockSet,
    blocks: Sequence[BasicBlock],
    settings: measuring.MachineSettings,
    said: tuple[list[Answer], list[Answer], list[PredictorColumn]],
    found: AccuracyCheck,
) -> tuple[Json, Sequence[Event]]:
    """A set of the blocks with all columns, for whatever else is done with sets, and what was found."""
    row = _new_set(run, source, blocks, found)
    once, again, columns = said
    machine = row_for(
        measuring.KIND, kind_of(measuring.KIND).in_mode({"machine": settings.machine}, settings.mode)
    )
    heads: list[tuple[str, Predictor | None, list[Answer]]] = [
        (machine.name, machine, once),
        (f"{machine.name}, again", None, again),
        *((one.predictor.name, one.predictor, one.answers) for one in columns),
    ]
    ids = list(row.blocks.order_by("position").values_list("pk", flat=True))
    for place, (name, predictor, answers) in enumerate(heads):
        column = BlockColumn.objects.create(
            block_set=row, position=place, name=name[:NAME_LIMIT], predictor=predictor
        )
        insert_answers((column.pk, block, one) for block, one in zip(ids, answers, strict=True))
    result: Json = {
        "name": f"accuracy on {found.machine}",
        "block_set": row.pk,
        "source": source.pk,
        "check": found.as_json(),
    }
    return result, [ResultStored({"name": result["name"], "block_set": row.pk})]


def _new_set(
    run: Run, source: BasicBlockSet, blocks: Sequence[BasicBlock], found: AccuracyCheck
) -> BasicBlockSet:
    name = f"{source.name}: {len(blocks):,} blocks on {found.machine}"
    row = BasicBlockSet.objects.create(
        name=free_name(BasicBlockSet, name[: NAME_LIMIT - 10]),
        isa=source.isa,
        run=run,
        origin=BasicBlockSet.Origin.RUN,
        source=f"measured by {run.name}"[:300],
        size=len(blocks),
    )
    copied = ("code", "text", "weight", "length", "mnemonics", "origin")
    BasicBlock.objects.bulk_create(
        [
            BasicBlock(block_set=row, position=at, **{field: getattr(one, field) for field in copied})
            for at, one in enumerate(blocks)
        ],
        batch_size=500,
    )
    return row
