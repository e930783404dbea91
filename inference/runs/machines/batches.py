"""Batches are leased to an agent's connection, given back, done, or given up.

Every lease has a number, the batch's `fence`. Results count only under the newest, and only from the
connection that holds it: an agent may send them twice, and nothing is stored twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from inference.core.protocols import Json
from inference.models import Batch as BatchRow
from inference.models import Machine, Run
from inference.runs import wakeups
from inference.runs.machines.checking import TEXT_LIMIT, read_results

MAX_ATTEMPTS = 5
"""Leases of a batch without results, after which it is given up."""

_GOES_ON = (Run.State.RUNNING, Run.State.QUEUED)
"""Runs for which what is being measured is still of use: in the queue, they wait for their next attempt."""

_MEASURES = tuple(state for state in Machine.State if state != Machine.State.UNFIT)


@dataclass(frozen=True)
class Leased:
    """A batch in the hands of one connection."""

    batch: int
    fence: int
    content: Json


def lease(machine_id: int, session: int) -> Leased | None:
    """Give the connection the oldest batch that waits for its machine, None where there is none.

    Nothing is given to a machine that cannot measure, nor for a run that has ended or begun anew.
    """
    candidates = BatchRow.objects.filter(
        machine=machine_id,
        machine__session=session,
        machine__state__in=_MEASURES,
        state=BatchRow.State.WAITING,
        run__state=Run.State.RUNNING,
        run__lease_token=F("run_token"),
    )
    # Columns instead of objects, here and below: on this way every millisecond is one per experiment.
    columns = candidates.order_by("id").values_list("pk", "fence", "attempts", "content")
    while (found := columns.first()) is not None:
        number, fence, attempts, content = found
        unchanged = BatchRow.objects.filter(pk=number, state=BatchRow.State.WAITING, fence=fence)
        if attempts >= MAX_ATTEMPTS:
            _give_up(unchanged)
            continue
        # Not without the machine's row: a newer connection may just have begun, and would wait for this one.
        with transaction.atomic():
            speaks = Machine.objects.select_for_update(no_key=True).filter(pk=machine_id, session=session)
            if speaks.values_list("pk").first() is None:
                return None
            taken = unchanged.update(
                state=BatchRow.State.LEASED, session=session, fence=fence + 1, attempts=attempts + 1
            )
        if taken:
            return Leased(number, fence + 1, content)
    return None


def keep(machine_id: int, session: int, batch: int, fence: int) -> bool:
    """Let a new connection of the same agent keep its lease; whether nobody has been given it since."""
    waiting = BatchRow.objects.filter(pk=batch, machine=machine_id, state=BatchRow.State.WAITING)
    rows = waiting.filter(fence=fence, attempts__gt=0, run__state__in=_GOES_ON)
    return bool(rows.update(state=BatchRow.State.LEASED, session=session))


def is_wanted(session: int, batch: int, fence: int) -> bool:
    """Whether the lease holds and anybody still waits for its results."""
    return _leased(session, batch, fence).filter(run__state__in=_GOES_ON).exists()


def take_results(machine_id: int, session: int, batch: int, fence: int, given: object) -> bool:
    """Store the results of a batch; False where nobody wants them under this lease: they are thrown away.

    Raises `ProtocolError` where they are not exactly one sound result per experiment.
    """
    leased = _leased(session, batch, fence).filter(machine=machine_id)
    found = leased.values_list("run", "content").first()
    if found is None:
        return False
    run_id, content = found
    results = read_results(content, given)
    stored = leased.update(
        state=BatchRow.State.DONE, results=results, content=_reduced(content), finished=timezone.now()
    )
    wakeups.announce(wakeups.results_of(run_id))
    return bool(stored)


def give_back(machine_id: int, note: str) -> None:
    """Whatever the machine was measuring waits again."""
    held = BatchRow.objects.filter(machine=machine_id, state=BatchRow.State.LEASED)
    held.update(state=BatchRow.State.WAITING, note=note[:TEXT_LIMIT])


def cancel(rows: QuerySet[BatchRow]) -> None:
    """Withdraw those of the batches that have no results yet."""
    pending = rows.filter(state__in=(BatchRow.State.WAITING, BatchRow.State.LEASED))
    with transaction.atomic():
        machines = set(pending.order_by().values_list("machine", flat=True))
        pending.update(state=BatchRow.State.CANCELLED, content={"items": []}, finished=timezone.now())
        for machine_id in machines:
            wakeups.announce(wakeups.batches_of(machine_id))


def sweep() -> None:
    """Remove the batches of runs that are over: their results have been stored as measurements."""
    over = BatchRow.objects.filter(run__state__in=Run.FINAL)
    if over.exists():  # most of the time there is nothing, and nothing needs to be locked
        over.delete()


def _leased(session: int, batch: int, fence: int) -> QuerySet[BatchRow]:
    return BatchRow.objects.filter(pk=batch, session=session, fence=fence, state=BatchRow.State.LEASED)


def _give_up(unchanged: QuerySet[BatchRow]) -> None:
    row = unchanged.first()
    if row is not None:
        note = f"given up after {row.attempts} attempts; the last time, {row.note or 'no results came'}"
        unchanged.update(state=BatchRow.State.FAILED, note=note[:TEXT_LIMIT], finished=timezone.now())
        wakeups.announce(wakeups.results_of(row.run_id))


def _reduced(content: Json) -> Json:
    """What tells which result belongs to which experiment; the machine code has done its duty."""
    items: Sequence[Json] = content["items"]
    return {"items": [{"id": item["id"], "terms": item["terms"]} for item in items]}
