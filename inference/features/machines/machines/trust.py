"""What a machine's readings, checks and runs say of its numbers: whether and when they can be trusted."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from inference.figures.noise import NoiseReading
from inference.measuring.drift import DriftVerdict
from inference.models import ExperimentSet, Machine, Measurement, RunEvent
from inference.models.run import runs_on
from inference.runs.events import DriftChecked, RemeasuredExperiment
from inference.storage.rows import kept_summary, summarise

GOOD_NOISE, MOST_NOISE = 0.01, 0.04
"""Median deviations of known blocks: below the first all is quiet, above the second measuring waits."""
GOOD_DRIFT = 0.98
"""Share of re-measured results that agree on a quiet machine."""
GOOD_UNSETTLED = 0.10
_OFTEN, _RARELY = 0.3, 0.05

_RUNS = 30  # the newest, whose journals are looked through
_ROUNDS = 200
_SETS = 8
_LARGE = 20_000  # measurements of a set; a larger one is not counted while a page waits


@dataclass(frozen=True)
class Finding:
    """One thing that speaks for or against a machine; `verdict` is good, mind or change, as for advice."""

    verdict: str
    topic: str
    finding: str
    why: str


@dataclass(frozen=True)
class KnownAnswer:
    """A block whose time is known; cycles per instruction. `expected` is None where no document has it."""

    name: str
    measured: float
    expected: float | None

    @property
    def off_percent(self) -> float | None:
        """How much longer than expected, in per cent."""
        return None if not self.expected else 100 * (self.measured / self.expected - 1)


@dataclass(frozen=True)
class DriftRound:
    """One round of checks: `counts` by verdict, `worst` is the largest relative deviation of a first look."""

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
        """Results that were measured again for the first time."""
        return self.counts.get(DriftVerdict.AGREES, 0) + self.counts.get(DriftVerdict.DOUBTED, 0)


@dataclass(frozen=True)
class SetShares:
    """A set that was measured on the machine, and how many of its rows are in each state."""

    made: ExperimentSet
    total: int
    states: Mapping[str, int]

    @property
    def parts(self) -> list[tuple[str, int, float]]:
        """(state, rows, per cent) of the states that occur."""
        order = Measurement.State.values
        return [(state, n, 100 * n / self.total) for state in order if (n := self.states.get(state, 0))]


def known_answers(machine: Machine) -> list[KnownAnswer]:
    """The latest answers of the machine's known blocks."""
    told = machine.facts.get("checks")
    found = []
    for name, numbers in told.items() if isinstance(told, dict) else ():
        if isinstance(numbers, list) and len(numbers) == 2 and isinstance(numbers[0], int | float):
            expected = numbers[1] if isinstance(numbers[1], int | float) else None
            found.append(KnownAnswer(str(name), float(numbers[0]), expected))
    return found


def drift_rounds(machine: Machine, since: datetime) -> list[DriftRound]:
    """The last rounds of drift checks, newest first (two queries)."""
    runs = dict(runs_on(machine).values_list("pk", "name")[:_RUNS])
    events = RunEvent.objects.filter(run__in=list(runs), kind=DriftChecked.kind, at__gte=since).order_by(
        "-at"
    )
    rows = events.values_list("at", "run_id", "payload")[:_ROUNDS]
    return [_round(at, run, runs[run], DriftChecked.read(payload)) for at, run, payload in rows]


def _round(at: datetime, run: int, name: str, check: DriftChecked) -> DriftRound:
    counts = Counter(pair.verdict for pair in check.compared)
    first = [pair for pair in check.compared if pair.verdict in {DriftVerdict.AGREES, DriftVerdict.DOUBTED}]
    worst = max((abs(pair.after[-1] / pair.before - 1) for pair in first), default=None)
    notable = [pair for pair in check.compared if pair.verdict != DriftVerdict.AGREES]
    return DriftRound(at, run, name, counts, check.unanswered, worst, notable)


def shares_by_set(machine: Machine) -> list[SetShares]:
    """How settled the newest sets of a machine are; very large ones are passed over until summarised."""
    found = []
    for made in ExperimentSet.objects.filter(machine=machine, run__isnull=False).order_by("-id")[:_SETS]:
        summary = kept_summary(made)
        if summary is None and made.measurements.count() <= _LARGE:
            summary = summarise(made)
        if summary is not None and summary.measurements:
            found.append(SetShares(made, summary.measurements, summary.states))
    return found


def findings(
    readings: Sequence[NoiseReading], rounds: Iterable[DriftRound], shares: Sequence[SetShares]
) -> list[Finding]:
    """What speaks for and against the machine in the time shown, the worst first."""
    found = [*_of_noise(readings), *_of_disturbance(readings), *_of_drift(rounds), *_of_settling(shares)]
    return sorted(found, key=lambda each: ("change", "mind", "good").index(each.verdict))


def _of_noise(readings: Sequence[NoiseReading]) -> list[Finding]:
    noises = [each.noise for each in readings if each.noise is not None]
    if not noises:
        return []
    typical = statistics.median(noises)
    verdict = "good" if typical <= GOOD_NOISE else "mind" if typical <= MOST_NOISE else "change"
    why = "Median deviation of blocks whose times are known; a pass counts only while they are right."
    return [Finding(verdict, "Noise", f"{100 * typical:.1f} %", why)]


def _of_disturbance(readings: Sequence[NoiseReading]) -> list[Finding]:
    if not readings:
        return []
    share = sum(each.state == "contended" for each in readings) / len(readings)
    verdict = "good" if share <= _RARELY else "mind" if share <= _OFTEN else "change"
    why = "Nothing is measured while it is disturbed; that costs time and leaves some results contended."
    return [Finding(verdict, "Disturbed", f"{100 * share:.0f} % of the time", why)]


def _of_drift(rounds: Iterable[DriftRound]) -> list[Finding]:
    counts: Counter[str] = Counter()
    for each in rounds:
        counts.update(each.counts)
    checked = counts[DriftVerdict.AGREES] + counts[DriftVerdict.DOUBTED]
    if not checked:
        return []
    agreed = counts[DriftVerdict.AGREES] / checked
    gone = counts[DriftVerdict.REPLACED] + counts[DriftVerdict.UNSETTLED]
    verdict = "good" if agreed >= GOOD_DRIFT else "mind" if agreed >= 2 * GOOD_DRIFT - 1 else "change"
    why = "Settled results that were measured again later and agreed within the tolerance of both."
    replaced = f", {gone} contradicted twice" if gone else ""
    told = f"{counts[DriftVerdict.AGREES]:,} of {checked:,} results held{replaced}"
    return [Finding(verdict, "Drift", told, why)]


def _of_settling(shares: Sequence[SetShares]) -> list[Finding]:
    total = sum(each.total - each.states.get("failed", 0) for each in shares)
    if not total:
        return []
    unsettled = (
        sum(each.states.get("unsettled", 0) + each.states.get("contended", 0) for each in shares) / total
    )
    verdict = "good" if unsettled <= GOOD_UNSETTLED else "mind" if unsettled <= _OFTEN else "change"
    why = "Of what could be executed in its newest sets; inference learns from settled results alone."
    return [Finding(verdict, "Not settled", f"{100 * unsettled:.1f} % of the results", why)]
