"""Estimates of how long runs take: from finished ones before they begin, from their own pace after that."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from statistics import median

ALIKE_SIZES = 1.25
"""Factor between the sizes of two runs up to which they count as equally large."""

_START = 1.6
"""Seconds until a process of a run has loaded what it needs; does not grow with the run."""
_GROWTH = 0.85
"""Exponent of a run's size in its duration: some work, such as the mixes to judge by, does not grow. From
profiles of the starter and the default set on a Zen 4: 0.85 for latencies, 0.83 for explained µops.
"""
_SPREAD = 1.5
"""Factor to either side of an estimate by runs that are alike."""
_WIDE = (0.4, 3.0)
"""Factors of the ends of an estimate by other runs or other computers: the search for ports took 14 times as
long for other schemes of the same number.
"""
_SETTLING = 5.0
"""Seconds of expected work that weigh as much as the assumption that a run is as fast as earlier ones."""
_SLOWDOWNS = (0.3, 100.0)
_CHANGING = 2.0
"""Factor to either side of an estimate on a computer that is slower than usual."""
_SLOW, _NOTICEABLE = 1.4, 5.0
"""Factor and seconds by which a run has to be slower than earlier ones before pages say so."""


class Basis(StrEnum):
    """The grounds of an estimate, the best first."""

    ALIKE = "alike"
    SCALED = "scaled"
    REFERENCE = "reference"
    NOTHING = "nothing"


@dataclass(frozen=True)
class TimeRange:
    """Seconds: the likely duration, and the ends between which it usually lies."""

    least: float
    likely: float
    most: float

    def times(self, factor: float) -> TimeRange:
        return TimeRange(self.least * factor, self.likely * factor, self.most * factor)

    def plus(self, seconds: float) -> TimeRange:
        return TimeRange(self.least + seconds, self.likely + seconds, self.most + seconds)

    @classmethod
    def total(cls, ranges: Sequence[TimeRange]) -> TimeRange:
        return cls(*(math.fsum(getattr(part, end) for part in ranges) for end in ("least", "likely", "most")))

    def at_most(self, seconds: float) -> TimeRange:
        return TimeRange(*(min(end, seconds) for end in (self.least, self.likely, self.most)))


@dataclass(frozen=True)
class PastRun:
    """A finished run of a kind.

    Attributes:
        shape: What two runs that take equally long have in common, such as selection and settings.
        size: Units of work; 0 for kinds without.
        seconds: Seconds of work.
        steps: {label: seconds}, in order; empty where they were not recorded.
    """

    shape: str
    size: float
    seconds: float
    steps: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ExpectedTime:
    """The expected duration of a run.

    Attributes:
        total: None without any grounds.
        steps: {label: seconds}, in order; empty if they are not known before the run begins.
        runs: Number of finished runs that the estimate rests on.
    """

    basis: Basis
    total: TimeRange | None = None
    steps: Mapping[str, float] = field(default_factory=dict)
    runs: int = 0


def expected_time(
    shape: str,
    size: float,
    past: Sequence[PastRun],
    reference: Sequence[PastRun] = (),
    pace: float | None = None,
) -> ExpectedTime:
    """The expected duration of a run.

    Args:
        shape: Shape as in `PastRun`.
        size: Size as in `PastRun`.
        past: Finished runs of the kind on the same computer.
        reference: Runs of the kind on another computer.
        pace: Duration of runs here relative to the reference's; None where nothing is comparable.
    """
    alike = [run for run in past if run.shape == shape and _equally_large(run.size, size)]
    if alike:
        durations = [run.seconds for run in alike]
        likely = median(durations)
        ends = TimeRange(min(*durations, likely / _SPREAD), likely, max(*durations, likely * _SPREAD))
        return ExpectedTime(Basis.ALIKE, ends, _median_steps(alike), len(alike))
    listed = [run for run in reference if run.shape == shape]
    if listed and (pace is not None or not past):
        likely = median(_scale_to_size(run, size) for run in listed) * (pace or 1.0)
        basis = Basis.REFERENCE if pace is None else Basis.SCALED
        return ExpectedTime(basis, _wide(likely), _shares_of(past, likely), len(past))
    if past:
        nearest = min(past, key=lambda run: _distance(run.size, size))
        likely = _scale_to_size(nearest, size)
        return ExpectedTime(Basis.SCALED, _wide(likely), _shares_of([nearest], likely), len(past))
    if reference:
        nearest = min(reference, key=lambda run: _distance(run.size, size))
        return ExpectedTime(Basis.REFERENCE, _wide(_scale_to_size(nearest, size)))
    return ExpectedTime(Basis.NOTHING)


def relative_pace(
    past: Mapping[str, Sequence[PastRun]], reference: Mapping[str, Sequence[PastRun]]
) -> float | None:
    """Duration of runs relative to those of another computer, the median over runs that are alike in both.

    Args:
        past: {kind: runs here}.
        reference: {kind: runs there}.
    """
    ratios = [
        run.seconds / other.seconds
        for kind, runs in past.items()
        for run in runs
        for other in reference.get(kind, ())
        if run.shape == other.shape and _equally_large(run.size, other.size) and other.seconds
    ]
    return median(ratios) if ratios else None


def _distance(first: float, second: float) -> float:
    return abs(math.log((first or 1) / (second or 1)))


def _equally_large(first: float, second: float) -> bool:
    return max(first, second) <= ALIKE_SIZES * min(first, second)


def _scale_to_size(run: PastRun, size: float) -> float:
    """Seconds of a run of another size."""
    if not run.size or not size:
        return run.seconds
    start = min(_START, run.seconds)
    return start + (run.seconds - start) * math.pow(size / run.size, _GROWTH)


def _wide(likely: float) -> TimeRange:
    shortest, longest = _WIDE
    return TimeRange(shortest * likely, likely, longest * likely)


def _median_steps(runs: Sequence[PastRun]) -> dict[str, float]:
    newest = next((run.steps for run in runs if run.steps), {})
    return {label: median(run.steps[label] for run in runs if label in run.steps) for label in newest}


def _shares_of(runs: Sequence[PastRun], seconds: float) -> dict[str, float]:
    """Steps of the newest run with the same shares of a total."""
    run = next((run for run in runs if run.steps and run.seconds), None)
    if run is None:
        return {}
    return {label: duration * seconds / run.seconds for label, duration in run.steps.items()}


@dataclass(frozen=True)
class StepProgress:
    """A step of a run that works.

    Attributes:
        elapsed: Seconds of work so far.
        expected: Seconds of the complete step by earlier runs; None if unknown.
        share: Share of its work that is complete, 0 to 1; None if it reports none.
        left: Seconds that it still takes by an estimate of its own, such as a part's; None without one.
        is_done: Whether it has ended.
    """

    elapsed: float = 0.0
    expected: float | None = None
    share: float | None = None
    left: float | None = None
    is_done: bool = False

    @property
    def is_current(self) -> bool:
        return not self.is_done and self.elapsed > 0


@dataclass(frozen=True)
class RemainingTime:
    """Seconds that a run still takes.

    Attributes:
        total: None where later steps cannot be estimated.
        steps: Remaining seconds of each step; None where unknown.
        slowdown: Duration of the work so far relative to earlier runs; 1 without any.
        is_slow: Whether the run is clearly slower than earlier ones.
    """

    total: TimeRange | None
    steps: Sequence[float | None]
    slowdown: float = 1.0
    is_slow: bool = False


def remaining_time(steps: Sequence[StepProgress], expected: ExpectedTime) -> RemainingTime:
    """The time that a run still takes, from its expected duration and its own pace so far.

    Only runs that are alike have steps that compare: for others, the steps of the present run are weighed
    against the expected total, the more the longer it has been working.
    """
    is_alike = expected.basis is Basis.ALIKE
    planned, actual = _comparison(steps) if is_alike else (0.0, 0.0)
    slowdown = min(max((actual + _SETTLING) / (planned + _SETTLING), _SLOWDOWNS[0]), _SLOWDOWNS[1])
    remaining = [_step_left(step, slowdown) for step in steps]
    elapsed = math.fsum(step.elapsed for step in steps)
    by_steps = (
        None if None in remaining or not remaining else math.fsum(seconds or 0.0 for seconds in remaining)
    )
    likely = by_steps if is_alike else _weigh_estimates(by_steps, elapsed, expected)
    if likely is None and expected.total is not None:
        likely = max(
            expected.total.likely * slowdown - elapsed, math.fsum(seconds or 0.0 for seconds in remaining)
        )
    if likely is None:
        return RemainingTime(None, remaining, slowdown)
    is_slow = slowdown >= _SLOW and actual - planned >= _NOTICEABLE
    # Other work comes and goes: what it has cost so far says little about what it will.
    total = (
        TimeRange(likely / _CHANGING, likely, likely * _CHANGING)
        if is_slow
        else _narrow_range(likely, elapsed, expected)
    )
    return RemainingTime(total, remaining, slowdown, is_slow)


def _weigh_estimates(by_steps: float | None, elapsed: float, expected: ExpectedTime) -> float | None:
    """Remaining seconds by the present steps and by the expected total."""
    if by_steps is None or expected.total is None or not expected.total.likely or not by_steps + elapsed:
        return by_steps
    weight = min(elapsed / expected.total.likely, 1.0)
    total = math.pow(expected.total.likely, 1 - weight) * math.pow(by_steps + elapsed, weight)
    return max(total - elapsed, by_steps * weight)


def _comparison(steps: Sequence[StepProgress]) -> tuple[float, float]:
    """(seconds that the work so far was expected to take, seconds that it took)."""
    planned = actual = 0.0
    for step in steps:
        if step.expected is None or not (step.is_done or step.is_current):
            continue
        share = 1.0 if step.is_done else step.share
        if share is not None:
            planned, actual = planned + share * step.expected, actual + step.elapsed
        elif step.elapsed > step.expected:
            planned, actual = planned + step.expected, actual + step.elapsed
    return planned, actual


def _step_left(step: StepProgress, slowdown: float) -> float | None:
    if step.is_done:
        return 0.0
    if step.left is not None:
        return step.left
    total = None if step.expected is None else step.expected * slowdown
    if step.share and step.share < 1 and step.elapsed:
        by_pace = step.elapsed / step.share
        weight = math.sqrt(step.share)
        total = by_pace if total is None else math.pow(total, 1 - weight) * math.pow(by_pace, weight)
        return max(total - step.elapsed, 0.0)
    # A step that takes longer than expected, or works on after its last unit, does so for an unknown time.
    overdue = step.elapsed / 4 if step.is_current else 0.0
    if total is None:
        return overdue if step.share else None
    return max(total - step.elapsed, overdue)


def _narrow_range(likely: float, elapsed: float, expected: ExpectedTime) -> TimeRange:
    """The range around the remaining seconds, narrower the more of the run is complete."""
    if expected.total is None or not expected.total.likely:
        shortest, longest = 0.6, 2.0
    else:
        shortest = expected.total.least / expected.total.likely
        longest = expected.total.most / expected.total.likely
    uncertain = max(likely / (likely + elapsed), 0.5) if likely else 0.0
    return TimeRange(
        likely * (1 - (1 - shortest) * uncertain), likely, likely * (1 + (longest - 1) * uncertain)
    )


def slower(expected: ExpectedTime, factor: float) -> ExpectedTime:
    """The expected duration on a computer that other work makes slower by a factor."""
    if expected.total is None or factor <= 1:
        return expected
    steps = {label: factor * seconds for label, seconds in expected.steps.items()}
    return replace(expected, total=expected.total.times(factor), steps=steps)
