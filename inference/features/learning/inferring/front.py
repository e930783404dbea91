"""The Pareto front of a PMEvo inference, on pages and in the shell; any mapping of the front or its run leads
to it.

Each of its points can become a stored mapping.
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
from inference.figures.curves import FrontPlotPoint, front_figure
from inference.models import FrontPoint, PortMapping, Run
from inference.storage.errors import UnknownNameError
from inference.storage.names import nearest_names
from inference.storage.results import pick
from inference.web.data_command import DataCommand


@dataclass(frozen=True)
class StoredFront:
    """The points of a front, the most accurate first, and the mapping of the run that inferred it.

    `here` is the point of the mapping that led to the front, None for the run's own mapping.
    """

    owner: PortMapping
    points: Sequence[FrontPoint]
    here: FrontPoint | None = None


def front_of(row: PortMapping) -> StoredFront | None:
    """The front of a run's mapping or of a picked mapping; None if it has none."""
    point = FrontPoint.objects.filter(picked=row).select_related("mapping").defer("content", "judged").first()
    owner = row if point is None else point.mapping
    rows = owner.front.select_related("picked").defer("content", "judged", "picked__report")
    points = list(rows.order_by("place"))
    return StoredFront(owner, points, point) if points else None


def front_named(name: str) -> StoredFront:
    """The front of the mapping or run of this name.

    Raises `UnknownNameError`, and `InvalidInputError` if it has no front.
    """
    mapping = PortMapping.objects.filter(name=name).first()
    run = Run.objects.filter(name=name).first()
    run_mapping = None if run is None else PortMapping.objects.filter(run=run).first()
    for row in filter(None, (mapping, run_mapping)):
        if front := front_of(row):
            return front
    if mapping is None and run is None:
        suggestions = [*nearest_names(PortMapping, name), *nearest_names(Run, name)]
        raise UnknownNameError("port mapping or run", name, list(dict.fromkeys(suggestions))[:3])
    raise InvalidInputError(
        f"{name!r} has no front: only runs of PMEvo that re-fit have one (--set search=refit or both)"
    )


def point_with(front: StoredFront, kinds: int, volume: int | None = None) -> FrontPoint:
    """The most accurate point with this number of distinct µops, and this volume if given.

    Raises `InvalidInputError` that lists the possible values.
    """
    same_kinds = [point for point in front.points if point.kinds == kinds]
    matches = [point for point in same_kinds if volume is None or point.volume == volume]
    if matches:
        return matches[0]
    if same_kinds:
        volumes = ", ".join(str(point.volume) for point in same_kinds)
        raise InvalidInputError(
            f"no point has {kinds} kinds and volume {volume}; with {kinds} kinds: {volumes}"
        )
    counts = ", ".join(map(str, sorted({point.kinds for point in front.points})))
    raise InvalidInputError(f"no point of the front has {kinds} distinct µops; there are {counts}")


@dataclass(frozen=True)
class FrontLine:
    """A row of the table. `point` is None while the run goes on."""

    plot_point: FrontPlotPoint
    point: FrontPoint | None = None
    is_own: bool = False

    @property
    def picked(self) -> PortMapping | None:
        """The stored mapping of the point, None if it was not picked."""
        return None if self.point is None else self.point.picked


@dataclass(frozen=True)
class FrontView:
    """A front for the template. `here`: index of the highlighted row.

    `owner` is None while the run goes on.
    """

    lines: Sequence[FrontLine]
    owner: PortMapping | None = None
    here: int | None = None

    @property
    def figure(self) -> Json:
        """Data for plotly; points of the first trace are in the order of the table."""
        return {"figure": front_figure(line.plot_point for line in self.lines), "here": self.here}

    @property
    def judged(self) -> bool:
        """Whether errors on held-out measurements are known."""
        return any(line.plot_point.mape is not None for line in self.lines)


def stored_front(front: StoredFront) -> FrontView:
    lines = [
        FrontLine(
            FrontPlotPoint(point.kinds, point.volume, round(100 * point.error, 4), point.mape),
            point,
            is_own=point.picked_id == front.owner.pk,
        )
        for point in front.points
    ]
    return FrontView(lines, front.owner, None if front.here is None else front.here.place)


def live_front(points: Sequence[FrontObjectives]) -> FrontView:
    return FrontView(
        [
            FrontLine(FrontPlotPoint(point.kinds, point.volume, round(100 * point.error, 4), None))
            for point in points
        ]
    )


def most_accurate(front: StoredFront | None) -> dict[str, Any] | None:
    """Context with the most accurate point and the mapping's own, None if they are the same."""
    if front is None or front.here is None or not front.points or front.points[0].pk == front.here.pk:
        return None
    return {"best": front.points[0], "here": front.here}


def front_tab(row: PortMapping) -> dict[str, Any]:
    front = front_of(row)
    assert front is not None, "the tab is there for mappings with a front alone"
    return {"front": stored_front(front)}


def front_pick(request: HttpRequest, pk: int) -> HttpResponse:
    """Stores the point as a mapping, unless that has been done, and redirects to the mapping."""
    point = get_object_or_404(FrontPoint.objects.select_related("mapping__isa"), pk=pk)
    row, is_new = pick(point)
    if is_new:
        messages.success(
            request, f"{row.name} is now a port mapping, picked from the front of {point.mapping}."
        )
    return redirect("mapping", pk=row.pk)


urlpatterns = [
    path("fronts/<int:pk>/pick/", front_pick, name="front-pick"),
]


class FrontCommand(DataCommand):
    """`manage.py front`: lists the points of a front, or stores one as a mapping."""

    help = "List the Pareto front of a PMEvo run, or store one of its points as a port mapping."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="RUN_OR_MAPPING")
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument(
            "--pick", type=int, metavar="KINDS", help="store the point with this number of distinct µops"
        )
        parser.add_argument(
            "--volume", type=int, metavar="V", help="volume of the point, if several have this number of µops"
        )
        parser.add_argument("--name", default="", dest="new_name", metavar="N", help="name of the mapping")

    def handle(self, *args: Any, **options: Any) -> None:
        for option in ("volume", "new_name"):
            if options[option] and options["pick"] is None:
                raise CommandError(f"--{option.removeprefix('new_')} needs --pick KINDS")
        front = front_named(options["name"])
        if options["pick"] is not None:
            point = point_with(front, options["pick"], options["volume"])
            self._pick(point, options["new_name"], as_json=options["json"])
            return
        if options["json"]:
            answer = {"mapping": front.owner.name, "points": [_as_json(point) for point in front.points]}
            self.stdout.write(json.dumps(answer, ensure_ascii=False))
            return
        self.stdout.write(f"{len(front.points)} points, inferred with the port mapping {front.owner.name!r}:")
        self.stdout.write("  kinds  volume   error     MAPE  mapping")
        for point in front.points:
            mape = "–" if point.mape is None else f"{point.mape:.2f} %"
            name = point.picked.name if point.picked else ""
            line = f"  {point.kinds:5}  {point.volume:6}  {100 * point.error:5.2f} %  {mape:>7}  {name}"
            self.stdout.write(line.rstrip())

    def _pick(self, point: FrontPoint, name: str, *, as_json: bool) -> None:
        row, is_new = pick(point, name)
        url = f"/mappings/{row.pk}/"
        answer = {"mapping": row.name, "url": url, "made": is_new, **_as_json(point)}
        state = "stored as" if is_new else "already stored as"
        self.print_answer(answer, [f"{state} the port mapping {row.name!r}, {url}"], as_json=as_json)


def _as_json(point: FrontPoint) -> dict[str, Any]:
    return {
        "kinds": point.kinds,
        "volume": point.volume,
        "error": point.error,
        "mape": point.mape,
        "picked": point.picked.name if point.picked else None,
    }
