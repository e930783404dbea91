"""Which holders of ended leases are gone: those that renew none while somebody watches who could.

That a lease has ended does not say so by itself. All of them end at once where somebody sets the clock,
where the computer wakes from sleep or has stood still, or where a long transaction has kept everybody from
SQLite.
"""

from __future__ import annotations

import time
from datetime import datetime

from inference.models import Run

PATIENCE = 5.0
"""Seconds: twice what a living holder needs to renew its lease, once it can."""


class LeaseMonitor:
    """What one worker has seen of ended leases. It looks several times within `PATIENCE`, or sees nothing."""

    def __init__(self) -> None:
        self._since: dict[tuple[int, int, datetime | None], float] = {}
        self._looked = -float("inf")

    def begin(self) -> None:
        """Look, with the right to write. Whoever could not for so long knows nothing of the others."""
        now = time.monotonic()
        if now - self._looked > PATIENCE:
            self._since.clear()
        self._looked = now

    def is_gone(self, run: Run) -> bool:
        """Whether its holder has done nothing about the ended lease for long enough."""
        lease = (run.pk, run.lease_token, run.lease_until)
        return self._looked - self._since.setdefault(lease, self._looked) >= PATIENCE
