"""The choice of an experiment that distinguishes two candidates, or the reason why none does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Set
from dataclasses import replace

from inference.core.cegar.answers import CachedMeasurer
from inference.core.cegar.problem import AmbiguityReason
from inference.core.cegar.readings import Readings
from inference.core.cegar.settings import CegarSettings
from inference.core.cegar.shape import Candidate, Shape
from inference.core.experiment import Experiment
from inference.core.identity import Distinction, distinguishing_experiment
from inference.core.mapping import PortMapping
from inference.core.throughput import inverse_throughput

MAX_TRIES = 16
"""Experiments tried at most: each that was measured before is replaced by others, which may be many."""

SEARCHED = (4, 6)
"""Largest lengths tried, in instructions, for mappings with several µops per scheme; the second where the
first finds none. All experiments of a length are listed, and their number grows exponentially with it."""


class ExperimentChooser:
    """Chooses experiments within the settings' limits; `refused`: those without a usable measurement."""

    def __init__(
        self, settings: CegarSettings, answers: CachedMeasurer, readings: Readings, pulse: Callable[[], None]
    ) -> None:
        self._settings = settings
        self._pulse = pulse
        self._answers = answers
        self._readings = readings
        self.refused: set[Experiment] = set()

    def experiment(
        self, shape: Shape, first: Candidate, second: Candidate, experiment: Experiment | None
    ) -> Distinction | None:
        """The smallest admissible experiment that distinguishes two candidates; None for none.

        `experiment`: one that does so, where the solver has found one.
        """
        return self.between(shape.mapping(first), shape.mapping(second), experiment)

    def between(
        self, first: PortMapping, second: PortMapping, experiment: Experiment | None
    ) -> Distinction | None:
        """`experiment` for mappings.

        Where the smallest was measured already, the smallest without one of its schemes is tried, and so on.
        """
        schemes = first.usage.keys() & second.usage.keys()
        waiting: list[Set[str]] = [schemes]  # sets of schemes that an experiment may have, in breadth first
        for tried in range(MAX_TRIES):
            if tried == len(waiting):
                return None
            distinction = self._smallest(first, second, waiting[tried])
            if distinction is None and not tried:
                distinction = self._distinction(first, second, experiment)
            if distinction is None:
                continue
            if not self._answers.has(distinction.experiment):
                return None
            if not self._was_measured(distinction.experiment):
                return distinction
            smaller = [waiting[tried] - {scheme} for scheme in distinction.experiment.schemes]
            waiting += [subset for subset in smaller if subset not in waiting]
        return None

    def _was_measured(self, experiment: Experiment) -> bool:
        """Whether it was measured: without a usable result, or with one that is waived."""
        return experiment in self.refused or self._readings.cycles(experiment) is not None

    def _smallest(self, first: PortMapping, second: PortMapping, schemes: Set[str]) -> Distinction | None:
        """The smallest experiment of these schemes that distinguishes two mappings within the limits."""
        settings = self._settings
        limits: Collection[int | None] = [min(n, settings.max_length or n) for n in SEARCHED]
        if mapping_is_two_level(first, second):
            limits = (settings.max_length,)
        for limit in dict.fromkeys(limits):
            distinction = distinguishing_experiment(
                first,
                second,
                noise=settings.epsilon,
                r_max=self._readings.r_max,
                max_length=limit,
                schemes=sorted(schemes),
                pulse=self._pulse,
            )
            if distinction is not None:
                return distinction
        return None

    def hidden(self, mapping: PortMapping, other: PortMapping) -> AmbiguityReason:
        """Why no admissible experiment distinguishes the other mapping from the result.

        The limits are lifted one by one, to see which of them hides the difference.
        """
        noise, r_max = self._settings.epsilon, self._readings.r_max

        def distinction_with(noise: float, r_max: float | None) -> Distinction | None:
            return distinguishing_experiment(
                replace(mapping, r_max=r_max),
                replace(other, r_max=r_max),
                noise=noise,
                max_length=None if mapping_is_two_level(mapping, other) else SEARCHED[-1],
                pulse=self._pulse,
            )

        if (distinction := distinction_with(noise, r_max)) is not None:
            if self._readings.cycles(distinction.experiment) is not None:
                return AmbiguityReason.UNEXPLAINED
            return (
                AmbiguityReason.UNMEASURED
                if self._settings.max_length is None
                else self._too_long(mapping, other)
            )
        if r_max is not None and distinction_with(noise, None):
            return AmbiguityReason.R_MAX
        if distinction_with(0.0, r_max):
            return AmbiguityReason.NOISE
        if r_max is not None and distinction_with(0.0, None):
            return AmbiguityReason.BOTH
        return AmbiguityReason.EQUAL

    def _too_long(self, mapping: PortMapping, other: PortMapping) -> AmbiguityReason:
        short = distinguishing_experiment(
            mapping,
            other,
            noise=self._settings.epsilon,
            max_length=self._settings.max_length,
            pulse=self._pulse,
        )
        return AmbiguityReason.LENGTH if short is None else AmbiguityReason.UNMEASURED

    def _distinction(
        self, first: PortMapping, second: PortMapping, experiment: Experiment | None
    ) -> Distinction | None:
        limit = self._settings.max_length
        if experiment is None or (limit is not None and experiment.length > limit):
            return None
        return Distinction(
            experiment, inverse_throughput(first, experiment), inverse_throughput(second, experiment)
        )


def mapping_is_two_level(*mappings: PortMapping) -> bool:
    """Whether every scheme has one µop in all of them."""
    return all(
        sum(count for _, count in uops) == 1 for mapping in mappings for uops in mapping.usage.values()
    )


def port_filling(mapping: PortMapping) -> Experiment | None:
    """An experiment that fills every port for one cycle, which is the highest possible rate.

    Each port gets an instruction of the one-µop scheme with the most ports. None where no scheme has one µop.
    """
    single = {scheme: uops[0][0] for scheme, uops in mapping.usage.items() if sum(n for _, n in uops) == 1}
    selection = [
        max(
            (scheme for scheme, mask in single.items() if mask >> port & 1),
            key=lambda scheme: (single[scheme].bit_count(), scheme),
            default=None,
        )
        for port in range(len(mapping.ports))
    ]
    filling = [scheme for scheme in selection if scheme is not None]
    return Experiment.of(filling) if filling else None
