"""The experiment that decides between two candidates, and why there is none."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from inference.core.cegar.asking import Answers
from inference.core.cegar.problem import Hidden
from inference.core.cegar.settings import CegarSettings
from inference.core.cegar.shape import Candidate, Shape
from inference.core.experiment import Experiment
from inference.core.identity import Distinction, distinguishing_experiment
from inference.core.mapping import PortMapping
from inference.core.throughput import inverse_throughput

SEARCHED = (4, 6)  # lengths of three-level experiments, the second where the first does not do


class Judge:
    """Chooses experiments within the settings' limits; `refused` are those that gave no usable number."""

    def __init__(self, settings: CegarSettings, answers: Answers) -> None:
        self._settings = settings
        self._answers = answers
        self.refused: set[Experiment] = set()

    def experiment(
        self, shape: Shape, first: Candidate, second: Candidate, known: Experiment | None
    ) -> Distinction | None:
        """The smallest experiment that decides and may be asked; `known` is one that decides, if any."""
        return self._admissible(shape.mapping(first), shape.mapping(second), known)

    def _admissible(
        self, first: PortMapping, second: PortMapping, known: Experiment | None
    ) -> Distinction | None:
        settings = self._settings
        limits: Collection[int | None] = [min(n, settings.max_length or n) for n in SEARCHED]
        if mapping_is_two_level(first, second):
            limits = (settings.max_length,)
        for limit in dict.fromkeys(limits):
            found = distinguishing_experiment(
                first, second, noise=settings.epsilon, r_max=settings.r_max, max_length=limit
            )
            if found is not None:
                break
        else:
            found = self._predicted(first, second, known)
        if found is None or found.experiment in self.refused or not self._answers.has(found.experiment):
            return None
        return found

    def hidden(self, mapping: PortMapping, other: PortMapping) -> Hidden:
        """Why nothing admissible tells the other mapping from the result."""
        noise, r_max = self._settings.epsilon, self._settings.r_max

        def tells(noise: float, r_max: float | None) -> bool:
            found = distinguishing_experiment(
                replace(mapping, r_max=r_max),
                replace(other, r_max=r_max),
                noise=noise,
                max_length=None if mapping_is_two_level(mapping, other) else SEARCHED[-1],
            )
            return found is not None

        if tells(noise, r_max):
            return Hidden.UNMEASURED if self._settings.max_length is None else self._too_long(mapping, other)
        if r_max is not None and tells(noise, None):
            return Hidden.R_MAX
        if tells(0.0, r_max):
            return Hidden.NOISE
        return Hidden.BOTH if r_max is not None and tells(0.0, None) else Hidden.EQUAL

    def _too_long(self, mapping: PortMapping, other: PortMapping) -> Hidden:
        short = distinguishing_experiment(
            mapping, other, noise=self._settings.epsilon, max_length=self._settings.max_length
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
