"""Several predictors that are asked about the same blocks, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Protocol, runtime_checkable

from inference.predictors.protocol import Answer, Predictor

_PULSE_EVERY = 0.2  # seconds

Answers = tuple[Answer, ...]


@runtime_checkable
class Keeping(Protocol):
    """A predictor that remembers its answers and may be told to keep them."""

    def flush(self) -> None:
        """Keep what has been answered so far."""
        ...


class Panel:
    """One or more predictors, each with a thread of its own, that answer for the same blocks.

    `pulse` is called while they work; what it raises ends the waiting. `judged` counts the blocks that all
    have answered, `failures` how often which predictor (from 1) failed how.
    """

    def __init__(self, predictors: Sequence[Predictor], pulse: Callable[[], None] = lambda: None) -> None:
        self.predictors = tuple(predictors)
        self._pulse = pulse
        self._threads = [ThreadPoolExecutor(1, f"predictor-{n}") for n, _ in enumerate(predictors, 1)]
        self.judged = 0
        self.failures: Counter[tuple[int, str]] = Counter()

    def ask(self, codes: Sequence[bytes]) -> Callable[[], list[Answers]]:
        """Begin to ask; call what is returned for the answers of each block, in the order asked.

        That raises `PredictorError` where a predictor cannot work at all, and what `pulse` raises.
        """
        distinct = list(dict.fromkeys(codes))
        futures = [
            thread.submit(predictor.predict, distinct)
            for thread, predictor in zip(self._threads, self.predictors, strict=True)
        ]
        return lambda: self._answers(codes, distinct, futures)

    def _answers(
        self, codes: Sequence[bytes], distinct: Sequence[bytes], futures: Sequence[Future[list[Answer]]]
    ) -> list[Answers]:
        while wait(futures, timeout=_PULSE_EVERY).not_done:
            self._pulse()
        self._pulse()
        columns = [future.result() for future in futures]
        found = dict(zip(distinct, zip(*columns, strict=True), strict=True))
        self.judged += len(distinct)
        for answers in found.values():
            for number, answer in enumerate(answers, start=1):
                if answer.failure is not None:
                    self.failures[number, answer.failure.value] += 1
        return [found[code] for code in codes]

    def flush(self) -> None:
        """Have the predictors that remember their answers keep them now."""
        for predictor in self.predictors:
            if isinstance(predictor, Keeping):
                predictor.flush()

    def close(self) -> None:
        """Let the threads end; questions that have not been begun are dropped."""
        for thread in self._threads:
            thread.shutdown(wait=False, cancel_futures=True)
