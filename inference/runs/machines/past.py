"""How long what a machine did before has taken: what estimates learn from."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

from django.db.models import QuerySet

from inference.models import Machine, Run

_NEWEST = 5
_ENOUGH = 50
"""Experiments of a run, below which its beginning and end are most of its time."""


@dataclass(frozen=True)
class PastPace:
    """`seconds` that an experiment took, of a run from beginning to end: the median of so many `runs`."""

    seconds: float
    runs: int


def past_pace(machine: Machine) -> PastPace | None:
    """Of the machine's last measuring runs; None where there are none that say anything (one query)."""
    ended = past_runs(machine, "measure").values_list("busy_seconds", "result__experiments")
    paces = [busy / experiments for busy, experiments in ended if busy and (experiments or 0) >= _ENOUGH]
    return PastPace(median(paces), len(paces)) if paces else None


def past_runs(machine: Machine, kind: str, **config: Any) -> QuerySet[Run]:
    """The last runs of a kind that the machine did to the end and in one attempt, newest first."""
    named = {f"config__{name}": value for name, value in config.items()}
    if kind == "infer":
        named["config__source__machine"] = machine.pk
    else:
        named["config__machine"] = machine.pk
    done = Run.objects.filter(kind=kind, state=Run.State.DONE, **named)
    return done.order_by("-id")[:_NEWEST]


def past_share(machine: Machine, kind: str, told: str, **config: Any) -> float | None:
    """Seconds of work for each of what the result counts under `told`, the median of the last runs."""
    rows = past_runs(machine, kind, **config).values_list("busy_seconds", f"result__{told}")
    shares = [busy / number for busy, number in rows if busy and number]
    return median(shares) if shares else None
