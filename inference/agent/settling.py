"""Decides when the passes over an experiment have settled."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

from inference.agent.process import HungError, LostError
from inference.agent.protocol import BatchItem, Result, Settings

KILLS = 3
"""How often an item's process may be killed from outside before the item itself is blamed."""

_RELATIVE_TOLERANCE = 0.005  # of slow experiments, where the absolute one asks for too much


@dataclass
class SettlingItem:
    """An item with the cycles of its passes so far.

    Attributes:
        crude: Cycles of a disturbed timing.
        counted: {event: count in each pass}.
    """

    item: BatchItem
    cycles: list[float] = field(default_factory=list)
    passes: int = 0
    crude: float | None = None
    failure: str = ""
    kills: int = 0
    counted: dict[str, list[float]] = field(default_factory=dict)

    @property
    def has_time(self) -> bool:
        """Whether it has a time, a failure or a disturbed timing."""
        return bool(self.cycles or self.failure or self.crude is not None)

    def has_settled(self, settings: Settings) -> bool:
        """Whether enough passes agree within the tolerance: see `_agreeing_median`."""
        return self._agreeing_median(settings) is not None

    def _agreeing_median(self, settings: Settings) -> float | None:
        """The median of passes that agree: of the two fastest, or of the three after the very fastest.

        Nearly everything that disturbs makes code slower, now and then twice by the same amount; so slow
        passes prove nothing by agreeing, and one that is too fast has to be outvoted.
        """
        ordered = sorted(self.cycles)
        if len(ordered) < max(settings.min_passes, 2):
            return None
        for cluster in (ordered[:2], ordered[1:4]) if len(ordered) >= 4 else (ordered[:2],):
            tolerance = max(settings.tolerance * self.item.instructions, _RELATIVE_TOLERANCE * cluster[0])
            if cluster[-1] - cluster[0] <= tolerance:
                return statistics.median(cluster)
        return None

    def is_over(self, settings: Settings) -> bool:
        """Whether it needs no further pass: it failed, settled, or had `max_passes`."""
        return bool(self.failure or self.has_settled(settings) or self.passes >= max(settings.max_passes, 2))

    def record_end(self, end: HungError | LostError, *, first: bool = True) -> bool:
        """Record the end of the item's process; returns whether the item is to blame, and fails then.

        A kill from outside is no proof before `KILLS` of them, nor is any end where the item was not the
        `first` in the process, since an earlier one may have caused the damage. Such an item is timed again.
        """
        self.kills += 1
        if not (end.at_fault and first) and self.kills <= KILLS:
            return False
        self.failure = str(end)
        return True

    def result(self, settings: Settings, trouble: str) -> Result:
        """The final result. `trouble`: why measuring stopped early, "" if it did not."""
        if self.failure:
            return Result(self.item.id, "failed", note=self.failure)
        if not self.cycles:
            note = trouble or "no pass gave a time that makes sense"
            if self.crude is None:
                return Result(self.item.id, "failed", note=note)
            return Result(self.item.id, "contended", self.crude, None, self.passes, note)
        spread = max(self.cycles) - min(self.cycles)
        agreed = self._agreeing_median(settings)
        if agreed is not None:
            counters = {name: statistics.median(numbers) for name, numbers in self.counted.items()}
            return Result(self.item.id, "settled", agreed, spread, self.passes, counters=counters)
        cycles = statistics.median_low(self.cycles)
        state, note = (
            ("contended", trouble) if trouble else ("unsettled", f"{self.passes} passes do not agree")
        )
        return Result(self.item.id, state, cycles, spread, self.passes, note)
