"""The right to work on a run, as a value that travels to the process that does the work."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import datetime

from django.utils import timezone


@dataclass(frozen=True, slots=True)
class Lease:
    """Whoever knows the run's current token holds its lease.

    `claimed` is the time of the claim and `busy_before` the seconds that earlier holders worked, so that
    every holder of this value can say how long the run has been worked on.
    """

    run_id: int
    token: int
    worker: str
    claimed: datetime
    busy_before: float = 0.0

    def busy_seconds(self) -> float:
        """Seconds of work on this run so far, over all attempts."""
        return self.busy_before + max(0.0, (timezone.now() - self.claimed).total_seconds())

    def as_text(self) -> str:
        """For the environment of a child process."""
        return json.dumps({**asdict(self), "claimed": self.claimed.isoformat()})

    @classmethod
    def from_text(cls, text: str) -> Lease:
        """Back from `as_text`."""
        facts = json.loads(text)
        return cls(**{**facts, "claimed": datetime.fromisoformat(facts["claimed"])})
