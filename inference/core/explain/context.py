"""What all stages of a search have in common: who measures, what is known, who has been excluded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from inference.core.experiment import Experiment
from inference.core.explain.counting import whole
from inference.core.explain.problem import REASONS, ExplainProblem, NotCharacterised, VerdictFact
from inference.core.explain.sampling import MeasurementSampler, SampledCycles
from inference.core.explain.settings import ExplainSettings
from inference.core.explain.telling import ExplainTeller

ERRORS = 3
"""Standard errors by which a median may be off."""

_WASTED = 0.03
"""Of the time that a scheme's ports allow: less may be noise, or what else a loop takes."""


@dataclass(frozen=True)
class Exclusion:
    """Where and why a scheme was left out."""

    stage: str
    reason: NotCharacterised
    text: str
    facts: tuple[VerdictFact, ...]


@dataclass
class ExplainContext:
    """One search: its problem, its samples, what has been found out. Stages add to it in order.

    `alone`: every scheme alone; `slots` of the issue bottleneck; `counts`: µops where known; `widths`:
    candidates with the size of their port set; `chained`: what waits for its registers when it is alone;
    `excluded` in the order in which it happened.
    """

    problem: ExplainProblem
    sampler: MeasurementSampler
    teller: ExplainTeller
    counts_from: str = ""
    alone: dict[str, SampledCycles] = field(default_factory=dict)
    slots: dict[str, float] = field(default_factory=dict)
    counts: dict[str, float] = field(default_factory=dict)
    widths: dict[str, int] = field(default_factory=dict)
    chained: frozenset[str] = frozenset()
    excluded: dict[str, Exclusion] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    unplaced: dict[str, int] = field(default_factory=dict)
    """{representative of a kind: its number of ports} where these were not found: nothing blocks them."""

    @property
    def settings(self) -> ExplainSettings:
        return self.problem.settings

    @property
    def left(self) -> list[str]:
        """Schemes that have not been excluded, in the problem's order."""
        return [scheme for scheme in self.problem.schemes if scheme not in self.excluded]

    def exclude(
        self, scheme: str, stage: str, reason: NotCharacterised, text: str, facts: Iterable[VerdictFact] = ()
    ) -> None:
        """Leave a scheme out, and say so."""
        told = text or REASONS[reason]
        self.excluded[scheme] = Exclusion(stage, reason, told, tuple(facts))
        self.teller.excluded(scheme, stage, reason, told)

    def warn(self, text: str) -> None:
        """A remark on the whole result."""
        if text not in self.warnings:
            self.warnings.append(text)
            self.teller.log(text, "warning")

    def uops(self, scheme: str) -> int | None:
        """How many µops the scheme has, None where nobody knows."""
        count = self.counts.get(scheme)
        return None if count is None else whole(count)

    def cycles(self, scheme: str) -> float:
        """What the scheme takes alone."""
        cycles = self.alone[scheme].cycles
        assert cycles is not None, "schemes without a time are excluded first"
        return cycles

    def off(self, experiment: Experiment) -> float:
        """Cycles by which a sample must be off to be no noise."""
        usual = self.sampler.deviation(experiment, self.sampler.reading(experiment).cycles)
        return max(self.settings.instability * usual, self.settings.epsilon * experiment.length)

    def measure(self, wanted: Mapping[Experiment, int]) -> None:
        """At least so many samples of each, and more of those that look unstable."""
        self.sampler.ask(wanted)
        if not self.sampler.repeats:
            return
        for more in (3, 7):
            odd = [e for e in wanted if self.sampler.is_suspicious(e, self.off(e))]
            if not odd:
                return
            self.sampler.ask({e: max(more, self.sampler.count(e)) for e in odd})

    def is_unstable(self, experiment: Experiment) -> bool:
        """Whether its samples differ by far more than the noise."""
        return self.sampler.is_unstable(experiment, self.off(experiment))

    def preference(self, scheme: str) -> tuple[int, bool, int, int, str]:
        """Sorts schemes by how well they represent others: those preferred, then the simplest.

        Of recorded data, those come first that were blocked with. Those with which the core wastes time even
        alone come last: floods of them show µops that are none.
        """
        preferred = self.problem.preferred
        place = preferred.index(scheme) if scheme in preferred else len(preferred)
        return -self.sampler.beside(scheme), self.wastes_alone(scheme), place, len(scheme), scheme

    def wastes_alone(self, scheme: str) -> bool:
        """Whether a candidate takes longer alone than the ports that it seems to have."""
        if (width := self.widths.get(scheme)) is None:
            return False
        least = self.cycles(scheme) - ERRORS * self.sampler.error(self.alone[scheme])
        return width * least > 1 + _WASTED


def fact(context: ExplainContext, experiment: Experiment, expected: float | None) -> VerdictFact:
    """What was measured of an experiment, to stand beside a verdict."""
    return VerdictFact(experiment, expected, context.sampler.reading(experiment).cycles)
