"""The accuracy of a machine's measurements, judged by its readings, reference blocks, drift checks and
sets."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from inference.agent.targets import TARGETS
from inference.figures.noise import NoiseReading
from inference.measuring.drift import DriftVerdict
from inference.models import ExperimentSet, Machine, Measurement, RunEvent
from inference.models.run import runs_on
from inference.runs.events import DriftChecked, RemeasuredExperiment
from inference.storage.rows import stored_summary, summarise

GOOD_NOISE, MAX_NOISE = 0.01, 0.04
"""Median relative deviations of reference blocks: up to the first is good; above the second, measuring
waits."""
GOOD_DRIFT = 0.98
"""Share of repeated results that agree on a quiet machine."""
GOOD_UNSETTLED = 0.10
_FREQUENT, _RARE = 0.3, 0.05

_MAX_RUNS = 30  # the newest runs, whose journals are read
_MAX_ROUNDS = 200
_MAX_SETS = 8
_LARGE_SET = 20_000  # measurements; a larger set is not summarised by a page


@dataclass(frozen=True)
class Finding:
    """A finding for or against a machine; `verdict` is good, mind or change, as for advice."""

    verdict: str
    topic: str
    finding: str
    why: str


@dataclass(frozen=True)
class KnownAnswer:
    """A reference block in cycles per instruction; `expected`: None where none is documented of the core."""

    name: str
    measured: float
    expected: float | None

    @property
    def off_percent(self) -> float | None:
        """Measured minus expected, in per cent of expected; None without an expected time."""
        return None if not self.expected else 100 * (self.measured / self.expected - 1)


@dataclass(frozen=True)
class DriftRound:
    """A round of drift checks: `counts` by verdict; `worst`: largest relative deviation of a first
    repetition."""

    at: datetime
    run_id: int
    run_name: str
    counts: Mapping[str, int]
    unanswered: int
    worst: float | None
    notable: Sequence[RemeasuredExperiment]

    @property
    def worst_percent(self) -> float | None:
        return None if self.worst is None else 100 * self.worst

    @property
    def checked(self) -> int:
        """Number of results that were repeated for the first time."""
        return self.counts.get(DriftVerdict.AGREES, 0) + self.counts.get(DriftVerdict.DOUBTED, 0)


@dataclass(frozen=True)
class SetShares:
    """A set measured on the machine, with its number of rows in each state."""

    experiment_set: ExperimentSet
    total: int
    states: Mapping[str, int]

    @property
    def parts(self) -> list[tuple[str, int, float]]:
        """(state, rows, per cent) of the states that occur."""
        order = Measurement.State.values
        return [(state, n, 100 * n / self.total) for state in order if (n := self.states.get(state, 0))]


def known_answers(machine: Machine) -> list[KnownAnswer]:
    """The newest times of the reference blocks.

    The times that an agent takes for true on an undocumented core are guesses, good enough to notice a
    disturbance; they are no expectation: 0.2 cycles for additions, say, on a core with six ALUs.
    """
    checks = machine.facts.get("checks")
    documented = next(
        (target.documented(machine.facts) for target in TARGETS if machine.isa.name == target.ISA), {}
    )
    answers = []
    for name, numbers in checks.items() if isinstance(checks, dict) else ():
        if isinstance(numbers, list) and len(numbers) == 2 and isinstance(numbers[0], int | float):
            answers.append(KnownAnswer(str(name), float(numbers[0]), documented.get(str(name))))
    return answers


def drift_rounds(machine: Machine, since: datetime) -> list[DriftRound]:
    """The last rounds of drift checks, newest first (two queries)."""
    runs = dict(runs_on(machine).values_list("pk", "name")[:_MAX_RUNS])
    events = RunEvent.objects.filter(run__in=list(runs), kind=DriftChecked.kind, at__gte=since).order_by(
        "-at"
    )
    rows = events.values_list("at", "run_id", "payload")[:_MAX_ROUNDS]
    return [_round(at, run, runs[run], DriftChecked.read(payload)) for at, run, payload in rows]


def _round(at: datetime, run: int, name: str, check: DriftChecked) -> DriftRound:
    counts = Counter(pair.verdict for pair in check.compared)
    first = [pair for pair in check.compared if pair.verdict in {DriftVerdict.AGREES, DriftVerdict.DOUBTED}]
    worst = max((abs(pair.after[-1] / pair.before - 1) for pair in first), default=None)
    notable = [pair for pair in check.compared if pair.verdict != DriftVerdict.AGREES]
    return DriftRound(at, run, name, counts, check.unanswered, worst, notable)


def shares_by_set(machine: Machine) -> list[SetShares]:
    """The states of rows in the newest sets of a machine; large sets without a stored summary are left
    out."""
    shares = []
    for experiment_set in ExperimentSet.objects.filter(machine=machine, run__isnull=False).order_by("-id")[
        :_MAX_SETS
    ]:
        summary = stored_summary(experiment_set)
        if summary is None and experiment_set.measurements.count() <= _LARGE_SET:
            summary = summarise(experiment_set)
        if summary is not None and summary.measurements:
            shares.append(SetShares(experiment_set, summary.measurements, summary.states))
    return shares


def findings(
    readings: Sequence[NoiseReading], rounds: Iterable[DriftRound], shares: Sequence[SetShares]
) -> list[Finding]:
    """The findings for and against the machine in a period, the worst first."""
    all_findings = [
        *_noise_findings(readings),
        *_disturbance_findings(readings),
        *_drift_findings(rounds),
        *_settling_findings(shares),
    ]
    return sorted(all_findings, key=lambda finding: ("change", "mind", "good").index(finding.verdict))


def _noise_findings(readings: Sequence[NoiseReading]) -> list[Finding]:
    noises = [reading.noise for reading in readings if reading.noise is not None]
    if not noises:
        return []
    typical = statistics.median(noises)
    verdict = "good" if typical <= GOOD_NOISE else "mind" if typical <= MAX_NOISE else "change"
    why = "Median deviation of reference blocks; a pass counts only while they are right."
    return [Finding(verdict, "Noise", f"{100 * typical:.1f} %", why)]


def _disturbance_findings(readings: Sequence[NoiseReading]) -> list[Finding]:
    if not readings:
        return []
    share = sum(reading.state == "contended" for reading in readings) / len(readings)
    verdict = "good" if share <= _RARE else "mind" if share <= _FREQUENT else "change"
    why = "Measuring pauses while the machine is disturbed, which costs time; some results stay contended."
    return [Finding(verdict, "Disturbed", f"{100 * share:.0f} % of the time", why)]


def _drift_findings(rounds: Iterable[DriftRound]) -> list[Finding]:
    counts: Counter[str] = Counter()
    for drift_round in rounds:
        counts.update(drift_round.counts)
    checked = counts[DriftVerdict.AGREES] + counts[DriftVerdict.DOUBTED]
    if not checked:
        return []
    agreed = counts[DriftVerdict.AGREES] / checked
    contradicted = counts[DriftVerdict.REPLACED] + counts[DriftVerdict.UNSETTLED]
    verdict = "good" if agreed >= GOOD_DRIFT else "mind" if agreed >= 2 * GOOD_DRIFT - 1 else "change"
    why = "Settled results that were repeated later and agreed within the tolerance of both."
    replaced = f", {contradicted} contradicted twice" if contradicted else ""
    text = f"{counts[DriftVerdict.AGREES]:,} of {checked:,} results held{replaced}"
    return [Finding(verdict, "Drift", text, why)]


def _settling_findings(shares: Sequence[SetShares]) -> list[Finding]:
    total = sum(set_shares.total - set_shares.states.get("failed", 0) for set_shares in shares)
    if not total:
        return []
    unsettled = (
        sum(
            set_shares.states.get("unsettled", 0) + set_shares.states.get("contended", 0)
            for set_shares in shares
        )
        / total
    )
    verdict = "good" if unsettled <= GOOD_UNSETTLED else "mind" if unsettled <= _FREQUENT else "change"
    why = "Share of the executed experiments in its newest sets; inference uses only settled results."
    return [Finding(verdict, "Not settled", f"{100 * unsettled:.1f} % of the results", why)]
