"""The Pareto front of a mapping's run: a picture, a table, and a point that becomes a mapping of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path

from inference.core.pmevo.events import FrontObjectives
from inference.core.protocols import Json
from inference.features.learning.inferring.query import StoredFront, front_of
from inference.figures.objectives import DrawnPoint, front_figure
from inference.models import FrontPoint, PortMapping
from inference.storage.results import pick


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
