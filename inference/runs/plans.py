"""Steps of a run, and the time that it still takes, while it works as before it begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from inference.core.events import PhaseStarted
from inference.core.protocols import Json
from inference.core.run_times import (
    Basis,
    ExpectedTime,
    RemainingTime,
    StepProgress,
    TimeRange,
    remaining_time,
)
from inference.models import Run
from inference.runs.estimates import (
    BUSY,
    NO_ESTIMATE,
    TimeEstimate,
    load_of,
    quiet_estimate,
    without_estimate,
)
from inference.runs.kinds import PlannedPart, machine_id_of
from inference.runs.leases import busy_seconds

LIMIT_SECONDS = "seconds"
"""Unit of the progress of a step that counts the seconds of its time limit."""


@dataclass(frozen=True)
class PlannedStep:
    """A step of a run.

    Attributes:
        state: "done", "current", "stopped", or "" before its turn.
        seconds: Seconds of work so far; None before its turn, and where they were not recorded.
        expected: Seconds of the complete step by earlier runs; None if unknown.
        left: Seconds that it still takes; None if unknown.
        part: The part that it is; None for a step that is none.
    """

    label: str
    state: str
    seconds: float | None = None
    expected: float | None = None
    left: float | None = None
    part: PlannedPart | None = None

    def as_json(self) -> Json:
        part = self.part
        return {
            "label": self.label,
            "state": self.state or "later",
            "seconds": _round_or_none(self.seconds),
            "expected": _round_or_none(self.expected),
            "left": _round_or_none(self.left),
            "run": None if part is None or part.run is None else part.run.pk,
            "reused": part is not None and part.is_reused,
        }


@dataclass(frozen=True)
class RunPlan:
    """The steps of a run with the time of each, and the seconds until it ends.

    Attributes:
        left: None where it cannot be estimated, and for runs that have ended.
        slowdown: Duration of the work so far relative to earlier runs; `is_slow` where pages say so.
    """

    steps: tuple[PlannedStep, ...]
    left: TimeRange | None = None
    estimate: TimeEstimate = NO_ESTIMATE
    slowdown: float = 1.0
    is_slow: bool = False

    @property
    def reason(self) -> str:
        """Why it takes longer than usual, else what the estimate rests on."""
        if not self.is_slow:
            return self.estimate.reason
        cause = ": other work runs on this computer" if self.estimate.load >= BUSY else ""
        return f"Slower than usual{cause}. So far it takes {self.slowdown:.1f} times as long as earlier runs."

    def as_json(self) -> Json:
        """In the form of the API's `RunPlanOut`."""
        time = self.estimate.time
        ends = self.left
        return {
            "left": None if ends is None else _round_or_none(ends.likely),
            "least": None if ends is None else _round_or_none(ends.least),
            "most": None if ends is None else _round_or_none(ends.most),
            "basis": time.basis.value,
            "runs": time.runs,
            "slowdown": round(self.slowdown, 2),
            "reason": self.reason,
            "steps": [step.as_json() for step in self.steps],
        }


def _round_or_none(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)


def plan_of(run: Run) -> RunPlan:
    """The plan of a run in any state."""
    is_open = run.state in Run.UNFINISHED
    begun = _begun(run)
    load = load_of(machine_id_of(run.config)) if is_open else 1.0
    basis = quiet_estimate(run.kind, run.config, run) if is_open else without_estimate(run)
    if not begun or basis.time.basis is not Basis.ALIKE:  # else the load is in the pace so far
        basis = basis.under(load)
    steps = [*_part_steps(basis)] if basis.parts else [*_own_steps(run, begun, basis.time)]
    if not is_open:
        return RunPlan(tuple(step for step, _ in steps))
    remaining = remaining_time([progress for _, progress in steps], basis.time)
    planned = (
        replace(step, left=time_left) for (step, _), time_left in zip(steps, remaining.steps, strict=True)
    )
    return RunPlan(
        tuple(planned),
        basis.time.total if not steps else _limit_remaining(remaining, basis, steps),
        replace(basis, load=load),
        remaining.slowdown,
        remaining.is_slow,
    )


def _limit_remaining(
    remaining: RemainingTime, basis: TimeEstimate, steps: Sequence[tuple[PlannedStep, StepProgress]]
) -> TimeRange | None:
    """The remaining time within the run's time limit, if it has one."""
    if remaining.total is None or not basis.parts:
        return remaining.total
    elapsed = sum(progress.elapsed for _, progress in steps)
    return remaining.total.at_most(max(max(part.ends_by for part, _ in basis.parts) - elapsed, 0.0))


def _begun(run: Run) -> list[PhaseStarted]:
    """The steps that have begun, in order (one query)."""
    if run._state.adding:
        return []
    payloads = run.events.filter(kind=PhaseStarted.kind).order_by("seq").values_list("payload", flat=True)
    return list({phase.index: phase for phase in map(PhaseStarted.read, payloads)}.values())


def _own_steps(
    run: Run, begun: Sequence[PhaseStarted], expected: ExpectedTime
) -> Iterator[tuple[PlannedStep, StepProgress]]:
    labels = begun[-1].labels if begun else tuple(expected.steps)
    last = "done" if run.state == Run.State.DONE else "current" if run.state in Run.UNFINISHED else "stopped"
    starts = [phase.busy for phase in begun]
    ends = [*starts[1:], *([busy_seconds(run)] if starts else [])]
    spans = {
        phase.label: None if start is None or end is None else max(end - start, 0.0)
        for phase, start, end in zip(begun, starts, ends, strict=True)
    }
    current = begun[-1].index if begun else 0
    for index, label in enumerate(labels, start=1):
        state = "" if index > current else last if index == current else "done"
        seconds, usual = spans.get(label), expected.steps.get(label)
        is_current = state == "current"
        progress = StepProgress(
            seconds or 0.0,
            usual,
            _share(run.progress) if is_current else None,
            is_done=state in ("done", "stopped"),
        )
        yield PlannedStep(label, state, seconds, usual), progress


def _share(progress: Json) -> float | None:
    """The share of the current step that is complete; None if it does not say, or only counts seconds of a
    time limit, before which most end.
    """
    if progress.get("unit") == LIMIT_SECONDS:
        return None
    total = progress.get("total")
    return min(progress["done"] / total, 1.0) if total and progress.get("done") else None


def _part_steps(basis: TimeEstimate) -> Iterator[tuple[PlannedStep, StepProgress]]:
    for part, time in basis.parts:
        usual = None if time.total is None else time.total.likely
        run = part.run
        if part.is_reused:
            yield PlannedStep(part.label, "done", None, usual, part=part), StepProgress(is_done=True)
        elif run is None:
            yield PlannedStep(part.label, "", None, usual, part=part), StepProgress(expected=usual)
        elif run.state in Run.FINAL:
            state = "done" if run.state == Run.State.DONE else "stopped"
            progress = StepProgress(run.busy_seconds, usual, is_done=True)
            yield PlannedStep(part.label, state, run.busy_seconds, usual, part=part), progress
        else:
            elapsed, remaining = busy_seconds(run), plan_of(run).left
            likely = None if remaining is None else remaining.likely
            share = None if likely is None or not elapsed else elapsed / (elapsed + likely)
            step = PlannedStep(part.label, "current", elapsed, usual, part=part)
            yield step, StepProgress(elapsed, usual, share, likely)
