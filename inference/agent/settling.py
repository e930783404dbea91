"""When an experiment's time has settled."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

from inference.agent.process import HungError, LostError
from inference.agent.protocol import Item, Result, Settings

KILLS = 3
"""How often an item's process may be killed from outside before the item itself is blamed."""
_RELATIVE_TOLERANCE = 0.005  # of slow experiments, where the absolute one asks for too much


@dataclass
class Candidate:
    """An item with the cycles that its passes have shown so far.

    `crude` ones are of a timing that made no sense. `agreeing`: how many passes must agree.
    """

    item: Item
    agreeing: int = 2
    cycles: list[float] = field(default_factory=list)
    passes: int = 0
    crude: float | None = None
    failure: str = ""
    kills: int = 0

    def has_settled(self, settings: Settings) -> bool:
        """Whether enough passes agree within the tolerance."""
        if len(self.cycles) < max(settings.min_passes, self.agreeing):
            return False
        chosen = self._chosen()
        tolerance = max(settings.tolerance * self.item.instructions, _RELATIVE_TOLERANCE * chosen[0])
        return chosen[-1] - chosen[0] <= tolerance

    def _chosen(self) -> list[float]:
        """The passes that agree best, as many as must agree, in ascending order."""
        ordered = sorted(self.cycles)
        width = min(self.agreeing, len(ordered))
        windows = [ordered[start : start + width] for start in range(len(ordered) - width + 1)]
        return min(windows, key=lambda window: window[-1] - window[0])

    def is_over(self, settings: Settings) -> bool:
        """Whether another pass would change nothing, or is one too many."""
        return bool(self.failure or self.has_settled(settings) or self.passes >= max(settings.max_passes, 2))

    def is_to_blame(self, end: HungError | LostError) -> bool:
        """Whether this item ended its process; being killed from outside is no proof at first."""
        self.kills += 1
        if isinstance(end, LostError) and not end.guilty and self.kills <= KILLS:
            return False
        self.failure = str(end)
        return True

    def result(self, settings: Settings, trouble: str) -> Result:
        """What there is to say at the end; `trouble` is what kept it from being measured further."""
        if self.failure:
            return Result(self.item.id, "failed", note=self.failure)
        if not self.cycles:
            note = trouble or "no pass gave a time that makes sense"
            if self.crude is None:
                return Result(self.item.id, "failed", note=note)
            return Result(self.item.id, "contended", self.crude, None, self.passes, note)
        cycles = statistics.median(self._chosen())
        spread = max(self.cycles) - min(self.cycles)
        if self.has_settled(settings):
            return Result(self.item.id, "settled", cycles, spread, self.passes)
        state, note = (
            ("contended", trouble) if trouble else ("unsettled", f"{self.passes} passes do not agree")
        )
        return Result(self.item.id, state, cycles, spread, self.passes, note)
