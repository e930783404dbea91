"""A second opinion on every measurement, for searches that take each one at its word.

In a loop an experiment and its double take the same time per instance, but they are different machine code
and different samples. Where the two disagree by more than the noise, the triple decides. What disturbs a
computer makes it slower, hardly ever faster: of two that agree, the faster one counts.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from inference.core.experiment import Experiment, Measured
from inference.core.protocols import Json, Measurer

LONGEST = 15  # instructions whose triple still fits into a loop body


class SecondOpinion:
    """Asks the measurer for multiples of each experiment too; `epsilon` in cycles per instruction."""

    def __init__(self, measurer: Measurer, epsilon: float) -> None:
        self._measurer = measurer
        self._epsilon = epsilon

    @property
    def identity(self) -> Json:
        """That of the measurer."""
        return self._measurer.identity

    def offers(self) -> Sequence[Experiment] | None:
        """Those of the measurer."""
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
        if not first.usable or first.cycles is None:
            return first
        once = [first.cycles, second.cycles / 2]
        if abs(once[0] - once[1]) <= self._epsilon * first.experiment.length:
            return replace(first, cycles=min(once))
        (third,) = self._measurer.measure([multiple(first.experiment, 3)])
        if third.usable and third.cycles is not None:
            once.append(third.cycles / 3)
        return replace(first, cycles=statistics.median_low(once))


def multiple(experiment: Experiment, times: int) -> Experiment:
    """The experiment with all its multiplicities times as large."""
    return Experiment.of({scheme: times * count for scheme, count in experiment.terms})
