"""Who waits for whom: runs have lanes by what they need, each in the order of submission.

Nobody wants to wait hours for an import because an inference came first, nor for one computer to be measured
because another one is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.models import Q, QuerySet, Sum
from django.db.models.functions import Length

from inference.core.protocols import Json
from inference.models import Machine, Run, Upload
from inference.runs.errors import LimitError
from inference.runs.kinds import RUN_KINDS, Lane

# How much a user may have here at a time: settings of the site, so that nobody's accident is everybody's
# trouble.
#
# What commands do, for nobody in particular, is not limited.


def room_for_run(user: Any) -> None:
    """Raise `LimitError` where the user has as many unfinished runs as one may have.

    Asked where nobody else submits a run at the same time (`hold_names`), so that two of them cannot both be
    the last one.
    """
    most = settings.RUNS_PER_USER
    if user is None or not most:
        return
    unfinished = Run.objects.filter(created_by=user).exclude(state__in=Run.FINAL).count()
    if unfinished >= most:
        raise LimitError(
            f"you have {unfinished} unfinished runs, and {most} is the most at a time: wait for one to end, "
            "or cancel one"
        )


def room_for_upload(user: Any, size: int) -> None:
    """Raise `LimitError` where the user's files, with one more of so many bytes, are more than one may have.

    Within the transaction that stores it.
    """
    if user is None:
        return
    # Until the transaction ends, this user's other uploads wait: two cannot both be the last one.
    get_user_model().objects.select_for_update().filter(pk=user.pk).first()
    files = Upload.objects.filter(created_by=user)
    most, most_bytes = settings.UPLOADS_PER_USER, settings.UPLOADED_BYTES_PER_USER
    if most and files.count() >= most:
        raise LimitError(f"{most} files of yours wait, and no more can: import or discard some")
    if most_bytes:
        together = files.aggregate(bytes=Sum(Length("content")))["bytes"] or 0
        if together + size > most_bytes:
            raise LimitError(
                f"your files that wait would have {(together + size) / 2**20:.1f} MiB together, and "
                f"{most_bytes >> 20} MiB is the most: import or discard some"
            )


SHORT_SLOTS = 1
"""How many short runs a worker does at a time, whatever its number of inferences."""

MEASURING_SLOTS = 4
"""How many runs that only measure a worker does at a time: they wait for agents, and compute little."""

ASKING_SLOTS = 3
"""How many runs that somebody waits for a worker does at a time."""


@dataclass(frozen=True)
class Queue:
    """Kinds of runs that wait for each other, and how many of them a worker does at a time."""

    kinds: frozenset[str]
    slots: int


def queues(jobs: int = 1) -> tuple[Queue, ...]:
    """The queues of a worker that does so many inferences at a time, one for each lane."""
    slots = {
        Lane.LONG: jobs,
        Lane.MEASURING: MEASURING_SLOTS,
        Lane.SHORT: SHORT_SLOTS,
        Lane.ASKING: ASKING_SLOTS,
    }
    return tuple(
        Queue(frozenset(kind.name for kind in RUN_KINDS.values() if kind.lane is lane), number)
        for lane, number in slots.items()
    )


def held_up() -> list[int]:
    """Waiting runs that are not to begin yet: another run measures on the computer that they need.

    Two at a time would take turns there, and each would take twice as long.
    """
    busy = {pk for run in _with_state(Run.State.RUNNING) if (pk := computer_of(run.config)) is not None}
    if not busy:
        return []
    computers = set(Machine.objects.filter(pk__in=busy, kind=Machine.Kind.AGENT).values_list("pk", flat=True))
    return [run.pk for run in _with_state(Run.State.QUEUED) if computer_of(run.config) in computers]


def ahead_of(run: Run) -> QuerySet[Run]:
    """The runs of the same lane or for the same computer that are worked on or were submitted earlier, oldest
    first; none of a run that does not wait, and never itself, its parts or the whole that it is part of. Of
    each what names it."""
    if run.state != Run.State.QUEUED:
        return Run.objects.none()
    whole = run.part_of_id or run.pk
    before = Q(state=Run.State.RUNNING) | Q(state=Run.State.QUEUED, pk__lt=run.pk)
    others = Run.objects.exclude(pk=whole).exclude(part_of=whole, part_of__isnull=False)
    earlier = others.filter(before).only("name", "state").order_by("id")
    computer = computer_of(run.config)
    if computer is not None:
        rivals = earlier.filter(Q(config__machine=computer) | Q(config__source__machine=computer))
        if rivals.exists():
            return rivals
    queue = next(queue for queue in queues() if run.kind in queue.kinds)
    return earlier.filter(kind__in=queue.kinds)


def _with_state(state: str) -> list[Run]:
    return list(Run.objects.filter(state=state).only("pk", "config").order_by("id"))


def computer_of(config: Json) -> int | None:
    """The id of the machine that a run measures on, None for one that does not."""
    source = config.get("source")
    return config.get("machine", source.get("machine") if isinstance(source, dict) else None)
