"""Blocks measured on a machine in rounds, of which the median counts, and once more.

In rounds, each block has the median of moments that are minutes apart: on a shared computer one moment may be
disturbed for all that it takes. The last measurement shows how well anybody could predict the others.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from statistics import median

from inference.core.protocols import Checkpoint
from inference.features.asking.predictors.kinds import kind_of, measured
from inference.features.judging.engine.answered_columns import ComparisonColumn
from inference.features.judging.engine.question_blocks import tell_progress
from inference.features.judging.engine.sources import AnswerSource, SourceKind
from inference.models import Predictor
from inference.predictors.answer_arrays import column_of
from inference.predictors.machine import MachineSettings
from inference.predictors.protocol import Answer, PredictorError
from inference.runs.errors import JobError
from inference.runs.kinds import Task

_PIECE = 96
"""Blocks measured between two signs of life."""


def measured_in_rounds(
    task: Task, source: AnswerSource, codes: Sequence[bytes], rounds: int
) -> tuple[ComparisonColumn, ComparisonColumn]:
    """The median of all rounds, and one measurement more. Raises `JobError` where nothing can be measured."""
    assert isinstance(source.row, Predictor), "a machine that measures was stored as a predictor"
    settings = kind_of(source.row.kind).settings_of(source.row.options)
    assert isinstance(settings, MachineSettings)
    repeats, began = [], time.monotonic()
    total = (rounds + 1) * len(codes)
    try:
        for repeat in range(rounds + 1):
            answers: list[Answer] = []
            with closing(measured(settings, task, repeat)) as machine:
                for begin in range(0, len(codes), _PIECE):
                    answers += machine.predict(codes[begin : begin + _PIECE])
                    task.reporter.save(task.checkpoint or Checkpoint({}))  # it tells that the run gets on
                    done = repeat * len(codes) + len(answers)
                    tell_progress(task, "measure", done, total, "blocks", began)
            repeats.append(answers)
    except PredictorError as error:
        raise JobError(str(error)) from error
    once, again = medians(repeats[:-1]), repeats[-1]
    if not any(answer.cycles for answer in once):
        complaint = next((answer.detail or str(answer.failure) for answer in once), "there is none")
        raise JobError(f"none of the {len(codes)} blocks could be measured: {complaint}")
    repeated = AnswerSource(SourceKind.PREDICTOR, f"{settings.machine}, measured again", source.row)
    return ComparisonColumn(source, column_of(once)), ComparisonColumn(repeated, column_of(again))


def medians(rounds: Sequence[Sequence[Answer]]) -> list[Answer]:
    """Of each block the median of what the rounds measured, or its first failure where nothing was."""
    answers = []
    for of_block in zip(*rounds, strict=True):
        cycles = [answer.cycles for answer in of_block if answer.cycles is not None]
        answers.append(Answer(cycles=median(cycles)) if cycles else of_block[0])
    return answers
