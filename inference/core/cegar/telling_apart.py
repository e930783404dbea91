"""The experiment that decides between two candidates, and why there is none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Set
from dataclasses import replace

from inference.core.cegar.answers import AnsweredOnce
from inference.core.cegar.problem import Hidden
from inference.core.cegar.readings import Readings
from inference.core.cegar.settings import CegarSettings
from inference.core.cegar.shape import Candidate, Shape
from inference.core.experiment import Experiment
from inference.core.identity import Distinction, distinguishing_experiment
from inference.core.mapping import PortMapping
from inference.core.throughput import inverse_throughput

MOST_TRIES = 16  # experiments looked at where the smallest has been measured to no avail
SEARCHED = (4, 6)  # lengths of three-level experiments, the second where the first does not do


class ExperimentChooser:
    """Chooses experiments within the settings' limits; `refused` are those that gave no usable number."""

    def __init__(
        self,
        settings: CegarSettings,
        answers: AnsweredOnce,
        readings: Readings,
        pulse: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._pulse = pulse
        self._answers = answers
        self._readings = readings
        self.refused: set[Experiment] = set()

    def experiment(
        self, shape: Shape, first: Candidate, second: Candidate, known: Experiment | None
    ) -> Distinction | None:
        """The smallest experiment that decides and may be asked; `known` is one that decides, if any."""
        return self.between(shape.mapping(first), shape.mapping(second), known)

    def between(
        self, first: PortMapping, second: PortMapping, known: Experiment | None
    ) -> Distinction | None:
        """The same for mappings.

        Where the smallest experiment does not do, the smallest without one of its schemes, and so on."""
        schemes = first.usage.keys() & second.usage.keys()
        waiting: list[Set[str]] = [schemes]
        for tried in range(MOST_TRIES):
            if tried == len(waiting):
                return None
            found = self._smallest(first, second, waiting[tried])
            if found is None and not tried:
                found = self._predicted(first, second, known)
            if found is None:
                continue
            if not self._answers.has(found.experiment):
                return None
            if not self._is_spent(found.experiment):
                return found
            fewer = [waiting[tried] - {scheme} for scheme in found.experiment.schemes]
            waiting += [each for each in fewer if each not in waiting]
        return None

    def _is_spent(self, experiment: Experiment) -> bool:
        """Whether it gave no usable number, or one that none of the mappings needs to explain."""
        return experiment in self.refused or self._readings.cycles(experiment) is not None

    def _smallest(self, first: PortMapping, second: PortMapping, schemes: Set[str]) -> Distinction | None:
        settings = self._settings
        limits: Collection[int | None] = [min(n, settings.max_length or n) for n in SEARCHED]
        if mapping_is_two_level(first, second):
            limits = (settings.max_length,)
        for limit in dict.fromkeys(limits):
            found = distinguishing_experiment(
                first,
                second,
                noise=settings.epsilon,
                r_max=self._readings.r_max,
                max_length=limit,
                schemes=sorted(schemes),
                pulse=self._pulse,
            )
            if found is not None:
                return found
        return None

    def hidden(self, mapping: PortMapping, other: PortMapping) -> Hidden:
        """Why nothing admissible tells the other mapping from the result."""
        noise, r_max = self._settings.epsilon, self._readings.r_max

        def tells(noise: float, r_max: float | None) -> Distinction | None:
            return distinguishing_experiment(
                replace(mapping, r_max=r_max),
                replace(other, r_max=r_max),
                noise=noise,
                max_length=None if mapping_is_two_level(mapping, other) else SEARCHED[-1],
                pulse=self._pulse,
            )

        if (found := tells(noise, r_max)) is not None:
            if self._readings.cycles(found.experiment) is not None:
                return Hidden.UNEXPLAINED
            return Hidden.UNMEASURED if self._settings.max_length is None else self._too_long(mapping, other)
        if r_max is not None and tells(noise, None):
            return Hidden.R_MAX
        if tells(0.0, r_max):
            return Hidden.NOISE
        return Hidden.BOTH if r_max is not None and tells(0.0, None) else Hidden.EQUAL

    def _too_long(self, mapping: PortMapping, other: PortMapping) -> Hidden:
        short = distinguishing_experiment(
            mapping,
            other,
            noise=self._settings.epsilon,
            max_length=self._settings.max_length,
            pulse=self._pulse,
        )
        return Hidden.LENGTH if short is None else Hidden.UNMEASURED

    def _predicted(
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
    """As many instructions of one µop as there are ports for them, which take a cycle: nothing is quicker.

    Every port gets one of the scheme that could evade it best. None where no scheme has one µop.
    """
    single = {scheme: uops[0][0] for scheme, uops in mapping.usage.items() if sum(n for _, n in uops) == 1}
    chosen = [
        max(
            (scheme for scheme, mask in single.items() if mask >> port & 1),
            key=lambda scheme: (single[scheme].bit_count(), scheme),
            default=None,
        )
        for port in range(len(mapping.ports))
    ]
    filling = [scheme for scheme in chosen if scheme is not None]
    return Experiment.of(filling) if filling else None
