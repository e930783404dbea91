"""The Pareto front of a re-fit: error × volume × number of µop kinds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from inference.core.pmevo.refit.usage import Usage

WORTH = 0.01
"""Share of the error that one kind of µop less is worth in the choice of a mapping.

Fewer kinds predict unseen mixes better at the same error on those learnt from, as long as there are enough.
"""

_NARROWER = 0.97  # of mappings with equally many kinds, a less accurate one needs a volume below this share


@dataclass(frozen=True, eq=False)
class RefitPoint:
    """A mapping of a re-fit; `usage` is a copy that does not change.

    Attributes:
        error: D_avg, a fraction.
        volume: µop volume of all schemes, not of the representatives alone.
        issue_width: Slots per cycle, None where the slots in `usage` do not count.
    """

    error: float
    volume: int
    usage: Usage
    issue_width: float | None = None

    @cached_property
    def kinds(self) -> int:
        return len(self.usage.kinds())

    @property
    def objectives(self) -> tuple[float, int, int]:
        return self.error, self.volume, self.kinds

    @property
    def cost(self) -> float:
        """What the choice of a mapping minimises: the error, raised by `WORTH` for every kind."""
        return self.error * (1 + WORTH * self.kinds)


def add_point(front: Sequence[RefitPoint], point: RefitPoint) -> tuple[RefitPoint, ...]:
    """The front with one more point, unless one dominates it; without the points that it dominates."""
    if any(_no_worse(other, point) for other in front):
        return tuple(front)
    return (*(other for other in front if not _no_worse(point, other)), point)


def _no_worse(first: RefitPoint, second: RefitPoint) -> bool:
    return all(a <= b for a, b in zip(first.objectives, second.objectives, strict=True))


def sparse_front(points: Iterable[RefitPoint]) -> tuple[RefitPoint, ...]:
    """The front of all points, most accurate first, without points that hardly differ from another."""
    front: tuple[RefitPoint, ...] = ()
    for point in sorted(points, key=lambda point: point.objectives):
        front = add_point(front, point)
    volume_by_kinds: dict[int, int] = {}
    result = []
    for point in sorted(front, key=lambda point: point.objectives):
        if point.kinds in volume_by_kinds and point.volume > _NARROWER * volume_by_kinds[point.kinds]:
            continue
        volume_by_kinds[point.kinds] = point.volume
        result.append(point)
    return tuple(result)


def force_point(front: Sequence[RefitPoint], true: RefitPoint) -> tuple[RefitPoint, ...]:
    """The front with a point that stays on it even if dominated, without the points that it dominates."""
    unbeaten = (point for point in front if not _no_worse(true, point))
    return tuple(sorted((*unbeaten, true), key=lambda point: point.objectives))


def cheapest(front: Iterable[RefitPoint]) -> RefitPoint:
    """The point with the lowest cost, which becomes the result."""
    return min(front, key=lambda point: (point.cost, point.objectives))
