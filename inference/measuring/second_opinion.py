"""A second opinion on every measurement, for searches that take each one at its word.

In a loop an experiment and its double take the same time per instance, but they are different machine code
and different samples. Where the two disagree by more than the noise, the triple decides. What disturbs a
computer makes it slower, hardly ever faster: of two that agree, the faster one counts. Where an experiment's
own passes did not agree, its double and its triple have its time if they agree on one.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.protocols import Json, Measurer

LONGEST = 15  # instructions whose triple still fits into a loop body


class SecondOpinion:
    """Asks the measurer for multiples of each experiment too; `epsilon` in cycles per instruction."""

    def __init__(self, measurer: Measurer, epsilon: float) -> None:
        self._measurer = measurer
        self._epsilon = epsilon

    @property
    def identity(self) -> Json:
        return self._measurer.identity

    def offers(self) -> Sequence[Experiment] | None:
        return self._measurer.offers()

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        """One result per experiment, in order; what cannot be measured once is not asked again."""
        asked = list(experiments)
        both = [each for e in asked for each in ((e,) if e.length > LONGEST else (e, multiple(e, 2)))]
        answers = {result.experiment: result for result in self._measurer.measure(both)}
        for experiment in asked:
            yield self._judged(answers[experiment], answers.get(multiple(experiment, 2)))

    def _judged(self, first: Measured, second: Measured | None) -> Measured:
        if second is None or not second.usable or second.cycles is None:
            return first
        if first.state is MeasurementState.UNSETTLED:
            return self._settled_by_others(first, second.cycles / 2)
        if not first.usable or first.cycles is None:
            return first
        once, twofold = first.cycles, second.cycles / 2
        if self._agree(once, twofold, first.experiment):
            return replace(first, cycles=min(once, twofold))
        third = self._threefold(first.experiment)
        return replace(first, cycles=statistics.median_low([once, twofold, *third]))

    def _settled_by_others(self, first: Measured, twofold: float) -> Measured:
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

    def _agree(self, one: float, other: float, experiment: Experiment) -> bool:
        return abs(one - other) <= self._epsilon * experiment.length


def multiple(experiment: Experiment, times: int) -> Experiment:
    """The experiment with all its multiplicities times as large."""
    return Experiment.of({scheme: times * count for scheme, count in experiment.terms})
