"""The state that all stages of a search share: samples, times, counts and exclusions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from inference.core.experiment import Experiment
from inference.core.explain.problem import REASONS, ExplainProblem, NotCharacterised, VerdictFact
from inference.core.explain.reporting import ExplainReporter
from inference.core.explain.sampling import MeasurementSampler, SampledCycles
from inference.core.explain.settings import ExplainSettings
from inference.core.explain.uop_counts import integer_count

ERRORS = 3
"""Standard errors within which a median counts as exact."""

_WASTED = 0.03
"""Share of the time that a scheme's ports need, above which more time is waste and not noise or the loop."""


@dataclass(frozen=True)
class Exclusion:
    """The stage and reason for which a scheme was excluded, and the experiments behind it."""

    stage: str
    reason: NotCharacterised
    text: str
    facts: tuple[VerdictFact, ...]


@dataclass
class ExplainContext:
    """The state of one search; each stage adds to it.

    Attributes:
        alone: Every scheme alone; `slots` of the issue bottleneck.
        counts: µops where known.
        widths: Candidates with the size of their port set.
        chained: What waits for its registers when it is alone; `excluded` in the order in which it
            happened.
    """

    problem: ExplainProblem
    sampler: MeasurementSampler
    reporter: ExplainReporter
    counts_from: str = ""
    alone: dict[str, SampledCycles] = field(default_factory=dict)
    slots: dict[str, float] = field(default_factory=dict)
    counts: dict[str, float] = field(default_factory=dict)
    widths: dict[str, int] = field(default_factory=dict)
    chained: frozenset[str] = frozenset()
    excluded: dict[str, Exclusion] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    unplaced: dict[str, int] = field(default_factory=dict)
    """{representative of a class: its number of ports} where these were not found: nothing blocks them."""

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
        """Exclude a scheme and report it; `text` "" stands for the reason's own sentence."""
        explanation = text or REASONS[reason]
        self.excluded[scheme] = Exclusion(stage, reason, explanation, tuple(facts))
        self.reporter.excluded(scheme, stage, reason, explanation)

    def warn(self, text: str) -> None:
        """Add a warning about the result as a whole, once."""
        if text not in self.warnings:
            self.warnings.append(text)
            self.reporter.log(text, "warning")

    def uops(self, scheme: str) -> int | None:
        """Number of µops of the scheme; None where it was not counted."""
        count = self.counts.get(scheme)
        return None if count is None else integer_count(count)

    def cycles(self, scheme: str) -> float:
        cycles = self.alone[scheme].cycles
        assert cycles is not None, "schemes without a time are excluded first"
        return cycles

    def unstable_cycles(self, experiment: Experiment) -> float:
        """Cycles of deviation from which a sample counts as unstable."""
        usual = self.sampler.deviation(experiment, self.sampler.reading(experiment).cycles)
        return max(self.settings.instability * usual, self.settings.epsilon * experiment.length)

    def measure(self, samples: Mapping[Experiment, int]) -> None:
        """Take at least so many samples of each experiment, and up to 7 of those that look unstable."""
        self.sampler.sample(samples)
        if not self.sampler.repeats:
            return
        # With 3 samples, the median ignores one bad one; 7 tell an unstable time from two bad samples.
        for extra_copies in (3, 7):
            odd = [e for e in samples if self.sampler.is_suspicious(e, self.unstable_cycles(e))]
            if not odd:
                return
            self.sampler.sample({e: max(extra_copies, self.sampler.count(e)) for e in odd})

    def is_unstable(self, experiment: Experiment) -> bool:
        """Whether its samples differ by far more than the noise."""
        return self.sampler.is_unstable(experiment, self.unstable_cycles(experiment))

    def preference(self, scheme: str) -> tuple[int, bool, int, int, str]:
        """Sort key by how well a scheme represents its class: preferred schemes first, then short names.

        In recorded data, schemes with recorded floods come before these. Schemes that waste time alone come
        after: floods of them would show µops that do not exist.
        """
        preferred = self.problem.preferred
        place = preferred.index(scheme) if scheme in preferred else len(preferred)
        return -self.sampler.recorded_partners(scheme), self.wastes_alone(scheme), place, len(scheme), scheme

    def wastes_alone(self, scheme: str) -> bool:
        """Whether a candidate takes longer alone than its number of ports explains."""
        if (width := self.widths.get(scheme)) is None:
            return False
        lower_bound = self.cycles(scheme) - ERRORS * self.sampler.error(self.alone[scheme])
        return width * lower_bound > 1 + _WASTED


def fact(context: ExplainContext, experiment: Experiment, expected: float | None) -> VerdictFact:
    """The experiment's measured time as a fact for a verdict; `expected` in cycles."""
    return VerdictFact(experiment, expected, context.sampler.reading(experiment).cycles)
