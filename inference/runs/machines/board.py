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
from django.db.models import QuerySet

from inference.agent.protocol import MAX_ITEMS, MAX_MESSAGE_BYTES, Batch, Result, encode
from inference.core.errors import MeasuringError
from inference.core.protocols import Json
from inference.models import Batch as BatchRow
from inference.models import Machine
from inference.runs import wakeups
from inference.runs.errors import LeaseLostError
from inference.runs.journal import Lease, held
from inference.runs.machines.batches import cancel

PATIENCE = 2.0
"""Seconds that a reason must last before it is worth a word."""


Say = Callable[[str, bool], None]
"""Tells a user something, and whether the run waits from now on."""


@dataclass(frozen=True)
class WaitReason:
    """Why nothing comes. Those of one `kind` are one reason: what disturbs a machine changes all the time."""

    kind: str
    text: str


NONE = WaitReason("", "")


def reason_of(machine: Machine, run_id: int) -> WaitReason:
    """What keeps a machine from answering this run; `NONE` where it is at work for it or will be at once."""
    if not machine.is_online():
        return WaitReason("offline", f"waiting for {machine}: it is offline")
    if machine.state == Machine.State.CONTENDED:
        note = f" ({machine.state_note})" if machine.state_note else ""
        return WaitReason("disturbed", f"waiting for {machine}: it is disturbed by other work{note}")
    others = BatchRow.objects.filter(machine=machine, state=BatchRow.State.LEASED).exclude(run=run_id)
    other = others.values_list("run__pk", "run__name").first()
    if other is not None:
        return WaitReason(f"busy with {other[0]}", f"waiting for {machine}: it is measuring for {other[1]!r}")
    return NONE


class WaitTeller:
    """Tells the user of a run why it waits, and when that is over."""

    def __init__(self, machine: str, say: Say, clock: Callable[[], float] = time.monotonic) -> None:
        self._machine = machine
        self._say = say
        self._clock = clock
        self._seen = NONE
        self._since = clock()
        self._told = NONE

    def waits(self, reason: WaitReason) -> None:
        """Nothing has come yet, for this reason."""
        now = self._clock()
        if reason.kind != self._seen.kind:
            self._since = now
        self._seen = reason
        if reason.kind == self._told.kind or now - self._since < PATIENCE:
            return
        self._told = reason
        if reason.kind:
            self._say(reason.text, True)
        else:
            self._say_over()

    @property
    def has_told(self) -> bool:
        """Whether the user still believes that there is a reason to wait."""
        return bool(self._told.kind)

    def comes(self, reason: WaitReason) -> None:
        """Results have come, though there may be a reason to wait for the next ones."""
        self._seen, self._since = reason, self._clock()
        if self.has_told and not reason.kind:
            self._told = NONE
            self._say_over()

    def _say_over(self) -> None:
        self._say(f"{self._machine} is back", False)


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
        self._wakeup = wakeups.Wakeup(wakeups.results_of(lease.run_id))
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
            wakeups.announce(wakeups.batches_of(self._machine.pk))
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
