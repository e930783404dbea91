"""Runs of kind `accuracy-check`, which measure blocks on a machine and compare all predictors with them."""

from __future__ import annotations

import time
from collections.abc import Sequence

from inference.core.events import Log
from inference.core.judging.sheet import AnswerSheet
from inference.core.protocols import Json
from inference.features.asking.predictors.kinds import kind_of
from inference.features.asking.predictors.query import row_for
from inference.features.judging.accuracy_checks.query import check_of_sheet
from inference.features.judging.accuracy_checks.request import (
    AccuracyCheckConfig,
    default_predictors,
    read_config,
)
from inference.features.judging.engine.item_answers import report_progress
from inference.features.judging.engine.judge_jobs import JudgeJob
from inference.features.judging.engine.new_blocks import NewBlocks, blocks_of_loops, sampled_blocks
from inference.features.judging.engine.request import JudgeConfig
from inference.features.judging.engine.sources import ComparisonColumn, SourceKind
from inference.formats.block_files import LoopFilter, find_loops
from inference.models import BasicBlockSet, Machine, Predictor, Upload
from inference.predictors import machine as measuring
from inference.predictors.protocol import PredictorError
from inference.runs.errors import JobError
from inference.runs.kinds import Store, Task
from inference.runs.request import needed_row
from inference.storage.instruction_sets import code_isa
from inference.storage.names import file_name, processor_name, result_name, row_names


class AccuracyCheckJob(JudgeJob):
    """Runs of kind `accuracy-check`: a comparison whose reference a machine measures in rounds."""

    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def default_name(self, config: Json) -> str:
        upload = config.get("upload")
        blocks = file_name(upload) if upload else row_names(BasicBlockSet, [config["block_set"]])[0]
        return result_name(processor_name(config["machine"]), "accuracy", blocks)

    def work(self, task: Task) -> Store:
        config = AccuracyCheckConfig.from_stored(task.run.config)
        machine = needed_row(Machine.objects.select_related("isa"), config.machine)
        predictors, unasked = _predictors(machine, config)
        for name, reason in unasked.items():
            task.reporter.emit(Log("warning", f"{name} is left out: {reason}"))
        described = JudgeConfig.model_construct(
            block_set=config.block_set,
            sources=[f"{SourceKind.PREDICTOR}:{row.pk}" for row in predictors],
            against=f"{SourceKind.PREDICTOR}:{_measuring_predictor(machine, config.mode).pk}",
            most=config.blocks,
            seed=config.seed,
            mode=config.mode,
            rounds=config.rounds,
        )
        reader, source = _reader(task, config, described, machine)

        def facts(sheet: AnswerSheet, columns: Sequence[ComparisonColumn]) -> Json:
            check = check_of_sheet(sheet, columns, reader.codes, code_isa(reader.row.isa))
            column = {"machine": machine.name, "source": source, "mode": config.mode}
            check = {**column, "rounds": config.rounds, **check, "unasked": {**unasked, **check["unasked"]}}
            return {"name": f"accuracy on {machine.name}", "source": config.block_set, "check": check}

        return self.compare(task, described, reader, facts)


def _reader(
    task: Task, config: AccuracyCheckConfig, described: JudgeConfig, machine: Machine
) -> tuple[NewBlocks, str]:
    """The blocks to measure, and the name of what they are from.

    Raises `JobError` if that has been deleted or has no loop, and `ExchangeError` if it cannot be read.
    """
    if config.block_set is not None:
        sets = BasicBlockSet.objects.select_related("isa")
        source = needed_row(sets, config.block_set, "basic-block set")
        return sampled_blocks(task, source, described), source.name
    upload = needed_row(Upload, config.upload, "uploaded file")
    began = time.monotonic()
    loops = find_loops(
        upload.content,
        upload.file_name,
        LoopFilter(),
        report=lambda done, total: report_progress(task, "read", done, total, "bytes", began),
    )
    if loops.isa != code_isa(machine.isa):
        raise JobError(
            f"{upload.file_name} is for {loops.isa}, and {machine.name} executes {code_isa(machine.isa)}"
        )
    if not loops.loops:
        raise JobError("\n".join([f"{upload.file_name} has no loop to measure", *loops.lines()]))
    return blocks_of_loops(task, loops, upload.file_name, machine.isa, described), upload.file_name


def _predictors(machine: Machine, config: AccuracyCheckConfig) -> tuple[list[Predictor], dict[str, str]]:
    """(predictors in the order of their columns, {predictor left out: reason})."""
    if not config.predictors:
        return default_predictors(machine, config.mode)
    rows = Predictor.objects.in_bulk(config.predictors)
    return [rows[pk] for pk in config.predictors if pk in rows], {}


def _measuring_predictor(machine: Machine, mode: str) -> Predictor:
    try:
        return row_for(measuring.KIND, kind_of(measuring.KIND).in_mode({"machine": machine.name}, mode))
    except PredictorError as error:
        raise JobError(str(error)) from error


JOBS = {"accuracy-check": AccuracyCheckJob}
