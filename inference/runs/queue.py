"""Who waits for whom: long and short runs have lanes of their own, each in the order of submission.

Nobody wants to wait hours for an import because an inference came first.
"""

from __future__ import annotations

from django.db.models import Q

from inference.models import Run
from inference.runs.registry import JOBS

SHORT_SLOTS = 1
"""How many short runs a worker does at a time, whatever its number of long ones."""


def kinds(*, short: bool) -> frozenset[str]:
    """The kinds of runs of one lane."""
    return frozenset(kind for kind, job in JOBS.items() if job.short == short)


def ahead_of(run: Run) -> list[Run]:
    """The runs of the same lane that are worked on or were submitted earlier, oldest first; none of a run
    that does not wait."""
    if run.state != Run.State.QUEUED:
        return []
    lane = kinds(short=run.kind in kinds(short=True))
    earlier = Q(state=Run.State.RUNNING) | Q(state=Run.State.QUEUED, pk__lt=run.pk)
    return list(Run.objects.filter(earlier, kind__in=lane).order_by("id"))
