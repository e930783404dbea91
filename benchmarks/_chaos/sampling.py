"""Looks at the leases again and again while runs are disturbed: some things can only be seen meanwhile."""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import dataclass, field

from django.db import Error, connection

from inference.models import Run

EVERY = 0.1  # seconds between looks


@dataclass
class Sampling:
    """What was seen: who held each lease, and whatever went backwards.

    A thread with a connection of its own looks.
    """

    holders: dict[tuple[int, int], set[str]] = field(default_factory=lambda: defaultdict(set))
    backwards: dict[int, str] = field(default_factory=dict)
    _seen: dict[int, tuple[int, int, str]] = field(default_factory=dict)
    _over: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        self._thread = threading.Thread(target=self._look, name="sampling", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        """Note every run's lease again and again, until it is stopped."""
        while not self._over.wait(EVERY):
            try:
                rows = Run.objects.values_list("pk", "lease_token", "next_seq", "state", "worker")
                for row in rows.order_by("pk"):
                    self.note(*row)
            except Error:  # the disk is full, or the connection was cut
                connection.close()
        connection.close()

    def note(self, run: int, token: int, seq: int, state: str, worker: str) -> None:
        """One look at one run."""
        if state == Run.State.RUNNING:
            self.holders[run, token].add(worker)
        before = self._seen.get(run, (0, 0, ""))
        if token < before[0]:
            self.backwards[run] = f"its lease went from number {before[0]} to {token}"
        elif seq < before[1]:
            self.backwards[run] = f"its journal went from number {before[1]} to {seq}"
        elif before[2] in Run.FINAL and state != before[2]:
            self.backwards[run] = f"it was {before[2]}, and then {state}"
        self._seen[run] = token, seq, state
