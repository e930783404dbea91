"""What drift checks show goes into the run's journal, and contradicted results give way to the new ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from django.db import transaction

from inference.core.event import Event
from inference.core.events import Log
from inference.core.experiment import Measured
from inference.measuring.drift import DriftCheck, DriftComparison, DriftVerdict
from inference.models import ISA, Batch, ExperimentSet, Machine, Measurement
from inference.runs.errors import LeaseLostError
from inference.runs.events import DriftChecked
from inference.runs.journal import Lease, held
from inference.storage.rows import store_experiments, store_measurements

# Why a run waits for a machine, in words; each reason is told once, and its end.


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
    others = Batch.objects.filter(machine=machine, state=Batch.State.LEASED).exclude(run=run_id)
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


class DriftJournal:
    """Takes the rounds of one attempt of a run.

    The run that is under way goes on with the answer it was given; what is stored is the amended one, whose
    note has the number before, and the journal has all of them. Raises `LeaseLostError` where the run is
    somebody else's now.
    """

    def __init__(self, lease: Lease, isa: ISA, emit: Callable[[Event], None]) -> None:
        self._lease = lease
        self._isa = isa
        self._emit = emit

    def __call__(self, check: DriftCheck) -> None:
        """Store a round."""
        for before, result in check.amended:
            self._amend(before, result)
        self._emit(DriftChecked.of(check))
        for each in check.compared:
            if each.verdict in {DriftVerdict.REPLACED, DriftVerdict.UNSETTLED}:
                self._emit(Log("warning", _told(each)))

    def _amend(self, before: float, result: Measured) -> None:
        """Put the new result where the contradicted one is; rows are never changed, so it is another row."""
        with transaction.atomic():
            # Matching the row also locks it: nobody can take the run over meanwhile.
            if not held(self._lease).update(lease_token=self._lease.token):
                raise LeaseLostError(self._lease.run_id, self._lease.token)
            experiment = store_experiments(self._isa, [result.experiment])[result.experiment]
            contradicted = Measurement.objects.filter(
                experiment_set__run=self._lease.run_id,
                experiment=experiment,
                state=Measurement.State.SETTLED,
                cycles=before,
            )
            for row, made, repeat in contradicted.values_list("pk", "experiment_set", "repeat"):
                Measurement.objects.filter(pk=row).delete()
                store_measurements(ExperimentSet.objects.get(pk=made), [result], repeat)


def _told(comparison: DriftComparison) -> str:
    again = " and ".join(f"{cycles:.4g}" for cycles in comparison.after)
    what = (
        "the last number replaces it"
        if comparison.verdict is DriftVerdict.REPLACED
        else "it counts as unsettled"
    )
    return (
        f"{comparison.experiment}: {comparison.before:.4g} cycles before, measured again as {again}: {what}"
    )
