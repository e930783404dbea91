"""The Pareto front of a re-fit: error × volume × number of µop kinds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from inference.core.pmevo.refit.usage import Usage

WORTH = 0.01
"""Share of the error that one kind of µop less is worth, where one mapping has to be chosen.

Fewer kinds predict unseen mixes better at the same error on those learnt from, as long as there are enough.
"""

_NARROWER = (
    0.97  # of two mappings with as many kinds, one with more error stays for a volume below this share
)


@dataclass(frozen=True, eq=False)
class RefitPoint:
    """A mapping that a re-fit came past; `usage` does not change any more.

    `error`: D_avg, a fraction. `volume`: µop volume of all schemes, not of the representatives alone.
    `issue_width`: slots per cycle, None where the slots in `usage` do not count.
    """

    error: float
    volume: int
    usage: Usage
    issue_width: float | None = None

    @cached_property
    def kinds(self) -> int:
        """How many different port sets it uses."""
        return len(self.usage.kinds())

    @property
    def objectives(self) -> tuple[float, int, int]:
        return self.error, self.volume, self.kinds

    @property
    def cost(self) -> float:
        """What a choice minimises: the error, with `WORTH` on every kind."""
        return self.error * (1 + WORTH * self.kinds)


def with_point(front: Sequence[RefitPoint], point: RefitPoint) -> tuple[RefitPoint, ...]:
    """The front with one more point, unless it has one as good in everything; without what that beats."""
    if any(_no_worse(other, point) for other in front):
        return tuple(front)
    return (*(other for other in front if not _no_worse(point, other)), point)


def _no_worse(first: RefitPoint, second: RefitPoint) -> bool:
    return all(a <= b for a, b in zip(first.objectives, second.objectives, strict=True))


def thinned(points: Iterable[RefitPoint]) -> tuple[RefitPoint, ...]:
    """The front of all points, most accurate first, without what hardly differs from its neighbour."""
    front: tuple[RefitPoint, ...] = ()
    for point in sorted(points, key=lambda point: point.objectives):
        front = with_point(front, point)
    kept: dict[int, int] = {}
    result = []
    for point in sorted(front, key=lambda point: point.objectives):
        if point.kinds in kept and point.volume > _NARROWER * kept[point.kinds]:
            continue
        kept[point.kinds] = point.volume
        result.append(point)
    return tuple(result)


def with_true(front: Sequence[RefitPoint], true: RefitPoint) -> tuple[RefitPoint, ...]:
    """The front with a point that stays on it whatever others have, without what that beats."""
    rest = (point for point in front if not _no_worse(true, point))
    return tuple(sorted((*rest, true), key=lambda point: point.objectives))


def cheapest(front: Iterable[RefitPoint]) -> RefitPoint:
    """The point that a result is made of."""
    return min(front, key=lambda point: (point.cost, point.objectives))
