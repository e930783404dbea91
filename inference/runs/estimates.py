"""How long runs take: one estimate for forms, pages, API and shell, before a run begins and while it works.

The numbers are those of `inference.core.run_times`; here are the finished runs on which they rest.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from django.db.models import Q

from inference.core.events import PhaseStarted
from inference.core.protocols import Json
from inference.core.run_times import (
    Basis,
    ExpectedTime,
    PastRun,
    RemainingTime,
    StepProgress,
    TimeRange,
    expected_time,
    relative_pace,
    remaining_time,
    slower,
)
from inference.isa.search import SearchError
from inference.models import InstructionScheme, Machine, Run, RunEvent
from inference.models.scheme_search import latency_schemes, select_schemes
from inference.runs.kinds import RUN_KINDS, PlannedPart, machine_id_of
from inference.runs.leases import busy_seconds

_HISTORY = 8
"""Number of a computer's last runs of a kind that estimates rest on."""

_REFERENCES = ("machine", "recorded", "evaluate", "experiment_set", "mapping", "resource_mapping")
"""Fields with ids of rows: whether they are there matters, not which row."""
_IRRELEVANT = ("core_model", "isa", "seed", "scheme_filter", "known", "name", "reused", "measure_again")
_COARSE = ("algorithm", "schemes", "sample")
_LISTS = ("schemes", "experiments", "blocks")

LIMIT_SECONDS = "seconds"
"""Unit of the progress of a step that counts the seconds of its time limit."""

_NOTHING = ExpectedTime(Basis.NOTHING)

_BUSY = 1.25
"""Load from which pages mention it."""


def _shape(config: Json) -> str:
    """What descriptions of runs that take equally long have in common, as text."""
    relevant = {
        name: value for name, value in config.items() if name not in _IRRELEVANT and value is not None
    }
    return json.dumps({name: _shape_of(name, value) for name, value in relevant.items()}, sort_keys=True)


def _shape_of(name: str, value: Any) -> Any:
    if name in _REFERENCES:
        return bool(value)
    if name == "source":
        return sorted(value)
    return "list" if name in _LISTS and isinstance(value, list) else value


def _coarse_shape(config: Json) -> str:
    return _shape({name: config[name] for name in _COARSE if config.get(name)})


def _size(kind: str, config: Json) -> float:
    """Schemes, experiments or blocks of a run; 0 for kinds without."""
    schemes = config.get("schemes")
    if isinstance(schemes, str):
        number = _selected(kind, config.get("isa", ""), schemes)
    else:
        number = next((len(config[name]) for name in _LISTS if isinstance(config.get(name), list)), 0)
    sample = config.get("sample")
    return min(number, sample) if sample and number else number


@lru_cache(maxsize=64)  # an estimate sizes every past run, and a count takes milliseconds
def _selected(kind: str, isa: str, selection: str) -> int:
    select = latency_schemes if kind == "latencies" else select_schemes
    try:
        return select(InstructionScheme.objects.filter(isa__name=isa), selection).count()
    except SearchError:
        return 0


@cache
def _references() -> Mapping[str, Sequence[PastRun]]:
    """{kind: runs on the reference computer}."""
    table = tomllib.loads(Path(__file__).with_name("reference_times.toml").read_text("utf-8"))
    runs: defaultdict[str, list[PastRun]] = defaultdict(list)
    for entry in table["run"]:
        runs[entry["kind"]].append(PastRun(_coarse_shape(entry["config"]), entry["size"], entry["seconds"]))
    return runs


def _past_runs(
    kind: str, machine: int | None, shape: Callable[[Json], str] = _shape, **config: object
) -> list[PastRun]:
    """The last finished runs of a kind on a machine, newest first, with their steps (two queries)."""
    rows = Run.objects.filter(kind=kind, state=Run.State.DONE, busy_seconds__gt=0)
    if machine is not None:
        rows = rows.filter(Q(config__machine=machine) | Q(config__source__machine=machine))
    rows = rows.filter(**{f"config__{name}": value for name, value in config.items() if value is not None})
    listed = list(rows.order_by("-pk").values_list("pk", "config", "busy_seconds")[:_HISTORY])
    steps = _steps({pk: busy for pk, _, busy in listed})
    return [
        PastRun(shape(config), _size(kind, config), busy, steps.get(pk, {})) for pk, config, busy in listed
    ]


def _steps(runs: Mapping[int, float]) -> dict[int, dict[str, float]]:
    """{run: {label: seconds}} of finished runs, given as {run: seconds of work} (one query)."""
    events = RunEvent.objects.filter(run__in=runs, kind=PhaseStarted.kind).order_by("run", "seq")
    begun: defaultdict[int, dict[str, float]] = defaultdict(dict)
    for pk, payload in events.values_list("run_id", "payload"):
        phase = PhaseStarted.read(payload)
        if phase.busy is not None:
            begun[pk].setdefault(phase.label, phase.busy)
    return {pk: _durations(starts, runs[pk]) for pk, starts in begun.items()}


def _durations(starts: Mapping[str, float], end: float) -> dict[str, float]:
    ends = [*list(starts.values())[1:], end]
    return {label: max(at - start, 0.0) for (label, start), at in zip(starts.items(), ends, strict=True)}


@dataclass(frozen=True)
class TimeEstimate:
    """The expected duration of a run.

    Attributes:
        time: The duration; of a run with parts, the steps are the parts.
        parts: Each with its own estimate.
        load: Factor by which other work on the computer makes it slower now; 1 if there is none.
    """

    time: ExpectedTime
    parts: tuple[tuple[PlannedPart, ExpectedTime], ...] = ()
    load: float = 1.0

    def under(self, load: float) -> TimeEstimate:
        """The estimate of a quiet computer under a load."""
        if not self.parts:
            return TimeEstimate(slower(self.time, load), load=load)
        parts = tuple((part, slower(time, load)) for part, time in self.parts)
        return TimeEstimate(_total(parts), parts, load)

    @property
    def saved(self) -> float:
        """Seconds of the parts that earlier runs take the place of."""
        return sum(time.total.likely for part, time in self.parts if part.is_reused and time.total)

    @property
    def reason(self) -> str:
        """What the estimate rests on, and whether the time limit shortens it."""
        limits = [part.ends_by for part, _ in self.parts]
        is_cut = bool(limits) and self.time.total is not None and self.time.total.likely >= max(limits)
        limit = "The time limit ends it: some parts will be partial." if is_cut else ""
        load = f"Other work runs on this computer now, so the times are {self.load:.1f} times as long."
        return " ".join(filter(None, (_basis_text(self.time), load if self.load >= _BUSY else "", limit)))


def estimate(kind: str, config: Json) -> TimeEstimate:
    """The expected duration of a run with this complete description, under the present load."""
    return _estimate(kind, config, None).under(_load(machine_id_of(config)))


def _estimate(kind: str, config: Json, run: Run | None) -> TimeEstimate:
    parts = RUN_KINDS[kind].parts(config, run) if kind in RUN_KINDS else ()
    if not parts:
        return TimeEstimate(_expected(kind, config))
    timed = tuple((part, _expected(part.kind, part.config)) for part in parts)
    return TimeEstimate(_total(timed), timed)


def _without_estimate(run: Run) -> TimeEstimate:
    """The parts of a run that has ended, without a look at other runs."""
    parts = RUN_KINDS[run.kind].parts(run.config, run) if run.kind in RUN_KINDS else ()
    return TimeEstimate(_NOTHING, tuple((part, _NOTHING) for part in parts))


def _total(parts: Sequence[tuple[PlannedPart, ExpectedTime]]) -> ExpectedTime:
    """The expected duration of all parts that have to be executed; its basis is the worst of theirs."""
    executed = [time for part, time in parts if not part.is_reused]
    totals = [time.total for time in executed if time.total is not None]
    limit = max(part.ends_by for part, _ in parts)
    return ExpectedTime(
        max((time.basis for time in executed), key=list(Basis).index, default=Basis.ALIKE),
        TimeRange.total(totals).at_most(limit) if len(totals) == len(executed) else None,
        runs=min((time.runs for time in executed), default=0),
    )


def _expected(kind: str, config: Json) -> ExpectedTime:
    machine = machine_id_of(config)
    shape, size = _shape(config), _size(kind, config)
    algorithm = config.get("algorithm", "")
    past = _past_runs(kind, machine, **({"algorithm": algorithm} if algorithm else {}))
    expected = expected_time(shape, size, past)
    if expected.basis is Basis.ALIKE or machine is None:
        return expected
    coarse = _coarse_shape(config)
    reference = [
        replace(run, shape=shape) if run.shape == coarse else run
        for run in _references().get(kind, ())
        if algorithm in run.shape
    ]
    return expected_time(shape, size, past, reference, _pace(machine)) if reference else expected


def _pace(machine: int) -> float | None:
    """Duration of the parts of profiles on a machine relative to the reference; None without any."""
    past = {kind: _past_runs(kind, machine, _coarse_shape) for kind in _references()}
    return relative_pace(past, _references())


def _load(machine: int | None) -> float:
    """How much longer a run takes because of other work on its computer.

    The load average is known of the site's own computer only. A run keeps one processor busy.
    """
    if machine is None or not Machine.objects.filter(pk=machine, local=True).exists():
        return 1.0
    return max(1.0, (os.getloadavg()[0] + 1) / len(os.sched_getaffinity(0)))


def _basis_text(time: ExpectedTime) -> str:
    match time.basis:
        case Basis.ALIKE:
            runs = "the last such run" if time.runs == 1 else f"the last {time.runs} such runs"
            return f"As {runs} on this computer took." if time.runs else ""
        case Basis.SCALED:
            return "From runs over other schemes on this computer: rough until the run has begun."
        case Basis.REFERENCE:
            return (
                "Nothing like it has run on this computer yet: as on a Zen 4, rough until the run has begun."
            )
        case Basis.NOTHING:
            return "Nothing like it has run on this computer yet."


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
            "seconds": _rounded(self.seconds),
            "expected": _rounded(self.expected),
            "left": _rounded(self.left),
            "run": None if part is None or part.run is None else part.run.pk,
            "reused": part is not None and part.is_reused,
        }


@dataclass(frozen=True)
class RunPlan:
    """The steps of a run with the time of each, and the seconds until it ends.

    `left`: None where it cannot be estimated, and for runs that have ended. `slowdown`: duration of the work
    so far relative to earlier runs; `is_slow` where pages say so.
    """

    steps: tuple[PlannedStep, ...]
    left: TimeRange | None = None
    estimate: TimeEstimate = TimeEstimate(_NOTHING)
    slowdown: float = 1.0
    is_slow: bool = False

    @property
    def reason(self) -> str:
        """Why it takes longer than usual, else what the estimate rests on."""
        if not self.is_slow:
            return self.estimate.reason
        cause = ": other work runs on this computer" if self.estimate.load >= _BUSY else ""
        return f"Slower than usual{cause}. So far it takes {self.slowdown:.1f} times as long as earlier runs."

    def as_json(self) -> Json:
        """In the form of the API's `RunPlanOut`."""
        time = self.estimate.time
        ends = self.left
        return {
            "left": None if ends is None else _rounded(ends.likely),
            "least": None if ends is None else _rounded(ends.least),
            "most": None if ends is None else _rounded(ends.most),
            "basis": time.basis.value,
            "runs": time.runs,
            "slowdown": round(self.slowdown, 2),
            "reason": self.reason,
            "steps": [step.as_json() for step in self.steps],
        }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)


def plan_of(run: Run) -> RunPlan:
    """The plan of a run in any state."""
    is_open = run.state in Run.UNFINISHED
    begun = _begun(run)
    load = _load(machine_id_of(run.config)) if is_open else 1.0
    basis = _estimate(run.kind, run.config, run) if is_open else _without_estimate(run)
    if not begun or basis.time.basis is not Basis.ALIKE:  # else the load is in the pace so far
        basis = basis.under(load)
    steps = [*_part_steps(basis)] if basis.parts else [*_own_steps(run, begun, basis.time)]
    if not is_open:
        return RunPlan(tuple(step for step, _ in steps))
    remaining = remaining_time([progress for _, progress in steps], basis.time)
    planned = (replace(step, left=left) for (step, _), left in zip(steps, remaining.steps, strict=True))
    return RunPlan(
        tuple(planned),
        basis.time.total if not steps else _limited(remaining, basis, steps),
        replace(basis, load=load),
        remaining.slowdown,
        remaining.is_slow,
    )


def _limited(
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
            elapsed, own = busy_seconds(run), plan_of(run).left
            left = None if own is None else own.likely
            share = None if left is None or not elapsed else elapsed / (elapsed + left)
            step = PlannedStep(part.label, "current", elapsed, usual, part=part)
            yield step, StepProgress(elapsed, usual, share, left)
