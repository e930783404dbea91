"""Journals of runs that have ended: the middle of a run has more events than its page shows.

Every event keeps its number, so journals stay without gaps.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter

from django.db.models import Count, Exists, OuterRef, QuerySet
from django.db.models.functions import JSONArray, JSONObject

from inference.core.pmevo.events import Cloud
from inference.features.learning.inferring.evolution import CLOUD_FRAMES
from inference.features.learning.inferring.records import append_again
from inference.features.running.runs.record import thinned
from inference.formats import journal_events
from inference.models import Run, RunEvent
from pmweb.retention.surplus import Surplus, length_of_json

_SIZE = length_of_json("payload")
_POINTS_SIZE = length_of_json("payload__errors") + length_of_json("payload__volumes")
_FITTEST = JSONObject(
    generation="payload__generation",
    population="payload__population",
    errors=JSONArray("payload__errors__0"),
    volumes=JSONArray("payload__volumes__0"),
)


def unshown_events(ended: QuerySet[Run]) -> Iterator[Surplus]:
    """Events that a newer one replaces, and populations between the frames of the picture."""
    newer = RunEvent.objects.filter(run=OuterRef("run"), kind=OuterRef("kind"), seq__gt=OuterRef("seq"))
    events = RunEvent.objects.filter(Exists(newer), run__in=ended, kind__in=journal_events.replaced())
    yield Surplus(events.exclude(payload={}), _SIZE, {"payload": {}})
    clouds = RunEvent.objects.filter(run__in=ended, kind=Cloud.kind).order_by("run")
    counted = clouds.values("run").annotate(number=Count("pk")).filter(number__gt=CLOUD_FRAMES)
    for run in counted.values_list("run", flat=True):
        yield Surplus(_unshown_clouds(run), _POINTS_SIZE, {"payload": _FITTEST})


def _unshown_clouds(run: int) -> QuerySet[RunEvent]:
    """Those that the run's page does not show, with more than their fittest mapping."""
    clouds = RunEvent.objects.filter(run=run, kind=Cloud.kind).order_by("seq")
    frames: list[tuple[int, int]] = []
    for frame in clouds.values_list("payload__generation", "pk"):
        append_again(frames, frame, itemgetter(0))
    shown = [pk for _, pk in thinned(frames, CLOUD_FRAMES)]
    return clouds.exclude(pk__in=shown).filter(payload__errors__1__isnull=False)
