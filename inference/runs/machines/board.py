"""A run's batches for one machine: posting, waiting, and reasons to wait; a `BatchBoard` over the database.

Rows of finished batches stay until the run has ended: after its process died, the next attempt reads results
from them that had not been stored as measurements.
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
from inference.runs.journal import Lease, fenced_rows
from inference.runs.machines.batches import cancel

REPORT_DELAY = 2.0
"""Seconds that a reason must last before it is reported."""


ReportWait = Callable[[str, bool], None]
"""(text, whether the run waits from now on)."""


@dataclass(frozen=True)
class WaitReason:
    """Why no results come. Equal `kind` is the same reason: the text of a disturbance changes constantly."""

    kind: str
    text: str


NO_REASON = WaitReason("", "")


def wait_reason(machine: Machine, run_id: int) -> WaitReason:
    """Why a machine does not answer this run; `NO_REASON` if it is working or about to work for it."""
    if not machine.is_online():
        return WaitReason("offline", f"waiting for {machine}: it is offline")
    if machine.state == Machine.State.CONTENDED:
        note = f" ({machine.state_note})" if machine.state_note else ""
        return WaitReason("disturbed", f"waiting for {machine}: it is disturbed by other work{note}")
    other_batches = BatchRow.objects.filter(machine=machine, state=BatchRow.State.LEASED).exclude(run=run_id)
    other_run = other_batches.values_list("run__pk", "run__name").first()
    if other_run is not None:
        return WaitReason(
            f"busy with {other_run[0]}", f"waiting for {machine}: it is measuring for {other_run[1]!r}"
        )
    return NO_REASON


class WaitReporter:
    """Reports to a run's user why it waits, and when the wait is over."""

    def __init__(self, machine: str, report: ReportWait, clock: Callable[[], float] = time.monotonic) -> None:
        self._machine = machine
        self._report = report
        self._clock = clock
        self._current = NO_REASON
        self._since = clock()
        self._reported = NO_REASON

    def record_wait(self, reason: WaitReason) -> None:
        """No results have come, for this reason."""
        now = self._clock()
        if reason.kind != self._current.kind:
            self._since = now
        self._current = reason
        if reason.kind == self._reported.kind or now - self._since < REPORT_DELAY:
            return
        self._reported = reason
        if reason.kind:
            self._report(reason.text, True)
        else:
            self._report_end()

    @property
    def is_wait_reported(self) -> bool:
        return bool(self._reported.kind)

    def record_results(self, reason: WaitReason) -> None:
        """Results have come; `reason` may still delay the next ones."""
        self._current, self._since = reason, self._clock()
        if self.is_wait_reported and not reason.kind:
            self._reported = NO_REASON
            self._report_end()

    def _report_end(self) -> None:
        self._report(f"{self._machine} is back", False)


POLL_INTERVAL = 0.5
"""Seconds between queries for results without a wake-up."""

_PULSE_INTERVAL = 0.1  # seconds
_ENVELOPE_BYTES = 200  # bytes around a batch in its message
_FINAL_STATES = (BatchRow.State.DONE, BatchRow.State.FAILED, BatchRow.State.CANCELLED)


class DatabaseBoard:
    """The batches of one attempt at a run, on one machine.

    Unmeasured batches of earlier attempts are withdrawn.

    Args:
        lease: Lease of the attempt.
        machine: A machine with an agent.
        pulse: Called every 0.1 s while the board waits; raises `InterruptedRunError` when the run shall stop.
        report: Reports why the run waits, and the end of the wait.
    """

    def __init__(self, lease: Lease, machine: Machine, pulse: Callable[[], None], report: ReportWait) -> None:
        self._lease = lease
        self._machine = machine
        self._pulse = pulse
        self._wait_reporter = WaitReporter(machine.name, report)
        self._outstanding: set[int] = set()
        self._wakeup = wakeups.Wakeup(wakeups.results_topic(lease.run_id))
        cancel(self._earlier_batches())

    def post(self, batch: Batch) -> int:
        """Post a batch; returns its number, which `collect` returns with the results.

        Raises:
            LeaseLostError: Another worker has claimed the run.
            MeasuringError: The machine was deleted.
            ValueError: The batch is empty, too large, or has an id twice.
        """
        content = batch.as_json()
        _check(batch, content)
        with transaction.atomic():
            # Matching the row also locks it: no worker can claim the run before this batch is stored.
            if not fenced_rows(self._lease).update(lease_token=self._lease.token):
                raise LeaseLostError(self._lease.run_id, self._lease.token)
            self._reload_machine()
            row = BatchRow.objects.create(
                machine_id=self._machine.pk,
                run_id=self._lease.run_id,
                run_token=self._lease.token,
                content=content,
                size=len(batch.items),
            )
            wakeups.announce(wakeups.batches_topic(self._machine.pk))
        self._outstanding.add(row.pk)
        return row.pk

    def collect(self) -> tuple[int, Sequence[Result]]:
        """Wait for a posted batch that has not been collected; returns its number and results.

        Raises:
            InterruptedRunError: Raised by `pulse`.
            LeaseLostError: The batches were withdrawn.
            MeasuringError: The machine was deleted, cannot measure, or failed the batch.
        """
        if not self._outstanding:
            raise ValueError("every batch that was posted has been collected")
        while (finished := self._finished_batch()) is None:
            if not self._wait_for_wakeup():
                self._check_machine()
        number, state, results, note = finished
        self._outstanding.discard(number)
        if state == BatchRow.State.FAILED:
            raise MeasuringError(f"{self._machine} does not measure what it is given: {note}")
        if state != BatchRow.State.DONE:
            self._raise_withdrawn()
        if self._wait_reporter.is_wait_reported:
            self._wait_reporter.record_results(wait_reason(self._reload_machine(), self._lease.run_id))
        return number, [Result(**result) for result in results or ()]

    def earlier(self) -> Mapping[str, Result]:
        """{item id: newest result} of earlier attempts at the same run."""
        results: dict[str, Result] = {}
        finished_batches = self._earlier_batches().filter(state=BatchRow.State.DONE, machine=self._machine.pk)
        for stored in finished_batches.order_by("id").values_list("results", flat=True).iterator():
            results |= {result["id"]: Result(**result) for result in stored or ()}
        return results

    def close(self) -> None:
        """Withdraw the batches that have not been collected."""
        cancel(BatchRow.objects.filter(pk__in=self._outstanding))
        self._outstanding.clear()
        self._wakeup.close()

    def _earlier_batches(self) -> QuerySet[BatchRow]:
        return BatchRow.objects.filter(run=self._lease.run_id, run_token__lt=self._lease.token)

    def _finished_batch(self) -> tuple[int, str, list[Json] | None, str] | None:
        """Number, state, results and note of a finished batch; None if all are still outstanding."""
        rows = BatchRow.objects.filter(pk__in=self._outstanding, state__in=_FINAL_STATES)
        return rows.order_by("id").values_list("pk", "state", "results", "note").first()

    def _wait_for_wakeup(self) -> bool:
        """Wait for a wake-up, at most `POLL_INTERVAL` seconds; whether it came."""
        until = time.monotonic() + POLL_INTERVAL
        while time.monotonic() < until:
            self._pulse()
            if self._wakeup.wait(_PULSE_INTERVAL):
                return True
        return False

    def _check_machine(self) -> None:
        """Record why no results came. Raises `MeasuringError` or `LeaseLostError` if none ever will."""
        machine = self._reload_machine()
        if machine.state == Machine.State.UNFIT and machine.is_online():
            raise MeasuringError(f"{machine} cannot measure: {machine.state_note or 'it does not say why'}")
        if BatchRow.objects.filter(pk__in=self._outstanding).count() < len(self._outstanding):
            self._raise_withdrawn()
        self._wait_reporter.record_wait(wait_reason(machine, self._lease.run_id))

    def _reload_machine(self) -> Machine:
        machine = Machine.objects.filter(pk=self._machine.pk).first()
        if machine is None:
            raise MeasuringError(f"{self._machine} has been removed: its measurements will not come")
        return machine

    def _raise_withdrawn(self) -> NoReturn:
        """Batches are withdrawn only by a newer attempt or at the end of the run."""
        raise LeaseLostError(self._lease.run_id, self._lease.token)


def _check(batch: Batch, content: Json) -> None:
    ids = {item.id for item in batch.items}
    if not 1 <= len(batch.items) <= MAX_ITEMS or len(ids) < len(batch.items):
        raise ValueError(f"a batch has 1 to {MAX_ITEMS} experiments with distinct ids")
    size = len(encode("batch", content=content)) + _ENVELOPE_BYTES
    if size > MAX_MESSAGE_BYTES:
        raise ValueError(f"a batch has at most {MAX_MESSAGE_BYTES} bytes as a message, not {size}")
