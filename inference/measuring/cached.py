"""A memory in front of any measurer: nothing is measured twice under the same identity."""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.protocols import Json, MeasurementStore, Measurer

WINDOW = 256  # experiments looked up in the store at once
FLUSH_AFTER = 1.0  # seconds: the most measuring time that a crash can cost


class CachedMeasurer:
    """Asks the store first, the measurer for the rest, and lets the store remember what is new.

    Failures are remembered too: the same experiment would fail again. A contended answer is not an answer,
    so it is asked again.
    """

    def __init__(self, measurer: Measurer, store: MeasurementStore) -> None:
        self._measurer = measurer
        self._store = store

    @property
    def identity(self) -> Json:
        """That of the measurer behind: a cache changes no answer."""
        return self._measurer.identity

    def offers(self) -> Sequence[Experiment] | None:
        """Those of the measurer behind."""
        return self._measurer.offers()

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        """One result per experiment, in order; repeats are measured once.

        What is known up to the first gap comes at once. For the rest the measurer is asked once: one that
        works in batches never runs dry.
        """
        source = iter(experiments)
        while window := list(itertools.islice(source, WINDOW)):
            known = _answered(self._store.known(window))
            if not known.keys() >= set(window):
                yield from self._with_gaps(itertools.chain(window, source))
                return
            yield from (known[experiment] for experiment in window)

    def _with_gaps(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        waiting: deque[Experiment] = deque()
        answers: dict[Experiment, Measured] = {}
        for result in self._measure_and_remember(self._missing(experiments, waiting, answers)):
            answers[result.experiment] = result
            while waiting and waiting[0] in answers:
                yield answers[waiting.popleft()]
        while waiting:
            yield answers[waiting.popleft()]

    def _missing(
        self,
        experiments: Iterable[Experiment],
        waiting: deque[Experiment],
        answers: dict[Experiment, Measured],
    ) -> Iterator[Experiment]:
        """Those without an answer, each once; all of them go to `waiting`, what is known to `answers`."""
        source = iter(experiments)
        asked: set[Experiment] = set()
        while window := list(itertools.islice(source, WINDOW)):
            answers |= _answered(self._store.known(window))
            for experiment in window:
                waiting.append(experiment)
                if experiment not in answers and experiment not in asked:
                    asked.add(experiment)
                    yield experiment

    def _measure_and_remember(self, missing: Iterable[Experiment]) -> Iterator[Measured]:
        pending: list[Measured] = []
        flushed = time.monotonic()
        try:
            for result in self._measurer.measure(missing):
                pending.append(result)
                if time.monotonic() - flushed > FLUSH_AFTER:
                    self._store.remember(pending)
                    pending, flushed = [], time.monotonic()
                yield result
        finally:
            if pending:
                self._store.remember(pending)


class RepeatingCache(CachedMeasurer):
    """A cached measurer that can measure anew; `repetition` makes the measurer of one."""

    def __init__(
        self, measurer: Measurer, store: MeasurementStore, repetition: Callable[[int], Measurer]
    ) -> None:
        super().__init__(measurer, store)
        self._repetition = repetition
        self._made: dict[int, Measurer] = {0: self}

    def again(self, number: int) -> Measurer:
        """The measurer of that repetition; 0 is this one."""
        if number not in self._made:
            self._made[number] = self._repetition(number)
        return self._made[number]


def _answered(known: Mapping[Experiment, Measured]) -> dict[Experiment, Measured]:
    return {
        experiment: result
        for experiment, result in known.items()
        if result.state is not MeasurementState.CONTENDED
    }
