"""Stored predictors at work: opened side by side, with the answers that they gave before."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial

from inference.core.protocols import Json
from inference.features.asking.predictors.kinds import kind_of, measured, shared
from inference.isa.blocks import body_of
from inference.models import AnswerCache, identity_key
from inference.models import Predictor as PredictorRow
from inference.models.predictor import block_key
from inference.predictors import machine, mapping
from inference.predictors.panel import Panel, Remembering
from inference.predictors.protocol import Answer, Failure, Predictor, PredictorError
from inference.runs.errors import JobError
from inference.runs.kinds import Task

MOST_ANSWERS = 1_000_000
"""Rows of one predictor; the oldest give way. A row takes about 130 bytes, its index included."""

_AT_A_TIME = 500
_BUFFERED = 2000
_LONGEST = AnswerCache._meta.get_field("detail").max_length or 0


class DatabaseAnswers:
    """An `AnswerStore` over `AnswerCache`. Threads may share it; each uses a connection of its own.

    New answers are written in bulk, when there are enough of them and at the end: what is lost when the
    process is killed is asked again.
    """

    def __init__(self, predictor: PredictorRow, isa: str, most: int = MOST_ANSWERS) -> None:
        self._predictor = predictor
        self._isa = isa
        self._most = most
        self._new: dict[bytes, Answer] = {}
        self._lock = threading.Lock()

    def known(self, blocks: Sequence[bytes]) -> Mapping[bytes, Answer]:
        by_key = {block_key(block): block for block in blocks}
        keys = list(by_key)
        with self._lock:
            found = {by_key[key]: self._new[key] for key in keys if key in self._new}
        for begin in range(0, len(keys), _AT_A_TIME):
            rows = AnswerCache.objects.filter(
                predictor=self._predictor, isa=self._isa, block__in=keys[begin : begin + _AT_A_TIME]
            )
            for key, cycles, failure, detail in rows.values_list("block", "cycles", "failure", "detail"):
                found[by_key[bytes(key)]] = Answer(cycles, Failure(failure) if failure else None, detail)
        return found

    def remember(self, answers: Mapping[bytes, Answer]) -> None:
        with self._lock:
            self._new.update((block_key(block), answer) for block, answer in answers.items())
            if len(self._new) >= _BUFFERED:
                self._write()

    def flush(self) -> None:
        with self._lock:
            self._write()

    def _write(self) -> None:
        if not self._new:
            return
        rows = [
            AnswerCache(
                predictor=self._predictor,
                isa=self._isa,
                block=key,
                cycles=answer.cycles,
                failure=answer.failure or "",
                detail=answer.detail[:_LONGEST],
            )
            for key, answer in self._new.items()
        ]
        AnswerCache.objects.bulk_create(rows, batch_size=_AT_A_TIME, ignore_conflicts=True)
        self._new.clear()
        self._forget_the_oldest()

    def _forget_the_oldest(self) -> None:
        mine = AnswerCache.objects.filter(predictor=self._predictor)
        surplus = mine.count() - self._most
        if surplus > 0:
            newest_that_goes = mine.order_by("id").values_list("id", flat=True)[surplus - 1]
            mine.filter(id__lte=newest_that_goes).delete()


class StraightAnswers(DatabaseAnswers):
    """Those about loops are not remembered: which comparison becomes one µop with its jump is measured later
    than a mapping, whose identity does not stand for it."""

    def known(self, blocks: Sequence[bytes]) -> Mapping[bytes, Answer]:
        return super().known([block for block in blocks if self._is_straight(block)])

    def remember(self, answers: Mapping[bytes, Answer]) -> None:
        super().remember({block: answer for block, answer in answers.items() if self._is_straight(block)})

    def _is_straight(self, block: bytes) -> bool:
        return body_of(block, self._isa) == block


@contextmanager
def opened_panel(task: Task, ids: Sequence[int], isa: str) -> Iterator[Panel]:
    """The predictors of a run, asked side by side about blocks of one instruction set.

    Raises `JobError` where one cannot work here.
    """
    rows = {row.pk: row for row in PredictorRow.objects.filter(pk__in=ids)}
    gone = [pk for pk in ids if pk not in rows]
    if gone:
        raise JobError(f"the predictor {gone[0]} that this run needs has been deleted")
    with ExitStack() as stack:
        try:
            tools = [stack.enter_context(closing(opened(rows[pk], task, isa=isa))) for pk in ids]
        except PredictorError as error:
            raise JobError(str(error)) from error
        panel = Panel(tools, task.reporter.pulse)
        stack.callback(panel.close)
        yield panel


def opened(row: PredictorRow, task: Task | None = None, *, isa: str, remembering: bool = True) -> Remembering:
    """A stored predictor; `task`: the run that it answers for, `isa`: the instruction set of the blocks.

    With `remembering`, answers are looked up in the database and kept there.

    Raises `PredictorError` where it knows no such blocks, where it cannot be used here any more, where what
    is here by now would give other answers than those that are remembered of it, and for one that came with a
    file: whoever wrote that could have named any program of this computer.
    """
    if not row.askable:
        raise PredictorError(why_not_asked(row))
    kind = kind_of(row.kind)
    if isa not in kind.isas:
        raise PredictorError(f"{row.name} answers for blocks of {', '.join(kind.isas)}, not of {isa}")
    if row.kind == machine.KIND and task is not None:
        predictor: Predictor = measured(kind.settings_of(row.options), task)
    else:
        predictor = kind.predictor(row.options)
    if identity_key(predictor.identity) != row.key:
        predictor.close()
        raise PredictorError(
            f"{row.name} is not what it was when it was stored: "
            f"{_difference(row.identity, predictor.identity)}. Add what is here now as a predictor of its "
            "own, or bring the former back"
        )
    if kind.anywhere and task is not None:
        predictor = shared(predictor, row, task)
    answers = StraightAnswers if row.kind == mapping.KIND else DatabaseAnswers
    store = answers(row, isa) if remembering else None
    if kind.takes_jumps:
        return Remembering(predictor, store)
    return Remembering(predictor, store, asked_about=partial(body_of, isa=isa))


def why_not_asked(row: PredictorRow) -> str:
    return (
        f"{row.name} comes from an imported file: nothing here can be asked. Add a predictor with the same "
        "options, and it is the same where it gives the same answers"
    )


def _difference(before: Json, now: Json) -> str:
    changed = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return "; ".join(
        f"{name} was {json.dumps(before.get(name))} and is {json.dumps(now.get(name))}" for name in changed
    )
