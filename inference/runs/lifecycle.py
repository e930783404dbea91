"""A user's operations on runs: submit, pause, resume, cancel, keep (stop with a partial result).

A run without a holder changes at once. For a running one the request is stored, and its worker reads it
within half a second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.dispatch import Signal
from django.utils import timezone

from inference.core.events import StateChanged
from inference.core.protocols import Json
from inference.core.texts import check_line
from inference.models import Run
from inference.runs import wakeups, webhooks
from inference.runs.errors import ConfigError, DuplicateRunNameError, LimitError, RunStateError
from inference.runs.journal import lock_run, write
from inference.runs.kinds import job, label_of, partial_result
from inference.runs.leases import abandoned
from inference.storage.names import NAME_LIMIT, free_name, lock_names

transition_requested = Signal()
"""Sent after a request was accepted, with `run` and `transition`: a key of `TRANSITIONS`."""


def submit(
    kind: str,
    config: Json,
    name: str = "",
    user: Any = None,
    forked_from: Run | None = None,
    *,
    note: str = "",
    webhook: str = "",
    part_of: Run | None = None,
) -> Run:
    """Queue a new run. After an error nothing is stored.

    Args:
        kind: A key of `RUN_KINDS`.
        config: Description of the run, completed with defaults by its kind's job.
        name: Unique name; "" for the kind's default name, made unique by a number.
        user: Owner; None for runs from the shell, which have no limit.
        forked_from: The run of which this is a changed copy.
        note: Remark for the run's page.
        webhook: Address that is notified when the run ends; "" for none.
        part_of: Parent run; parts do not count towards `RUNS_PER_USER`.

    Raises:
        ConfigError: The description or the name is wrong.
        LimitError: The user has too many unfinished runs.
        DuplicateRunNameError: Another run has the name.
    """
    name = name.strip()
    if len(name) > NAME_LIMIT:
        raise ConfigError(f"a run's name has at most {NAME_LIMIT} characters, not {len(name):,}")
    if name:
        try:
            check_line(name)
        except ValueError as error:
            raise ConfigError(f"the name of a run: {error}") from None
    kind_of_run = job(kind)
    complete = kind_of_run.check(config)
    with transaction.atomic():
        lock_names(Run)
        if part_of is None:
            _check_run_limit(user)
        if not name:
            name = free_name(Run, kind_of_run.default_name(complete) or label_of(kind))
        elif Run.objects.filter(name=name).exists():
            raise DuplicateRunNameError(name, free_name(Run, name))
        run = Run.objects.create(
            kind=kind,
            config=complete,
            name=name,
            note=note,
            created_by=user,
            forked_from=forked_from,
            part_of=part_of,
        )
        webhooks.create_webhooks(run, webhook)
        kind_of_run.submitted(run)
        write(Run.objects.all(), run.pk, [StateChanged(Run.State.QUEUED).entry])
        wakeups.announce(wakeups.WORK)
    run.refresh_from_db()
    return run


def _check_run_limit(user: Any) -> None:
    """Raise `LimitError` if the user has `RUNS_PER_USER` unfinished runs.

    The caller must hold `lock_names`: otherwise two submissions at a time could both pass.
    """
    limit = settings.RUNS_PER_USER
    if user is None or not limit:
        return
    unfinished = Run.objects.filter(created_by=user).exclude(state__in=Run.FINAL).count()
    if unfinished >= limit:
        raise LimitError(
            f"you have {unfinished} unfinished runs, and {limit} is the most at a time: wait for one to end, "
            "or cancel one"
        )


def unused_name(name: str) -> str:
    """The name itself, or with the first number behind it that makes it unique."""
    return free_name(Run, name.strip())


def pause(run: Run) -> Run:
    """Stop a run so that it can be resumed from its checkpoint. Raises `RunStateError`."""
    is_accepted = _request(run, Run.Transition.PAUSE, Run.State.PAUSED, idle=(Run.State.QUEUED,))
    if not is_accepted:
        raise _refusal(run, "paused", "queued and running")
    transition_requested.send(Run, run=run, wish="pause")
    return run


def cancel(run: Run) -> Run:
    """Stop a run; it cannot be resumed. Raises `RunStateError`."""
    is_accepted = _request(
        run, Run.Transition.CANCEL, Run.State.CANCELLED, idle=(Run.State.QUEUED, Run.State.PAUSED)
    )
    if not is_accepted:
        raise _refusal(run, "cancelled", "queued, running and paused")
    transition_requested.send(Run, run=run, wish="cancel")
    return run


def keep(run: Run) -> Run:
    """Stop a running run with its partial result. Raises `RunStateError`.

    A run that has no partial result yet ends as cancelled.
    """
    with transaction.atomic():
        lock_run(run.pk)
        running_rows = Run.objects.filter(pk=run.pk, state=Run.State.RUNNING)
        running_rows = running_rows.exclude(abandoned(timezone.now())).exclude(wanted=Run.Transition.CANCEL)
        if not (partial_result(run) and running_rows.update(wanted=Run.Transition.KEEP)):
            raise _refusal(run, "stopped with a result", "running measurement, core, PMEvo and explaining")
    run.refresh_from_db()
    transition_requested.send(Run, run=run, wish="keep")
    return run


def resume(run: Run) -> Run:
    """Queue a paused run, or withdraw a pause that has not happened yet. Raises `RunStateError`."""
    paused_rows = Run.objects.filter(state=Run.State.PAUSED)
    state = Run.State.QUEUED
    with transaction.atomic():
        lock_run(run.pk)
        pausing_rows = Run.objects.filter(pk=run.pk, state=Run.State.RUNNING, wanted=Run.Transition.PAUSE)
        if not pausing_rows.update(wanted=Run.Transition.NOTHING):
            queued = [StateChanged(state).entry]
            if write(paused_rows, run.pk, queued, state=state, attempts=0, lease_until=None) is None:
                raise _refusal(run, "resumed", "paused")
            wakeups.announce(wakeups.WORK)
    run.refresh_from_db()
    transition_requested.send(Run, run=run, wish="resume")
    return run


TRANSITIONS: Mapping[str, Callable[[Run], Run]] = {
    "pause": pause,
    "resume": resume,
    "cancel": cancel,
    "keep": keep,
}
"""{name in addresses and signals: function}."""


def _request(run: Run, transition: str, state: str, idle: tuple[str, ...]) -> bool:
    """Change a run without a holder, or store the request; False if the run's state does not allow it."""
    now = timezone.now()
    idle_rows = Run.objects.filter(Q(state__in=idle) | abandoned(now))
    changes: dict[str, Any] = {"state": state, "wanted": Run.Transition.NOTHING, "lease_until": None}
    if state in Run.FINAL:
        changes["finished"] = now
    with transaction.atomic():
        lock_run(run.pk)
        is_accepted = write(idle_rows, run.pk, [StateChanged(state).entry], **changes) is not None
        if not is_accepted:
            running_rows = Run.objects.filter(pk=run.pk, state=Run.State.RUNNING)
            running_rows.exclude(wanted=Run.Transition.CANCEL).update(
                wanted=transition
            )  # a cancel is not withdrawn
            is_accepted = running_rows.exists()
    run.refresh_from_db()
    return is_accepted


def _refusal(run: Run, action: str, allowed_states: str) -> RunStateError:
    run.refresh_from_db()
    return RunStateError(run.name, run.get_state_display(), action, allowed_states)
