"""Runs of kind `ask`: predictors answer side by side for blocks, and each report is emitted as it arrives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

from django.db import connection

from inference.core.errors import MeasuringError
from inference.core.events import Event, Progress, ResultStored
from inference.core.protocols import Json
from inference.features.asking.predictors.modes import rows_in_mode
from inference.features.asking.predictors.opening import open_predictor
from inference.features.asking.questions.query import KIND, PredictorReport, event_of
from inference.features.asking.questions.request import AskConfig
from inference.isa.blocks import block_of_hex, blocks_name, isa_of_fields
from inference.isa.code.block import BlockError
from inference.models import Predictor, Run
from inference.predictors import machine
from inference.predictors.protocol import Answer, PredictorError
from inference.predictors.protocol import Predictor as Tool
from inference.runs.errors import ConfigError
from inference.runs.kinds import Job, Store, Task
from inference.runs.request import read_rows

MAX_THREADS = 6
"""Predictors that work at a time, machines not counted: their threads only wait for measurements."""

_PULSE_INTERVAL = 0.2  # seconds


@dataclass(frozen=True)
class PredictorColumn:
    """A predictor's answers, one per block, or `error` says why there are none."""

    predictor: Predictor
    answers: list[Answer] = field(default_factory=list)
    error: str = ""


def ask(
    predictors: Sequence[Predictor],
    blocks: Sequence[bytes],
    *,
    isa: str,
    use_cache: bool = True,
    task: Task | None = None,
) -> Iterator[PredictorColumn]:
    """Ask predictors side by side and yield a column for each, in the order in which they finish.

    Args:
        predictors: Stored predictors, each once.
        blocks: The machine code of the blocks.
        isa: The instruction set of the blocks.
        use_cache: Look up and store answers in the database.
        task: The run that asks; its reporter gets a pulse while predictors work, so that it can be cancelled.

    Raises:
        Exception: a fault of the program in a predictor's thread. A `PredictorError` or `MeasuringError` is
            not raised: it becomes the `error` of the predictor's column.
    """
    machines = sum(row.kind == machine.KIND for row in predictors)
    pool = ThreadPoolExecutor(MAX_THREADS + machines, "asking")
    pending: dict[Future[list[Answer]], Predictor] = {}
    try:
        for row in predictors:
            try:
                tool = open_predictor(row, task, isa=isa, use_cache=use_cache)
            except PredictorError as error:
                yield PredictorColumn(row, error=str(error))
            else:
                pending[pool.submit(_answers, tool, blocks)] = row
        while pending:
            done, _ = wait(pending, timeout=_PULSE_INTERVAL, return_when=FIRST_COMPLETED)
            if task is not None:
                task.reporter.pulse()
            for future in done:
                yield _column(pending.pop(future), future)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _column(row: Predictor, future: Future[list[Answer]]) -> PredictorColumn:
    try:
        return PredictorColumn(row, future.result())
    except (PredictorError, MeasuringError) as error:
        return PredictorColumn(row, error=str(error))


def _answers(tool: Tool, blocks: Sequence[bytes]) -> list[Answer]:
    """Runs in a thread of its own; Django opens a database connection per thread, which is closed here."""
    try:
        with closing(tool):
            return tool.predict(blocks)
    finally:
        connection.close()


DELETED = "it has been deleted"


class AskJob(Job):
    def check(self, config: Json) -> Json:
        request = AskConfig.read(config)
        rows = rows_in_mode(read_rows(Predictor, "predictors", request.predictors), request.mode)
        predictors = [row.pk for row in rows]
        return request.as_json() | {"predictors": predictors, "blocks": _blocks(request.blocks, request.isa)}

    def default_name(self, config: Json) -> str:
        return blocks_name(config["blocks"], config["isa"])

    def work(self, task: Task) -> Store:
        config = task.run.config
        isa = isa_of_fields(config)
        codes = [bytes.fromhex(text) for text in config["blocks"]]
        ids = config["predictors"]
        rows = Predictor.objects.in_bulk(ids)
        outcomes: list[Json] = []
        _progress(task, outcomes)
        for pk in ids:
            if pk not in rows:
                _report(task, outcomes, PredictorReport(pk, f"predictor {pk}", error=DELETED))
        present = [rows[pk] for pk in ids if pk in rows]
        for column in ask(present, codes, isa=isa, use_cache=not config["anew"], task=task):
            row = column.predictor
            answers = {} if column.error else dict(zip(codes, column.answers, strict=True))
            _report(task, outcomes, PredictorReport(row.pk, row.name, answers, column.error))
        return partial(_store, task.run, outcomes)


def _report(task: Task, outcomes: list[Json], report: PredictorReport) -> None:
    task.reporter.emit(event_of(report, isa_of_fields(task.run.config)))
    outcomes.append({"predictor": report.predictor, "name": report.name, "error": report.error})
    _progress(task, outcomes)


def _progress(task: Task, outcomes: Sequence[Json]) -> None:
    total = len(task.run.config["predictors"])
    task.reporter.emit(Progress(KIND, len(outcomes), total, 0.0, "predictors", None))


def _store(run: Run, outcomes: Sequence[Json]) -> tuple[Json, Sequence[Event]]:
    places = {pk: place for place, pk in enumerate(run.config["predictors"])}
    ordered = sorted(outcomes, key=lambda outcome: places[outcome["predictor"]])  # reported in any order
    result: Json = {"name": run.name, "asked": ordered}
    return result, [ResultStored(result)]


def _blocks(texts: Sequence[str], isa: str) -> list[str]:
    codes = []
    for number, text in enumerate(texts, start=1):
        try:
            codes.append(block_of_hex(text, isa).hex)
        except BlockError as error:
            raise ConfigError(f"blocks, number {number}: {error}") from error
    return codes


JOBS = {"ask": AskJob}
