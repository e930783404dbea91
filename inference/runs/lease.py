"""The right to work on a run, as a value that travels to the process that does the work."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on a run, a value that travels to the process of the run.

    `claimed` is the moment of the claim and `busy_before` the seconds that earlier holders worked, so that
    every holder of this value can say how long the run has been worked on. The moment is one of the clock
    that nobody sets, the same in all processes of a computer: a lease does not travel further. `kind`: the
    run's, so that what it needs can be loaded before anybody looks at the run.
    """

    run_id: int
    token: int
    worker: str
    busy_before: float = 0.0
    claimed: float = field(default_factory=time.monotonic)
    kind: str = ""

    def busy_seconds(self) -> float:
        """Seconds of work on this run so far, over all attempts."""
        return self.busy_before + time.monotonic() - self.claimed

    def as_text(self) -> str:
        """For the process that does the run."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Lease:
        """Back from `as_text`."""
        return cls(**json.loads(text))
