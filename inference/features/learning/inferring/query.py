"""The Pareto front of an inference, found from any mapping on it or from its run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inference.core.errors import InvalidInputError
from inference.models import FrontPoint, Run
from inference.models import PortMapping as PortMappingRow
from inference.storage.names import UnknownNameError, nearest_names


@dataclass(frozen=True)
class StoredFront:
    """The points of a front, the most accurate first, and the mapping of the run that found it.

    `here` is the point that is looked at: the one that the mapping asked about is, if any.
    """

    owner: PortMappingRow
    points: Sequence[FrontPoint]
    here: FrontPoint | None = None

    @property
    def judged(self) -> bool:
        """Whether there was something to judge the points by that they were not made from."""
        return any(point.mape is not None for point in self.points)


def front_of(row: PortMappingRow) -> StoredFront | None:
    """The front that a mapping was found with or picked from; None where there is none."""
    own = FrontPoint.objects.filter(picked=row).select_related("mapping").defer("content", "judged").first()
    owner = row if own is None else own.mapping
    rows = owner.front.select_related("picked").defer("content", "judged", "picked__report")
    points = list(rows.order_by("place"))
    return StoredFront(owner, points, own) if points else None


def front_named(name: str) -> StoredFront:
    """By the name of a mapping or of a run.

    Raises `UnknownNameError`, and `InvalidInputError` where that has no front.
    """
    row = PortMappingRow.objects.filter(name=name).first()
    front = None if row is None else front_of(row)
    if front is not None:
        return front
    run = Run.objects.filter(name=name).first()
    made = None if run is None else PortMappingRow.objects.filter(run=run).first()
    front = None if made is None else front_of(made)
    if front is not None:
        return front
    if row is None and run is None:
        near = [*nearest_names(PortMappingRow, name), *nearest_names(Run, name)]
        raise UnknownNameError("port mapping or run", name, list(dict.fromkeys(near))[:3])
    raise InvalidInputError(
        f"{name!r} has no front: runs of PMEvo have one where they re-fit (--set search=refit or both)"
    )


def point_with(front: StoredFront, kinds: int, volume: int | None = None) -> FrontPoint:
    """The most accurate point with so many distinct µops, and that volume where one is given.

    Raises `InvalidInputError` that tells which there are.
    """
    fitting = [point for point in front.points if point.kinds == kinds]
    found = [point for point in fitting if volume is None or point.volume == volume]
    if found:
        return found[0]
    if fitting:
        volumes = ", ".join(str(point.volume) for point in fitting)
        raise InvalidInputError(
            f"no point has {kinds} kinds and volume {volume}; with {kinds} kinds: {volumes}"
        )
    there = ", ".join(map(str, sorted({point.kinds for point in front.points})))
    raise InvalidInputError(f"no point of the front has {kinds} distinct µops; there are {there}")
