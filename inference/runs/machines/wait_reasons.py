"""Why a run waits for a machine, in words; each reason is told once, and its end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from inference.models import Batch, Machine

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
