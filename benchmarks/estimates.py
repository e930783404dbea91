"""How far estimates of finished runs of this site (`PMWEB_HOME`) were from what the runs took.

Each run is replayed: runs, events and progress since a moment are taken back in a transaction that is rolled
back, and the time left is estimated as the page would have done then, on a quiet
computer, by the site's own history alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from unittest.mock import patch

from django.db import transaction
from django.utils import timezone

from benchmarks import MissingDataError, Result
from inference.core.events import PhaseStarted, Progress
from inference.core.protocols import Json
from inference.core.run_times import Basis
from inference.models import Run, RunEvent
from inference.runs import estimates, plans
from inference.runs.journal import LEASE_TIME

_SHARES = (0.0, 0.25, 0.5, 0.75)  # of a run's time that have passed when it is estimated
_LEAST = 3.0
"""Seconds of a run below which its start decides."""


def run(quick: bool) -> Iterator[Result]:
    """Estimates of the last 100 runs, of 10 with `quick`."""
    ended = Run.objects.filter(state=Run.State.DONE, started__isnull=False, busy_seconds__gte=_LEAST)
    runs = list(ended.order_by("-pk")[: 10 if quick else 100])
    if not runs:
        raise MissingDataError("this site has no finished runs: name one by PMWEB_HOME")
    for row in reversed(runs):
        for share in _SHARES:
            plan = _plan_after(row, share)
            if plan.left is None:
                continue
            total = share * row.busy_seconds + plan.left.likely
            basis = plan.estimate.time.basis
            more = {"run": row.pk, "basis": basis.value, "within": _is_within(plan, row, share)}
            case = f"{row.kind} at {share:.0%}{'' if basis is Basis.ALIKE else f', {basis}'}"
            yield Result(case, round(total, 1), "s", round(row.busy_seconds, 1), more)


def _is_within(plan: plans.RunPlan, row: Run, share: float) -> bool:
    """Whether what was left lies between the ends that the page names."""
    left = (1 - share) * row.busy_seconds
    return plan.left is not None and plan.left.least <= left <= plan.left.most


def _plan_after(row: Run, share: float) -> plans.RunPlan:
    """The plan of a run after a share of its time."""
    assert row.started is not None
    assert row.finished is not None
    moment = row.started + share * (row.finished - row.started)
    quiet = patch.object(plans, "load_of", return_value=1.0)
    with transaction.atomic(), quiet, patch.object(estimates, "_references", return_value={}):
        RunEvent.objects.filter(at__gt=moment).delete()
        Run.objects.filter(started__gt=moment).update(part_of=None, state=Run.State.QUEUED)
        for other in Run.objects.filter(started__lte=moment, finished__gt=moment):
            _take_back(other, moment)
        if not share:
            RunEvent.objects.filter(run=row).delete()
            Run.objects.filter(pk=row.pk).update(state=Run.State.QUEUED, busy_seconds=0)
        plan = plans.plan_of(Run.objects.get(pk=row.pk))
        transaction.set_rollback(True)
    return plan


def _take_back(row: Run, moment: datetime) -> None:
    assert row.started is not None
    Run.objects.filter(pk=row.pk).update(
        state=Run.State.RUNNING,
        busy_seconds=(moment - row.started).total_seconds(),
        lease_until=timezone.now() + LEASE_TIME,
        progress=_progress(row),
    )


def _progress(row: Run) -> Json:
    """The newest progress of the present step."""
    events = RunEvent.objects.filter(run=row, kind__in=(Progress.kind, PhaseStarted.kind)).order_by("-seq")
    newest = events.values_list("kind", "payload").first()
    return newest[1] if newest is not None and newest[0] == Progress.kind else {}
