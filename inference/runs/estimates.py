"""How long runs take, before they begin, for forms, pages, API and shell.

The numbers are those of `inference.core.run_times`; here are the finished runs on which they rest.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
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
    TimeRange,
    expected_time,
    relative_pace,
    slower,
)
from inference.isa.search import SearchError
from inference.models import InstructionScheme, Machine, Run, RunEvent
from inference.models.scheme_search import latency_schemes, select_schemes
from inference.runs.errors import RunsError
from inference.runs.kinds import RUN_KINDS, PlannedPart, job, machine_id_of

_HISTORY = 8
"""Number of a computer's last runs of a kind that estimates rest on."""

_REFERENCES = ("machine", "recorded", "evaluate", "experiment_set", "mapping", "resource_mapping")
"""Fields with ids of rows: whether they are there matters, not which row."""
_IRRELEVANT = ("core_model", "isa", "seed", "scheme_filter", "known", "name", "reused", "measure_again")
_COARSE = ("algorithm", "schemes", "sample")
_LISTS = ("schemes", "experiments", "blocks")

NOTHING = ExpectedTime(Basis.NOTHING)

BUSY = 1.25
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
        number = _n_selected(kind, config.get("isa", ""), schemes)
    else:
        number = next((len(config[name]) for name in _LISTS if isinstance(config.get(name), list)), 0)
    sample = config.get("sample")
    return min(number, sample) if sample and number else number


@lru_cache(maxsize=64)  # an estimate sizes every past run, and a count takes milliseconds
def _n_selected(kind: str, isa: str, selection: str) -> int:
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
        return " ".join(filter(None, (_basis_text(self.time), load if self.load >= BUSY else "", limit)))


NO_ESTIMATE = TimeEstimate(NOTHING)


def completed(kind: str, config: Json) -> Json:
    """A description completed with defaults, as finished runs have it, unless something prevents the run."""
    try:
        return job(kind).check(config)
    except RunsError:
        return config


def estimate(kind: str, config: Json) -> TimeEstimate:
    """The expected duration of a run with this complete description, under the present load."""
    return quiet_estimate(kind, config, None).under(load_of(machine_id_of(config)))


def quiet_estimate(kind: str, config: Json, run: Run | None) -> TimeEstimate:
    parts = RUN_KINDS[kind].parts(config, run) if kind in RUN_KINDS else ()
    if not parts:
        return TimeEstimate(_expected_time(kind, config))
    timed = tuple((part, _expected_time(part.kind, part.config)) for part in parts)
    return TimeEstimate(_total(timed), timed)


def without_estimate(run: Run) -> TimeEstimate:
    """The parts of a run that has ended, without a look at other runs."""
    parts = RUN_KINDS[run.kind].parts(run.config, run) if run.kind in RUN_KINDS else ()
    return TimeEstimate(NOTHING, tuple((part, NOTHING) for part in parts))


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


def _expected_time(kind: str, config: Json) -> ExpectedTime:
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


def load_of(machine: int | None) -> float:
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
