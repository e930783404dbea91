"""What a user does to a run: submit, pause, resume, cancel, stop and keep what there is.

A run that nobody works on changes at once; of one that is being worked on the wish is noted, and its worker
sees it within half a second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.dispatch import Signal
from django.utils import timezone

from inference.core.events import StateChanged
from inference.core.protocols import Json
from inference.core.texts import check_line
from inference.models import Run
from inference.runs import wakeups, webhooks
from inference.runs.errors import ConfigError, RunNameTakenError, RunStateError
from inference.runs.journal import hold, write
from inference.runs.kinds import job, keeps
from inference.runs.leases import abandoned
from inference.runs.user_limits import room_for_run
from inference.storage.names import NAME_LIMIT, free_name, hold_names

asked_of_run = Signal()
"""Sent when a run was paused, resumed or cancelled, or is about to be: `run`, `wish` as in the address."""


def submit(
    kind: str,
    config: Json,
    name: str,
    user: Any = None,
    forked_from: Run | None = None,
    *,
    note: str = "",
    webhook: str = "",
    part_of: Run | None = None,
) -> Run:
    """Queue a new run; `webhook` is an address that is told when it ends.

    A `part_of` another run does not count among those that a user may have.

    Raises `ConfigError`, `LimitError` or `RunNameTakenError`, and then nothing has been stored.
    """
    name = name.strip()
    if not 1 <= len(name) <= NAME_LIMIT:
        raise ConfigError(f"a run needs a name of 1 to {NAME_LIMIT} characters, not {len(name)}")
    try:
        check_line(name)
    except ValueError as error:
        raise ConfigError(f"the name of a run: {error}") from None
    kind_of_run = job(kind)
    complete = kind_of_run.check(config)
    with transaction.atomic():
        hold_names(Run)
        if part_of is None:
            room_for_run(user)
        if Run.objects.filter(name=name).exists():
            raise RunNameTakenError(name, free_name(Run, name))
        run = Run.objects.create(
            kind=kind,
            config=complete,
            name=name,
            note=note,
            created_by=user,
            forked_from=forked_from,
            part_of=part_of,
        )
        webhooks.arrange(run, webhook)
        kind_of_run.submitted(run)
        write(Run.objects.all(), run.pk, [StateChanged(Run.State.QUEUED).entry])
        wakeups.announce(wakeups.WORK)
    run.refresh_from_db()
    return run


def unused_name(wanted: str) -> str:
    """The wanted name, or with a number behind it the first that no run has yet."""
    return free_name(Run, wanted.strip())


def pause(run: Run) -> Run:
    """Stop a run so that it can be resumed from where it is. Raises `RunStateError`."""
    asked = _ask(run, Run.Wanted.PAUSE, Run.State.PAUSED, idle=(Run.State.QUEUED,))
    if not asked:
        raise _refusal(run, "paused", "queued and running")
    asked_of_run.send(Run, run=run, wish="pause")
    return run


def cancel(run: Run) -> Run:
    """Stop a run for good. Raises `RunStateError`."""
    asked = _ask(run, Run.Wanted.CANCEL, Run.State.CANCELLED, idle=(Run.State.QUEUED, Run.State.PAUSED))
    if not asked:
        raise _refusal(run, "cancelled", "queued, running and paused")
    asked_of_run.send(Run, run=run, wish="cancel")
    return run


def keep(run: Run) -> Run:
    """Stop a run that is being worked on, with what there is as its result. Raises `RunStateError`.

    A run that has nothing yet that could be a result ends as cancelled.
    """
    with transaction.atomic():
        hold(run.pk)
        working = Run.objects.filter(pk=run.pk, state=Run.State.RUNNING)
        working = working.exclude(abandoned(timezone.now())).exclude(wanted=Run.Wanted.CANCEL)
        if not (keeps(run) and working.update(wanted=Run.Wanted.KEEP)):
            raise _refusal(run, "stopped with a result", "running measurement, core, PMEvo and explaining")
    run.refresh_from_db()
    asked_of_run.send(Run, run=run, wish="keep")
    return run


def resume(run: Run) -> Run:
    """Let a paused run go on, or withdraw a pause that has not happened yet. Raises `RunStateError`."""
    rows = Run.objects.filter(state=Run.State.PAUSED)
    state = Run.State.QUEUED
    with transaction.atomic():
        hold(run.pk)
        pausing = Run.objects.filter(pk=run.pk, state=Run.State.RUNNING, wanted=Run.Wanted.PAUSE)
        if not pausing.update(wanted=Run.Wanted.NOTHING):
            queued = [StateChanged(state).entry]
            if write(rows, run.pk, queued, state=state, attempts=0, lease_until=None) is None:
                raise _refusal(run, "resumed", "paused")
            wakeups.announce(wakeups.WORK)
    run.refresh_from_db()
    asked_of_run.send(Run, run=run, wish="resume")
    return run


WISHES: Mapping[str, Callable[[Run], Run]] = {
    "pause": pause,
    "resume": resume,
    "cancel": cancel,
    "keep": keep,
}
"""What can be asked of a run, by the word for it."""


def _ask(run: Run, wish: str, state: str, idle: tuple[str, ...]) -> bool:
    """Change a run that nobody works on, or note the wish; False where the run is in no state for it."""
    now = timezone.now()
    nobody_works = Run.objects.filter(Q(state__in=idle) | abandoned(now))
    changes: dict[str, Any] = {"state": state, "wanted": Run.Wanted.NOTHING, "lease_until": None}
    if state in Run.FINAL:
        changes["finished"] = now
    with transaction.atomic():
        hold(run.pk)
        asked = write(nobody_works, run.pk, [StateChanged(state).entry], **changes) is not None
        if not asked:
            working = Run.objects.filter(pk=run.pk, state=Run.State.RUNNING)
            working.exclude(wanted=Run.Wanted.CANCEL).update(wanted=wish)  # a cancel is not withdrawn
            asked = working.exists()
    run.refresh_from_db()
    return asked


def _refusal(run: Run, asked: str, right: str) -> RunStateError:
    run.refresh_from_db()
    return RunStateError(run.name, run.get_state_display(), asked, right)
