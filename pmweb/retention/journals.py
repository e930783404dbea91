"""Journals of runs that have ended: what is told of the middle of a run is more than its page shows of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import itemgetter

from django.db.models import Count, Exists, OuterRef, QuerySet, Sum

from inference.core.pmevo.events import Cloud
from inference.features.learning.inferring.evolution import CLOUD_FRAMES
from inference.features.learning.inferring.records import append_again
from inference.features.running.runs.record import thinned
from inference.formats import journal_events
from inference.models import Run, RunEvent
from pmweb.retention.trace import DAYS, Weight, breathe, days_ago, length_of_json

_AT_A_TIME = 500
_SIZE = length_of_json("payload")


@dataclass(frozen=True)
class Journals:
    """Events that a newer one replaces are emptied; of populations, those between the frames of the picture
    keep their fittest mapping alone. Every event keeps its number, so journals stay without gaps.
    """

    key: str = "journals"
    title: str = "Journals of runs that have ended"
    goes: str = "progress, pictures and fronts that newer ones replace; populations that no picture shows"
    stays: str = "every event with its number, all that the run’s page shows, the result"
    unit: str = DAYS

    def weigh(self, keep: int) -> Weight:
        """See `Trace`."""
        found = _replaced(keep).order_by().aggregate(number=Count("pk"), size=Sum(_SIZE))
        weight = Weight(found["number"], found["size"] or 0)
        for run in _runs_with_clouds(keep):
            rows = [_trimmed(event) for event in _unshown_clouds(run)]
            weight += Weight(len(rows), sum(saved for _, saved in rows))
        return weight

    def remove(self, keep: int) -> Weight:
        """See `Trace`."""
        gone = Weight()
        while found := list(_replaced(keep).annotate(size=_SIZE).values_list("pk", "size")[:_AT_A_TIME]):
            RunEvent.objects.filter(pk__in=[pk for pk, _ in found]).update(payload={})
            gone += Weight(len(found), sum(size for _, size in found))
            breathe()
        for run in _runs_with_clouds(keep):
            rows = [_trimmed(event) for event in _unshown_clouds(run)]
            RunEvent.objects.bulk_update([event for event, _ in rows], ["payload"], batch_size=_AT_A_TIME)
            gone += Weight(len(rows), sum(saved for _, saved in rows))
            breathe()
        return gone


def _ended(keep: int) -> QuerySet[Run]:
    return Run.objects.filter(state__in=Run.FINAL, finished__lt=days_ago(keep))


def _replaced(keep: int) -> QuerySet[RunEvent]:
    newer = RunEvent.objects.filter(run=OuterRef("run"), kind=OuterRef("kind"), seq__gt=OuterRef("seq"))
    rows = RunEvent.objects.filter(Exists(newer), run__in=_ended(keep), kind__in=journal_events.replaced())
    return rows.exclude(payload={}).order_by("pk")


def _runs_with_clouds(keep: int) -> list[int]:
    events = RunEvent.objects.filter(run__in=_ended(keep), kind=Cloud.kind).order_by("run")
    counted = events.values("run").annotate(number=Count("pk")).filter(number__gt=CLOUD_FRAMES)
    return [one["run"] for one in counted]


def _unshown_clouds(run: int) -> list[RunEvent]:
    """Those that the run's page does not show, with more than their fittest mapping."""
    clouds = RunEvent.objects.filter(run=run, kind=Cloud.kind).order_by("seq")
    frames: list[tuple[int, int]] = []
    for frame in clouds.values_list("payload__generation", "pk"):
        append_again(frames, frame, itemgetter(0))
    shown = {pk for _, pk in thinned(frames, CLOUD_FRAMES)}
    return [event for event in clouds.exclude(pk__in=shown) if len(Cloud.read(event.payload).errors) > 1]


def _trimmed(event: RunEvent) -> tuple[RunEvent, int]:
    """The event with its fittest mapping alone, not stored yet, and how many characters that saves."""
    before, cloud = event.payload, Cloud.read(event.payload)
    event.payload = replace(cloud, errors=cloud.errors[:1], volumes=cloud.volumes[:1]).payload()
    return event, len(str(before)) - len(str(event.payload))
