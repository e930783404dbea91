"""Runs of kind `ask`: any predictors say how many cycles some blocks take, each answer told when it comes."""

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
from inference.features.asking.predictors.opening import opened
from inference.features.asking.questions.query import KIND, PredictorSaid, event_of
from inference.features.asking.questions.request import AskConfig
from inference.isa.blocks import BlockError, block_of_hex, isa_beside
from inference.models import Predictor, Run
from inference.predictors import machine
from inference.predictors.protocol import Answer, PredictorError
from inference.predictors.protocol import Predictor as Tool
from inference.runs.errors import ConfigError
from inference.runs.kinds import Job, Store, Task
from inference.runs.request import read_rows

SIDE_BY_SIDE = 6
"""Predictors that work at a time; machines do not count, most of the time they are waited for."""

_PULSE_EVERY = 0.2  # seconds


@dataclass(frozen=True)
class PredictorColumn:
    """What one predictor says: an answer per block, or why it says nothing at all."""

    predictor: Predictor
    answers: list[Answer] = field(default_factory=list)
    error: str = ""


def ask(
    predictors: Sequence[Predictor],
    blocks: Sequence[bytes],
    *,
    isa: str,
    remembering: bool = True,
    task: Task | None = None,
) -> Iterator[PredictorColumn]:
    """A column for each predictor, in the order in which they are done.

    `isa`: the instruction set of the blocks. `task`: the run that it is for, which is heard meanwhile. That a
    predictor cannot work is said in its column; whatever else it raises is a fault of the program, and is
    raised here with its trace.
    """
    machines = sum(row.kind == machine.KIND for row in predictors)
    pool = ThreadPoolExecutor(SIDE_BY_SIDE + machines, "asking")
    working: dict[Future[list[Answer]], Predictor] = {}
    try:
        for row in predictors:
            try:
                tool = opened(row, task, isa=isa, remembering=remembering)
            except PredictorError as error:
                yield PredictorColumn(row, error=str(error))
            else:
                working[pool.submit(_answers, tool, blocks)] = row
        while working:
            done, _ = wait(working, timeout=_PULSE_EVERY, return_when=FIRST_COMPLETED)
            if task is not None:
                task.reporter.pulse()
            for future in done:
                yield _column(working.pop(future), future)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _column(row: Predictor, future: Future[list[Answer]]) -> PredictorColumn:
    try:
        return PredictorColumn(row, future.result())
    except (PredictorError, MeasuringError) as error:
        return PredictorColumn(row, error=str(error))


def _answers(tool: Tool, blocks: Sequence[bytes]) -> list[Answer]:
    """In a thread of its own, with a connection of its own."""
    try:
        with closing(tool):
            return tool.predict(blocks)
    finally:
        connection.close()


GONE = "it has been deleted"


class AskJob(Job):
    """Runs of kind `ask`; see `AskConfig`."""

    def check(self, config: Json) -> Json:
        """The complete description. Raises `ConfigError` naming the field."""
        asked = AskConfig.read(config)
        rows = rows_in_mode(read_rows(Predictor, "predictors", asked.predictors), asked.mode)
        predictors = [row.pk for row in rows]
        return asked.as_json() | {"predictors": predictors, "blocks": _blocks(asked.blocks, asked.isa)}

    def work(self, task: Task) -> Store:
        """Ask them side by side; what one cannot say does not keep the others from it."""
        config = task.run.config
        isa = isa_beside(config)
        codes = [bytes.fromhex(text) for text in config["blocks"]]
        wanted = config["predictors"]
        rows = Predictor.objects.in_bulk(wanted)
        told: list[Json] = []
        _progress(task, told)
        for pk in wanted:
            if pk not in rows:
                _tell(task, told, PredictorSaid(pk, f"predictor {pk}", error=GONE))
        known = [rows[pk] for pk in wanted if pk in rows]
        for column in ask(known, codes, isa=isa, remembering=not config["anew"], task=task):
            row = column.predictor
            answers = {} if column.error else dict(zip(codes, column.answers, strict=True))
            _tell(task, told, PredictorSaid(row.pk, row.name, answers, column.error))
        return partial(_store, task.run, told)


def _tell(task: Task, told: list[Json], said: PredictorSaid) -> None:
    task.reporter.emit(event_of(said, isa_beside(task.run.config)))
    told.append({"predictor": said.predictor, "name": said.name, "error": said.error})
    _progress(task, told)


def _progress(task: Task, told: Sequence[Json]) -> None:
    total = len(task.run.config["predictors"])
    task.reporter.emit(Progress(KIND, len(told), total, 0.0, "predictors", None))


def _store(run: Run, told: Sequence[Json]) -> tuple[Json, Sequence[Event]]:
    places = {pk: place for place, pk in enumerate(run.config["predictors"])}
    asked = sorted(told, key=lambda each: places[each["predictor"]])  # they answer in any order
    made: Json = {"name": run.name, "asked": asked}
    return made, [ResultStored(made)]


def _blocks(given: Sequence[str], isa: str) -> list[str]:
    found = []
    for number, text in enumerate(given, start=1):
        try:
            found.append(block_of_hex(text, isa).hex)
        except BlockError as error:
            raise ConfigError(f"blocks, number {number}: {error}") from error
    return found
