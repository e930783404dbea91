"""Measurers in front of any other one: a cache, and a second opinion.

The cache measures nothing twice under the same identity. A second opinion is for searches that take each
measurement literally. In a loop an experiment and its double take the same time per instance, but they are
different machine code and independent samples. Where the two disagree by more than the noise, the triple
decides. Disturbances make a computer slower, rarely faster: of two that agree, the faster one counts.
Where an experiment's own passes did not agree, the time of its double and its triple counts if these agree.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.protocols import Json, MeasurementStore, Measurer

LOOKUP_SIZE = 256  # experiments looked up in the store at once
FLUSH_INTERVAL = 1.0  # seconds: the most measuring time that a crash can cost

MAX_LENGTH = 15  # instructions whose triple still fits into a loop body


class StoreBackedMeasurer:
    """Reads results from the store, measures the others, and stores new ones.

    Failures are stored too: the same experiment would fail again. A contended result is not used, but
    measured again.
    """

    def __init__(self, measurer: Measurer, store: MeasurementStore) -> None:
        self._measurer = measurer
        self._store = store

    @property
    def identity(self) -> Json:
        """That of the measurer: a cache changes no result."""
        return self._measurer.identity

    def offers(self) -> Sequence[Experiment] | None:
        return self._measurer.offers()

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        """One result per experiment, in order; repeats are measured once.

        Stored results up to the first gap come at once. For the others the measurer is called once, so that
        one that works in batches always has the next batch.
        """
        source = iter(experiments)
        while window := list(itertools.islice(source, LOOKUP_SIZE)):
            cached = _uncontended_results(self._store.known(window))
            if not cached.keys() >= set(window):
                yield from self._with_gaps(itertools.chain(window, source))
                return
            yield from (cached[experiment] for experiment in window)

    def _with_gaps(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        waiting: deque[Experiment] = deque()
        answers: dict[Experiment, Measured] = {}
        for result in self._measure_and_remember(self._missing_experiments(experiments, waiting, answers)):
            answers[result.experiment] = result
            while waiting and waiting[0] in answers:
                yield answers[waiting.popleft()]
        while waiting:
            yield answers[waiting.popleft()]

    def _missing_experiments(
        self,
        experiments: Iterable[Experiment],
        waiting: deque[Experiment],
        answers: dict[Experiment, Measured],
    ) -> Iterator[Experiment]:
        """Experiments without a result, each once; all go to `waiting`, stored results to `answers`."""
        source = iter(experiments)
        requested: set[Experiment] = set()
        while window := list(itertools.islice(source, LOOKUP_SIZE)):
            answers |= _uncontended_results(self._store.known(window))
            for experiment in window:
                waiting.append(experiment)
                if experiment not in answers and experiment not in requested:
                    requested.add(experiment)
                    yield experiment

    def _measure_and_remember(self, missing: Iterable[Experiment]) -> Iterator[Measured]:
        pending: list[Measured] = []
        flushed = time.monotonic()
        try:
            for result in self._measurer.measure(missing):
                pending.append(result)
                if time.monotonic() - flushed > FLUSH_INTERVAL:
                    self._store.remember(pending)
                    pending, flushed = [], time.monotonic()
                yield result
        finally:
            if pending:
                self._store.remember(pending)


class RepeatingCache(StoreBackedMeasurer):
    """A cached measurer that can measure again; `repetition` makes the measurer of a repetition."""

    def __init__(
        self, measurer: Measurer, store: MeasurementStore, repetition: Callable[[int], Measurer]
    ) -> None:
        super().__init__(measurer, store)
        self._repetition = repetition
        self._repetitions: dict[int, Measurer] = {0: self}

    def repetition(self, number: int) -> Measurer:
        """The measurer of repetition `number`; 0 is this one."""
        if number not in self._repetitions:
            self._repetitions[number] = self._repetition(number)
        return self._repetitions[number]


def _uncontended_results(cached: Mapping[Experiment, Measured]) -> dict[Experiment, Measured]:
    return {
        experiment: result
        for experiment, result in cached.items()
        if result.state is not MeasurementState.CONTENDED
    }


class SecondOpinion:
    """Measures multiples of each experiment too; `epsilon` is the noise in cycles per instruction."""

    def __init__(self, measurer: Measurer, epsilon: float) -> None:
        self._measurer = measurer
        self._epsilon = epsilon

    @property
    def identity(self) -> Json:
        return self._measurer.identity

    def offers(self) -> Sequence[Experiment] | None:
        return self._measurer.offers()

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        """One result per experiment, in order; an experiment that fails is not measured again."""
        originals = list(experiments)
        variants = [v for e in originals for v in ((e,) if e.length > MAX_LENGTH else (e, multiple(e, 2)))]
        answers = {result.experiment: result for result in self._measurer.measure(variants)}
        for experiment in originals:
            yield self._judge_result(answers[experiment], answers.get(multiple(experiment, 2)))

    def _judge_result(self, first: Measured, second: Measured | None) -> Measured:
        if second is None or not second.usable or second.cycles is None:
            return first
        if first.state is MeasurementState.UNSETTLED:
            return self._settled_by_multiples(first, second.cycles / 2)
        if not first.usable or first.cycles is None:
            return first
        once, twofold = first.cycles, second.cycles / 2
        if self._agree(once, twofold, first.experiment):
            return replace(first, cycles=min(once, twofold))
        third = self._threefold(first.experiment)
        return replace(first, cycles=statistics.median_low([once, twofold, *third]))

    def _settled_by_multiples(self, first: Measured, twofold: float) -> Measured:
        for threefold in self._threefold(first.experiment):
            if self._agree(twofold, threefold, first.experiment):
                cycles = min(twofold, threefold)
                return replace(
                    first, state=MeasurementState.SETTLED, cycles=cycles, spread=abs(twofold - threefold)
                )
        return first

    def _threefold(self, experiment: Experiment) -> list[float]:
        """Cycles of one instance by the triple; empty where that did not settle."""
        (third,) = self._measurer.measure([multiple(experiment, 3)])
        return [third.cycles / 3] if third.usable and third.cycles is not None else []

    def _agree(self, first: float, second: float, experiment: Experiment) -> bool:
        return abs(first - second) <= self._epsilon * experiment.length


def multiple(experiment: Experiment, times: int) -> Experiment:
    return Experiment.of({scheme: times * count for scheme, count in experiment.terms})
