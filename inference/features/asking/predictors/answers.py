"""Remembered answers of one predictor, about blocks of one instruction set, in the database."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from inference.isa.blocks import body_of
from inference.models import AnswerCache, Predictor
from inference.models.block_set import block_key
from inference.predictors.protocol import Answer, Failure

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

    def __init__(self, predictor: Predictor, isa: str, most: int = MOST_ANSWERS) -> None:
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
