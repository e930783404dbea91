"""Where a run posts batches for one machine and waits for their results: a `BatchBoard` over the database.

Rows of batches that are done stay until the run is over: whenever its process dies, its next attempt finds in
them whatever it had not yet stored as measurements.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from inference.agent.protocol import MAX_ITEMS, MAX_MESSAGE_BYTES, Batch, Result, encode
from inference.core.errors import MeasuringError
from inference.core.protocols import Json
from inference.models import Batch as BatchRow
from inference.models import Machine, Run
from inference.runs import wakeups
from inference.runs.errors import LeaseLostError
from inference.runs.journal import Lease, held
from inference.runs.machines.checking import TEXT_LIMIT, read_results
from inference.runs.machines.drift import Say, WaitTeller, reason_of

# Batches are leased to an agent's connection, given back, done, or given up.
#
# Every lease has a number, the batch's `fence`. Results count only under the newest, and only from the
# connection that holds it: an agent may send them twice, and nothing is stored twice.


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
    wakeups.announce_results(run_id)
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
            wakeups.announce_batches(machine_id)


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
        wakeups.announce_results(row.run_id)


def _reduced(content: Json) -> Json:
    """What tells which result belongs to which experiment; the machine code has done its duty."""
    items: Sequence[Json] = content["items"]
    return {"items": [{"id": item["id"], "terms": item["terms"]} for item in items]}


LOOK_EVERY = 0.5
"""Seconds after which it looks for results if nothing woke it."""

_SLICE = 0.1  # seconds between two pulses
_ENVELOPE = 200  # bytes around a batch in its message
_OVER = (BatchRow.State.DONE, BatchRow.State.FAILED, BatchRow.State.CANCELLED)


class DatabaseBoard:
    """The batches of one attempt at a run, on one machine.

    `pulse` is called several times a second while it waits and raises `InterruptedRunError` when the run
    shall stop; `say` tells its user why it waits, and when that is over. What earlier attempts left
    unmeasured is withdrawn.
    """

    def __init__(self, lease: Lease, machine: Machine, pulse: Callable[[], None], say: Say) -> None:
        self._lease = lease
        self._machine = machine
        self._pulse = pulse
        self._teller = WaitTeller(machine.name, say)
        self._outstanding: set[int] = set()
        self._wakeup = wakeups.wakeup_for_results(lease.run_id)
        cancel(self._earlier_batches())

    def post(self, batch: Batch) -> int:
        """Post a batch; the number under which its results will come.

        Raises `LeaseLostError` where the run is somebody else's now, `MeasuringError` where the machine is
        gone, and `ValueError` for a batch that no agent would take.
        """
        content = batch.as_json()
        _check(batch, content)
        with transaction.atomic():
            # Matching the row also locks it: nobody can take the run over before this batch is in.
            if not held(self._lease).update(lease_token=self._lease.token):
                raise LeaseLostError(self._lease.run_id, self._lease.token)
            self._machine_now()
            row = BatchRow.objects.create(
                machine_id=self._machine.pk,
                run_id=self._lease.run_id,
                run_token=self._lease.token,
                content=content,
                size=len(batch.items),
            )
            wakeups.announce_batches(self._machine.pk)
        self._outstanding.add(row.pk)
        return row.pk

    def collect(self) -> tuple[int, Sequence[Result]]:
        """Wait for any of the posted batches that has not been collected yet.

        Raises what `pulse` raises, `LeaseLostError`, and `MeasuringError` where nothing will ever come.
        """
        if not self._outstanding:
            raise ValueError("every batch that was posted has been collected")
        while (found := self._found()) is None:
            if not self._rests():
                self._see_why()
        number, state, results, note = found
        self._outstanding.discard(number)
        if state == BatchRow.State.FAILED:
            raise MeasuringError(f"{self._machine} does not measure what it is given: {note}")
        if state != BatchRow.State.DONE:
            self._withdrawn()
        if self._teller.has_told:
            self._teller.comes(reason_of(self._machine_now(), self._lease.run_id))
        return number, [Result(**result) for result in results or ()]

    def earlier(self) -> Mapping[str, Result]:
        """Results that came for earlier attempts of the same run, the newest of each item by its id."""
        results: dict[str, Result] = {}
        done = self._earlier_batches().filter(state=BatchRow.State.DONE, machine=self._machine.pk)
        for found in done.order_by("id").values_list("results", flat=True).iterator():
            results |= {result["id"]: Result(**result) for result in found or ()}
        return results

    def close(self) -> None:
        """Withdraw what has not been collected."""
        cancel(BatchRow.objects.filter(pk__in=self._outstanding))
        self._outstanding.clear()
        self._wakeup.close()

    def _earlier_batches(self) -> QuerySet[BatchRow]:
        return BatchRow.objects.filter(run=self._lease.run_id, run_token__lt=self._lease.token)

    def _found(self) -> tuple[int, str, list[Json] | None, str] | None:
        """Number, state, results and note of a batch for which no more waiting is needed."""
        rows = BatchRow.objects.filter(pk__in=self._outstanding, state__in=_OVER)
        return rows.order_by("id").values_list("pk", "state", "results", "note").first()

    def _rests(self) -> bool:
        """Until it is woken or it is time to look again; whether it was."""
        until = time.monotonic() + LOOK_EVERY
        while time.monotonic() < until:
            self._pulse()
            if self._wakeup.wait(_SLICE):
                return True
        return False

    def _see_why(self) -> None:
        """Nothing came: either there is a reason to wait, or there never will be anything."""
        machine = self._machine_now()
        if machine.state == Machine.State.UNFIT and machine.is_online():
            raise MeasuringError(f"{machine} cannot measure: {machine.state_note or 'it does not say why'}")
        if BatchRow.objects.filter(pk__in=self._outstanding).count() < len(self._outstanding):
            self._withdrawn()
        self._teller.waits(reason_of(machine, self._lease.run_id))

    def _machine_now(self) -> Machine:
        machine = Machine.objects.filter(pk=self._machine.pk).first()
        if machine is None:
            raise MeasuringError(f"{self._machine} has been removed: its measurements will not come")
        return machine

    def _withdrawn(self) -> NoReturn:
        """Somebody took batches off this board, which only a newer attempt does, or the end of the run."""
        raise LeaseLostError(self._lease.run_id, self._lease.token)


def _check(batch: Batch, content: Json) -> None:
    ids = {item.id for item in batch.items}
    if not 1 <= len(batch.items) <= MAX_ITEMS or len(ids) < len(batch.items):
        raise ValueError(f"a batch has 1 to {MAX_ITEMS} experiments with ids of their own")
    size = len(encode("batch", content=content)) + _ENVELOPE
    if size > MAX_MESSAGE_BYTES:
        raise ValueError(f"a batch has at most {MAX_MESSAGE_BYTES} bytes as a message, not {size}")
