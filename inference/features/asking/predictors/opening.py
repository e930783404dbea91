"""Opens stored predictors, with the cache of their earlier answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from hashlib import sha256

from inference.core.protocols import Json
from inference.features.asking.predictors.kinds import cluster_predictor, kind_of, machine_in_run
from inference.isa.blocks import body_of
from inference.models import AnswerCache, identity_key
from inference.models import Predictor as PredictorRow
from inference.models.block_set import block_key
from inference.predictors import machine, mapping
from inference.predictors.panel import CachedPredictor, Panel
from inference.predictors.protocol import Answer, Failure, Predictor, PredictorError
from inference.runs.errors import JobError
from inference.runs.kinds import Task

MAX_ANSWERS = 1_000_000
"""Cached answers per predictor; the oldest are deleted. A row takes about 130 bytes with its index."""

_BRIEF = 100
"""Characters of an identity's value that a message quotes."""
_AT_A_TIME = 500
_BUFFERED = 2000
_MAX_LENGTH = AnswerCache._meta.get_field("detail").max_length or 0


class DatabaseAnswers:
    """An `AnswerStore` over `AnswerCache`. Threads may share it; each uses a connection of its own.

    New answers are written in bulk, `_BUFFERED` at a time and by `flush`; a killed process loses those that
    are not written yet, and they are asked again.
    """

    def __init__(self, predictor: PredictorRow, isa: str, max_answers: int = MAX_ANSWERS) -> None:
        self._predictor = predictor
        self._isa = isa
        self._most = max_answers
        self._new: dict[bytes, Answer] = {}
        self._lock = threading.Lock()

    def known(self, blocks: Sequence[bytes]) -> Mapping[bytes, Answer]:
        by_key = {block_key(block): block for block in blocks}
        keys = list(by_key)
        with self._lock:
            answers = {by_key[key]: self._new[key] for key in keys if key in self._new}
        for begin in range(0, len(keys), _AT_A_TIME):
            rows = AnswerCache.objects.filter(
                predictor=self._predictor, isa=self._isa, block__in=keys[begin : begin + _AT_A_TIME]
            )
            for key, cycles, failure, detail in rows.values_list("block", "cycles", "failure", "detail"):
                answers[by_key[bytes(key)]] = Answer(cycles, Failure(failure) if failure else None, detail)
        return answers

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
                detail=answer.detail[:_MAX_LENGTH],
            )
            for key, answer in self._new.items()
        ]
        AnswerCache.objects.bulk_create(rows, batch_size=_AT_A_TIME, ignore_conflicts=True)
        self._new.clear()
        self._forget_the_oldest()

    def _forget_the_oldest(self) -> None:
        cached = AnswerCache.objects.filter(predictor=self._predictor)
        surplus = cached.count() - self._most
        if surplus > 0:
            newest_that_goes = cached.order_by("id").values_list("id", flat=True)[surplus - 1]
            cached.filter(id__lte=newest_that_goes).delete()


class StraightAnswers(DatabaseAnswers):
    """Caches no answers about loops: which comparisons fuse with a jump may be measured after the mapping was
    stored, and the mapping's identity does not include it."""

    def known(self, blocks: Sequence[bytes]) -> Mapping[bytes, Answer]:
        return super().known([block for block in blocks if self._is_straight(block)])

    def remember(self, answers: Mapping[bytes, Answer]) -> None:
        super().remember({block: answer for block, answer in answers.items() if self._is_straight(block)})

    def _is_straight(self, block: bytes) -> bool:
        return body_of(block, self._isa) == block


@contextmanager
def open_panel(task: Task, ids: Sequence[int], isa: str) -> Iterator[Panel]:
    """Open the predictors of a run as a panel for blocks of one instruction set.

    Raises `JobError` for a deleted predictor, `PredictorError` for one that cannot be used here.
    """
    rows = {row.pk: row for row in PredictorRow.objects.filter(pk__in=ids)}
    deleted = [pk for pk in ids if pk not in rows]
    if deleted:
        raise JobError(f"the predictor {deleted[0]} that this run needs has been deleted")
    with ExitStack() as stack:
        tools = [stack.enter_context(closing(open_predictor(rows[pk], task, isa=isa))) for pk in ids]
        panel = Panel(tools, task.reporter.pulse)
        stack.callback(panel.close)
        yield panel


def open_predictor(
    row: PredictorRow, task: Task | None = None, *, isa: str, use_cache: bool = True
) -> CachedPredictor:
    """Open a stored predictor.

    Args:
        row: The stored predictor.
        task: The run that it answers for; without one, a machine cannot measure.
        isa: The instruction set of the blocks.
        use_cache: Look up answers in the database and store new ones there.

    Raises:
        PredictorError: if it does not take blocks of `isa`, cannot be used here any more, or has changed
            since it was stored, so that cached answers do not hold. Also for an imported predictor, which
            could name any program of this computer.
    """
    if not row.is_runnable:
        raise PredictorError(why_not_askable(row))
    kind = kind_of(row.kind)
    if isa not in (isas := kind.isas_of(row.options)):
        raise PredictorError(f"{row.name} answers for blocks of {', '.join(isas)}, not of {isa}")
    if row.kind == machine.KIND and task is not None:
        predictor: Predictor = machine_in_run(kind.settings_of(row.options), task)
    else:
        predictor = kind.predictor(row.options)
    if identity_key(predictor.identity) != row.key:
        predictor.close()
        raise PredictorError(
            f"{row.name} is not what it was when it was stored: "
            f"{_difference(row.identity, predictor.identity)}. Add the present one as a predictor of its "
            "own, or restore the former"
        )
    if kind.anywhere and task is not None:
        predictor = cluster_predictor(predictor, row, task)
    answers = StraightAnswers if row.kind == mapping.KIND else DatabaseAnswers
    store = answers(row, isa) if use_cache else None
    if kind.takes_jumps:
        return CachedPredictor(predictor, store)
    return CachedPredictor(predictor, store, question_of=partial(body_of, isa=isa))


def why_not_askable(row: PredictorRow) -> str:
    return (
        f"{row.name} comes from an imported file and is not available here. Add a predictor with the same "
        "options; if it gives the same answers, it takes the place of the imported one"
    )


def _difference(before: Json, now: Json) -> str:
    changed = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return "; ".join(
        f"{name} was {_brief(before.get(name))} and is {_brief(now.get(name))}" for name in changed
    )


def _brief(value: object) -> str:
    """A value of an identity as JSON; of long ones, such as the parts of a core model, its fingerprint."""
    text = json.dumps(value)
    return text if len(text) <= _BRIEF else f"version {sha256(text.encode()).hexdigest()[:8]}"
