"""Batches of experiments: leased to an agent's connection, requeued, done or failed.

Every lease has a number, the batch's `fence`. Results are stored only under the newest, and only from the
connection that holds it: an agent may send them twice, and they are stored once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from operator import itemgetter

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from inference.core.protocols import Json
from inference.models import Batch as BatchRow
from inference.models import Machine, Run
from inference.runs import wakeups
from inference.runs.kinds import interactive_kinds
from inference.runs.machines.checking import TEXT_LIMIT, read_results

MAX_ATTEMPTS = 5
"""Leases of a batch without results, after which it fails."""

INTERACTIVE_TURNS = 4
"""Batches of interactive runs that are measured one after the other while a long run waits."""

_RECENT = 16
"""Measured batches among which the last ones are looked for; a long run posts few ahead."""

_ACTIVE_RUN_STATES = (Run.State.RUNNING, Run.State.QUEUED)
"""States of runs that still use results: a queued run waits for its next attempt."""

_MEASURING_STATES = tuple(state for state in Machine.State if state != Machine.State.UNFIT)


@dataclass(frozen=True)
class LeasedBatch:
    """A batch under the lease `fence` of one connection; `content` is what its agent measures."""

    batch: int
    fence: int
    content: Json


def lease(machine_id: int, session: int) -> LeasedBatch | None:
    """Lease the next waiting batch of the machine to the connection; None if there is none.

    The oldest one, but interactive runs come first: their users wait, while a long run has posted its next
    batches already. After `INTERACTIVE_TURNS` of theirs in a row, the long run has a turn. A machine that
    cannot measure gets none, and batches of ended runs and of earlier attempts are skipped.
    """
    candidates = BatchRow.objects.filter(
        machine=machine_id,
        machine__session=session,
        machine__state__in=_MEASURING_STATES,
        state=BatchRow.State.WAITING,
        run__state=Run.State.RUNNING,
        run__lease_token=F("run_token"),
    )
    # Columns instead of objects, here and below: every millisecond on this path is one per experiment.
    columns = candidates.order_by("id").values_list("pk", "fence", "attempts", "content")
    while (row := _preferred_row(machine_id, candidates, columns)) is not None:
        number, fence, attempts, content = row
        unchanged = BatchRow.objects.filter(pk=number, state=BatchRow.State.WAITING, fence=fence)
        if attempts >= MAX_ATTEMPTS:
            _fail_exhausted(unchanged)
            continue
        # Lock the machine's row first: a newer connection may be starting, and it locks that row, too.
        with transaction.atomic():
            machine_row = Machine.objects.select_for_update(no_key=True).filter(
                pk=machine_id, session=session
            )
            if machine_row.values_list("pk").first() is None:
                return None
            updated = unchanged.update(
                state=BatchRow.State.LEASED, session=session, fence=fence + 1, attempts=attempts + 1
            )
        if updated:
            return LeasedBatch(number, fence + 1, content)
    return None


_Row = tuple[int, int, int, Json]


def _preferred_row(
    machine_id: int, candidates: QuerySet[BatchRow], columns: QuerySet[BatchRow, _Row]
) -> _Row | None:
    kinds = set(candidates.order_by().values_list("run__kind", flat=True).distinct())
    interactive = kinds.intersection(interactive_kinds())
    if interactive in (set(), kinds):  # as nearly always
        return columns.first()
    if _had_turns(machine_id, interactive):
        return columns.exclude(run__kind__in=interactive).first()
    return columns.filter(run__kind__in=interactive).first()


def _had_turns(machine_id: int, interactive: Collection[str]) -> bool:
    measured = BatchRow.objects.filter(machine=machine_id, state=BatchRow.State.DONE).order_by("-id")
    recent = list(measured.values_list("finished", "run__kind")[:_RECENT])
    last = sorted(recent, key=itemgetter(0), reverse=True)[:INTERACTIVE_TURNS]
    return len(last) == INTERACTIVE_TURNS and all(kind in interactive for _, kind in last)


def reclaim(machine_id: int, session: int, batch: int, fence: int) -> bool:
    """Renew an agent's lease for its new connection.

    Args:
        machine_id: Machine of the agent.
        session: Id of the new connection.
        batch: Id of the leased batch.
        fence: Number of the lease.

    Returns:
        False if the batch was leased again since.
    """
    waiting = BatchRow.objects.filter(pk=batch, machine=machine_id, state=BatchRow.State.WAITING)
    rows = waiting.filter(fence=fence, attempts__gt=0, run__state__in=_ACTIVE_RUN_STATES)
    return bool(rows.update(state=BatchRow.State.LEASED, session=session))


def is_awaited(session: int, batch: int, fence: int) -> bool:
    """Whether the lease is valid and its run still waits for the results."""
    return _leased_rows(session, batch, fence).filter(run__state__in=_ACTIVE_RUN_STATES).exists()


def store_results(machine_id: int, session: int, batch: int, fence: int, payload: object) -> bool:
    """Store the results of a batch.

    Args:
        machine_id: Machine of the agent.
        session: Id of the agent's connection.
        batch: Id of the leased batch.
        fence: Number of the lease.
        payload: The message as received.

    Returns:
        False if the lease is not valid any more: the results are discarded.

    Raises:
        ProtocolError: `payload` is not one valid result per experiment.
    """
    leased = _leased_rows(session, batch, fence).filter(machine=machine_id)
    row = leased.values_list("run", "content").first()
    if row is None:
        return False
    run_id, content = row
    results = read_results(content, payload)
    stored = leased.update(
        state=BatchRow.State.DONE, results=results, content=_without_code(content), finished=timezone.now()
    )
    wakeups.announce(wakeups.results_topic(run_id))
    return bool(stored)


def requeue(machine_id: int, note: str) -> None:
    """Let the batches that the machine was measuring wait again; `note` is the reason."""
    leased_rows = BatchRow.objects.filter(machine=machine_id, state=BatchRow.State.LEASED)
    leased_rows.update(state=BatchRow.State.WAITING, note=note[:TEXT_LIMIT])


def cancel(rows: QuerySet[BatchRow]) -> None:
    """Withdraw the batches that have no results yet."""
    pending = rows.filter(state__in=(BatchRow.State.WAITING, BatchRow.State.LEASED))
    with transaction.atomic():
        machines = set(pending.order_by().values_list("machine", flat=True))
        pending.update(state=BatchRow.State.CANCELLED, content={"items": []}, finished=timezone.now())
        for machine_id in machines:
            wakeups.announce(wakeups.batches_topic(machine_id))


def delete_finished() -> None:
    """Delete the batches of finished runs: their results are stored as measurements."""
    finished = BatchRow.objects.filter(run__state__in=Run.FINAL)
    if finished.exists():  # usually false, and a DELETE would take the write lock
        finished.delete()


def _leased_rows(session: int, batch: int, fence: int) -> QuerySet[BatchRow]:
    return BatchRow.objects.filter(pk=batch, session=session, fence=fence, state=BatchRow.State.LEASED)


def _fail_exhausted(unchanged: QuerySet[BatchRow]) -> None:
    row = unchanged.first()
    if row is not None:
        note = f"given up after {row.attempts} attempts; the last time, {row.note or 'no results came'}"
        unchanged.update(state=BatchRow.State.FAILED, note=note[:TEXT_LIMIT], finished=timezone.now())
        wakeups.announce(wakeups.results_topic(row.run_id))


def _without_code(content: Json) -> Json:
    """The ids and terms of the items: their machine code is not needed after the measurement."""
    items: Sequence[Json] = content["items"]
    return {"items": [{"id": item["id"], "terms": item["terms"]} for item in items]}
