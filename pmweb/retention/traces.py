"""The traces of old work: what goes of each when it is older than it is kept, and what stays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.sessions.models import Session
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Length
from django.utils import timezone

from anica_app.models import Campaign, GeneralisationStep, SampleBatch
from inference.models import AnswerCache, Predictor, Run, RunCheckpoint, Upload
from inference.models.run import UNDECIDED
from pmweb.models import AuditEntry
from pmweb.retention.journals import unshown_events
from pmweb.retention.surplus import Surplus, Weight


@dataclass(frozen=True)
class RetainedTrace:
    """A sort of rows that can be thinned out: its name, and in words what goes and what stays.

    `surplus`: the rows beyond what is kept, so many days or, where `unit` says so, so many rows.
    """

    key: str
    title: str
    goes: str
    stays: str
    surplus: Callable[[int], Iterable[Surplus]]
    unit: str = "days"

    def weigh(self, keep: int) -> Weight:
        return sum((part.weigh() for part in self.surplus(keep)), Weight())

    def remove(self, keep: int) -> Weight:
        """Let it go, in small transactions, so that nobody waits long for the database; what has gone."""
        return sum((part.remove() for part in self.surplus(keep)), Weight())


def _days_ago(days: int) -> datetime:
    return timezone.now() - timedelta(days=days)


def _ended_runs(days: int) -> QuerySet[Run]:
    return Run.objects.filter(state__in=Run.FINAL, finished__lt=_days_ago(days))


def _checkpoints(days: int) -> Iterator[Surplus]:
    yield Surplus(RunCheckpoint.objects.filter(run__in=_ended_runs(days)), Length("data"))


def _samples(days: int) -> Iterator[Surplus]:
    """Blocks of decisions other than the start and the last one taken, and those of minimisations."""
    imported = Q(run__isnull=True, created__lt=_days_ago(days))
    campaigns = Campaign.objects.filter(Q(run__in=_ended_runs(days)) | imported)
    taken_later = GeneralisationStep.objects.filter(
        generalisation=OuterRef("generalisation"), number__gt=OuterRef("number"), taken=True, n__gt=0
    )
    steps = GeneralisationStep.objects.filter(
        Q(taken=False) | Exists(taken_later), generalisation__campaign__in=campaigns
    ).exclude(kind=GeneralisationStep.Kind.START)
    batches = SampleBatch.objects.filter(
        campaign__in=campaigns, purpose=SampleBatch.Purpose.MINIMISATION, discovery=None
    )
    for rows in (steps, batches):
        yield Surplus(rows.exclude(samples=b""), Length("samples"), {"samples": b""})


def _answers(number: int) -> Iterator[Surplus]:
    """Answers beyond so many of each predictor, the oldest first: they have numbers, no date."""
    for predictor in Predictor.objects.order_by("pk"):
        rows = AnswerCache.objects.filter(predictor=predictor)
        newest_that_goes = rows.order_by("-id").values_list("id", flat=True)[number : number + 1].first()
        if newest_that_goes is not None:
            yield Surplus(rows.filter(id__lte=newest_that_goes), Length("block") + Length("detail"))


def _uploads(days: int) -> Iterator[Surplus]:
    yield Surplus(Upload.objects.filter(UNDECIDED, created__lt=_days_ago(days)), Length("content"))


def _sessions(days: int) -> Iterator[Surplus]:
    yield Surplus(Session.objects.filter(expire_date__lt=_days_ago(days)), Length("session_data"))


def _audit(days: int) -> Iterator[Surplus]:
    size = Length("actor_name") + Length("name") + Length("detail")
    yield Surplus(AuditEntry.objects.filter(at__lt=_days_ago(days)), size)


TRACES = (
    RetainedTrace(
        "checkpoints",
        "Checkpoints of runs that have ended",
        "the place where the run could have gone on; a run that has ended does not",
        "the run with its journal, and everything it has made",
        _checkpoints,
    ),
    RetainedTrace(
        "journals",
        "Journals of runs that have ended",
        "progress, pictures and fronts that newer ones replace; populations that no picture shows",
        "every event with its number, all that the run’s page shows, the result",
        lambda days: unshown_events(_ended_runs(days)),
    ),
    RetainedTrace(
        "samples",
        "Sampled blocks of campaigns",
        "blocks of decisions on the way to a discovery, and of its minimisation",
        "every decision with its counts, the blocks that a discovery rests on, all rounds",
        _samples,
    ),
    RetainedTrace(
        "answers",
        "Remembered answers of predictors",
        "the oldest beyond this number of each predictor; they would be asked for again",
        "every answer that a campaign, a set or a comparison has stored",
        _answers,
        "answers per predictor",
    ),
    RetainedTrace(
        "uploads",
        "Uploaded files that nobody has imported",
        "files whose preview was left at that",
        "everything that was imported",
        _uploads,
    ),
    RetainedTrace(
        "sessions",
        "Log-ins that have run out",
        "sessions that let nobody in any more",
        "accounts, and who logged in when in the audit log",
        _sessions,
    ),
    RetainedTrace("audit", "The audit log", "entries; take them away as CSV before", "newer entries", _audit),
)
BY_KEY = {trace.key: trace for trace in TRACES}
