"""The Pareto front of an inference by PMEvo: found from any mapping on it or from its run, on pages and in
the shell.

Each of its points can become a mapping of its own.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.management.base import CommandError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path

from inference.core.errors import InvalidInputError
from inference.core.pmevo.events import FrontObjectives
from inference.core.protocols import Json
from inference.figures.curves import DrawnPoint, front_figure
from inference.models import FrontPoint, PortMapping, Run
from inference.storage.errors import UnknownNameError
from inference.storage.names import nearest_names
from inference.storage.results import pick
from inference.web.data_command import DataCommand


@dataclass(frozen=True)
class StoredFront:
    """The points of a front, the most accurate first, and the mapping of the run that found it.

    `here` is the point that is looked at: the one that the mapping asked about is, if any.
    """

    owner: PortMapping
    points: Sequence[FrontPoint]
    here: FrontPoint | None = None


def front_of(row: PortMapping) -> StoredFront | None:
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
    mapping = PortMapping.objects.filter(name=name).first()
    run = Run.objects.filter(name=name).first()
    made = None if run is None else PortMapping.objects.filter(run=run).first()
    for row in filter(None, (mapping, made)):
        if front := front_of(row):
            return front
    if mapping is None and run is None:
        near = [*nearest_names(PortMapping, name), *nearest_names(Run, name)]
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


@dataclass(frozen=True)
class FrontLine:
    """A row of the table: a point, its row where it is stored, the mapping that it has become if any."""

    drawn: DrawnPoint
    point: FrontPoint | None = None
    is_own: bool = False

    @property
    def picked(self) -> PortMapping | None:
        """The mapping that the point has become."""
        return None if self.point is None else self.point.picked


@dataclass(frozen=True)
class FrontView:
    """What the template needs: the rows, the figure's data, and where the mapping that is looked at stands.

    `owner` is None while the run still looks for points.
    """

    lines: Sequence[FrontLine]
    owner: PortMapping | None = None
    here: int | None = None

    @property
    def figure(self) -> Json:
        """For plotly; the points of its first trace are the rows of the table, in the same order."""
        return {"figure": front_figure(line.drawn for line in self.lines), "here": self.here}

    @property
    def judged(self) -> bool:
        """Whether there are errors on what was not learnt from."""
        return any(line.drawn.mape is not None for line in self.lines)


def front_shown(found: StoredFront) -> FrontView:
    """A stored front for the page."""
    lines = [
        FrontLine(
            DrawnPoint(point.kinds, point.volume, round(100 * point.error, 4), point.mape),
            point,
            is_own=point.picked_id == found.owner.pk,
        )
        for point in found.points
    ]
    return FrontView(lines, found.owner, None if found.here is None else found.here.place)


def front_told(points: Sequence[FrontObjectives]) -> FrontView:
    """A front while it is being found."""
    return FrontView(
        [
            FrontLine(DrawnPoint(point.kinds, point.volume, round(100 * point.error, 4), None))
            for point in points
        ]
    )


def most_accurate(front: StoredFront | None) -> dict[str, Any] | None:
    """The most accurate point of a mapping's front, where the mapping is another one, with both errors."""
    if front is None or front.here is None or not front.points or front.points[0].pk == front.here.pk:
        return None
    return {"best": front.points[0], "here": front.here}


def front_tab(row: PortMapping) -> dict[str, Any]:
    """The front that the mapping was found with or picked from; a click on a point is the script's."""
    found = front_of(row)
    assert found is not None, "the tab is there for mappings with a front alone"
    return {"front": front_shown(found)}


def front_pick(request: HttpRequest, pk: int) -> HttpResponse:
    """Make the point a mapping of its own, or open the one that it has become."""
    point = get_object_or_404(FrontPoint.objects.select_related("mapping__isa"), pk=pk)
    row, made = pick(point)
    if made:
        messages.success(
            request, f"{row.name} is a port mapping of its own now, picked from the front of {point.mapping}."
        )
    return redirect("mapping", pk=row.pk)


urlpatterns = [
    path("fronts/<int:pk>/pick/", front_pick, name="front-pick"),
]


class FrontCommand(DataCommand):
    """`manage.py front`: fronts in the shell."""

    help = "List the Pareto front of a run of PMEvo, or make one of its points a port mapping of its own."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="RUN_OR_MAPPING")
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument(
            "--pick", type=int, metavar="KINDS", help="make the point with so many distinct µops a mapping"
        )
        parser.add_argument(
            "--volume", type=int, metavar="V", help="which point, where several have as many kinds"
        )
        parser.add_argument(
            "--name", default="", dest="new_name", metavar="N", help="what to call the mapping"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the points, or the mapping that one of them has become."""
        for option in ("volume", "new_name"):
            if options[option] and options["pick"] is None:
                raise CommandError(f"--{option.removeprefix('new_')} goes with --pick KINDS")
        front = front_named(options["name"])
        if options["pick"] is not None:
            point = point_with(front, options["pick"], options["volume"])
            self._pick(point, options["new_name"], as_json=options["json"])
            return
        if options["json"]:
            told = {"mapping": front.owner.name, "points": [_as_json(point) for point in front.points]}
            self.stdout.write(json.dumps(told, ensure_ascii=False))
            return
        self.stdout.write(f"{len(front.points)} points, found with the port mapping {front.owner.name!r}:")
        self.stdout.write("  kinds  volume   error     MAPE  mapping")
        for point in front.points:
            mape = "–" if point.mape is None else f"{point.mape:.2f} %"
            name = point.picked.name if point.picked else ""
            line = f"  {point.kinds:5}  {point.volume:6}  {100 * point.error:5.2f} %  {mape:>7}  {name}"
            self.stdout.write(line.rstrip())

    def _pick(self, point: FrontPoint, name: str, *, as_json: bool) -> None:
        row, made = pick(point, name)
        if as_json:
            told = {"mapping": row.name, "url": f"/mappings/{row.pk}/", "made": made, **_as_json(point)}
            self.stdout.write(json.dumps(told, ensure_ascii=False))
            return
        state = "now" if made else "picked before:"
        self.stdout.write(f"{state} the port mapping {row.name!r}, /mappings/{row.pk}/")


def _as_json(point: FrontPoint) -> dict[str, Any]:
    return {
        "kinds": point.kinds,
        "volume": point.volume,
        "error": point.error,
        "mape": point.mape,
        "picked": point.picked.name if point.picked else None,
    }
