"""A predictor that is never asked the same twice: a front in memory, and a store behind it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Protocol

from inference.core.protocols import Json
from inference.predictors.protocol import Answer, Predictor

MOST_IN_MEMORY = 200_000
"""Answers in the front; about 60 MB."""


class AnswerStore(Protocol):
    """What one predictor answered before, implemented over the database."""

    def known(self, blocks: Sequence[bytes]) -> Mapping[bytes, Answer]:
        """The answers that are remembered for any of these blocks."""
        ...

    def remember(self, answers: Mapping[bytes, Answer]) -> None:
        """Keep new answers; keeping one twice changes nothing."""
        ...

    def flush(self) -> None:
        """Whatever is not kept yet is kept now."""
        ...


class Remembering:
    """Asks `predictor` for what neither memory nor `store` has. Threads may share it."""

    def __init__(
        self,
        predictor: Predictor,
        store: AnswerStore | None = None,
        most: int = MOST_IN_MEMORY,
        asked_about: Callable[[bytes], bytes] = lambda block: block,
    ) -> None:
        """`asked_about`: what of a block the predictor is asked about, such as a loop's body alone."""
        self._predictor = predictor
        self._asked_about = asked_about
        self._store = store
        self._most = most
        self._front: dict[bytes, Answer] = {}
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._predictor.name

    @property
    def identity(self) -> Json:
        return self._predictor.identity

    def predict(self, blocks: Sequence[bytes]) -> list[Answer]:
        """See `inference.predictors.protocol.Predictor`; a block that comes several times is asked once."""
        return self._answers([self._asked_about(block) for block in blocks])

    def _answers(self, blocks: Sequence[bytes]) -> list[Answer]:
        found = {block: self._front.get(block) for block in blocks}
        lacking = [block for block, answer in found.items() if answer is None]
        if lacking and self._store is not None:
            stored = self._store.known(lacking)
            self._keep(stored)
            found.update(stored)
            lacking = [block for block in lacking if block not in stored]
        if lacking:
            new = dict(zip(lacking, self._predictor.predict(lacking), strict=True))
            self._keep(new)
            found.update(new)
            if self._store is not None:
                self._store.remember(new)
        return [answer for block in blocks if (answer := found[block]) is not None]

    def flush(self) -> None:
        """Let the store keep what it has heard so far."""
        if self._store is not None:
            self._store.flush()

    def close(self) -> None:
        """Close the predictor; what the store has heard is kept."""
        try:
            self._predictor.close()
        finally:
            self.flush()

    def _keep(self, answers: Mapping[bytes, Answer]) -> None:
        """In memory, where the oldest give way."""
        with self._lock:
            self._front.update(answers)
            surplus = len(self._front) - self._most
            if surplus > 0:
                for block in list(islice(self._front, surplus + self._most // 10)):
                    del self._front[block]
