"""Pruning of old data: the kinds of data, their retention, and requested prunings.

Removed data is never read by a mapping, proof, discovery, evaluation, or an export of these. Events of
journals are emptied, not deleted, so that their numbers have no gaps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import Count, Exists, F, Field, OuterRef, Q, QuerySet, Sum, TextField
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, JSONArray, JSONObject, Length
from django.utils import timezone

from anica_app.models import Campaign, GeneralisationStep, SampleBatch
from inference.core.pmevo.events import Cloud
from inference.features.learning.inferring.pmevo_page import CLOUD_FRAMES, append_step
from inference.features.running.runs.record import thinned
from inference.formats import journal_events
from inference.models import AnswerCache, Predictor, Run, RunCheckpoint, RunEvent, Upload
from inference.models.run import UNDECIDED, UPLOAD_SIZE
from pmweb.models import AuditEntry, Pruning

FOREVER = 0

NIGHT_BEGINS = 3
"""Hour (UTC) from which the nightly pruning is due."""

STALE_AFTER = timedelta(hours=1)
"""Age of an unfinished pruning after which its process counts as dead, and another one repeats it."""

_MAX_PRUNINGS, _LISTED_PRUNINGS = 100, 20  # stored, and shown on the page

_DELETED_AT_ONCE, _EMPTIED_AT_ONCE = 200, 500
_PAUSE_SECONDS = 0.02  # between two transactions, for other writers


@dataclass(frozen=True)
class Weight:
    """Amount of data: rows, and bytes of their large columns, without the database's overhead."""

    rows: int = 0
    size: int = 0

    def __add__(self, other: Weight) -> Weight:
        return Weight(self.rows + other.rows, self.size + other.size)


@dataclass(frozen=True)
class Surplus:
    """Rows to delete, or to set to `emptied`, after which the query `rows` must not match them.

    `size` is the number of bytes saved per row.
    """

    rows: QuerySet[Any]
    size: Combinable
    emptied: Mapping[str, Any] = field(default_factory=dict)

    def weigh(self) -> Weight:
        """Amount to remove (one query)."""
        return _weight(self.rows, self.size)

    def remove(self) -> Weight:
        """Remove it in small transactions; returns the amount."""
        removed, remaining = Weight(), self.rows.order_by("pk")
        batch_size = _EMPTIED_AT_ONCE if self.emptied else _DELETED_AT_ONCE
        while pks := list(remaining.values_list("pk", flat=True)[:batch_size]):
            batch = self.rows.model._default_manager.filter(pk__in=pks)
            removed += _weight(batch, self.size)
            if self.emptied:
                batch.update(**self.emptied)
            else:
                batch.only("pk").delete()
            remaining = self.rows.filter(pk__gt=pks[-1]).order_by("pk")
            time.sleep(_PAUSE_SECONDS)
        return removed


def _weight(rows: QuerySet[Any], size: Combinable) -> Weight:
    number, total = rows.order_by().aggregate(number=Count("pk"), size=Sum(size)).values()
    return Weight(number, total or 0)


def length_of_json(column: str) -> Length:
    """Characters of a JSON column, or of a part of it, as stored."""
    as_text: Field[str, str] = TextField()
    return Length(Cast(column, as_text))


@dataclass(frozen=True)
class RetainedTrace:
    """A kind of old data. `goes` and `stays` describe for people what pruning removes and keeps.

    `surplus` yields the data beyond a retention in the unit `unit`: days, or rows.
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
        """Remove the data beyond `keep`, in small transactions that delay no other writer for long."""
        return sum((part.remove() for part in self.surplus(keep)), Weight())


def _days_ago(days: int) -> datetime:
    return timezone.now() - timedelta(days=days)


def _ended_runs(days: int) -> QuerySet[Run]:
    return Run.objects.filter(state__in=Run.FINAL, finished__lt=_days_ago(days))


def _checkpoints(days: int) -> Iterator[Surplus]:
    yield Surplus(RunCheckpoint.objects.filter(run__in=_ended_runs(days)), Length("data"))


def _samples(days: int) -> Iterator[Surplus]:
    """Sampled blocks of minimisations, and of decisions other than the start and the last accepted one."""
    imported = Q(run__isnull=True, created__lt=_days_ago(days))
    campaigns = Campaign.objects.filter(Q(run__in=_ended_runs(days)) | imported)
    later_steps = GeneralisationStep.objects.filter(
        generalisation=OuterRef("generalisation"), number__gt=OuterRef("number"), taken=True, n__gt=0
    )
    steps = GeneralisationStep.objects.filter(
        Q(taken=False) | Exists(later_steps), generalisation__campaign__in=campaigns
    ).exclude(kind=GeneralisationStep.Kind.START)
    batches = SampleBatch.objects.filter(
        campaign__in=campaigns, purpose=SampleBatch.Purpose.MINIMISATION, discovery=None
    )
    for rows in (steps, batches):
        yield Surplus(rows.exclude(samples=b""), Length("samples"), {"samples": b""})


def _answers(number: int) -> Iterator[Surplus]:
    """Oldest cached answers beyond `number` per predictor; they have ids, but no dates."""
    for predictor in Predictor.objects.order_by("pk"):
        rows = AnswerCache.objects.filter(predictor=predictor)
        newest_that_goes = rows.order_by("-id").values_list("id", flat=True)[number : number + 1].first()
        if newest_that_goes is not None:
            yield Surplus(rows.filter(id__lte=newest_that_goes), Length("block") + Length("detail"))


def _uploads(days: int) -> Iterator[Surplus]:
    yield Surplus(Upload.objects.filter(UNDECIDED, created__lt=_days_ago(days)), UPLOAD_SIZE)


def _sessions(days: int) -> Iterator[Surplus]:
    yield Surplus(Session.objects.filter(expire_date__lt=_days_ago(days)), Length("session_data"))


def _audit(days: int) -> Iterator[Surplus]:
    size = Length("actor_name") + Length("name") + Length("detail")
    yield Surplus(AuditEntry.objects.filter(at__lt=_days_ago(days)), size)


_SIZE = length_of_json("payload")
_POINTS_SIZE = length_of_json("payload__errors") + length_of_json("payload__volumes")
_FITTEST = JSONObject(
    generation="payload__generation",
    population="payload__population",
    errors=JSONArray("payload__errors__0"),
    volumes=JSONArray("payload__volumes__0"),
)


def hidden_events(ended: QuerySet[Run]) -> Iterator[Surplus]:
    """Events replaced by newer ones, and populations between the frames of the run's picture."""
    newer = RunEvent.objects.filter(run=OuterRef("run"), kind=OuterRef("kind"), seq__gt=OuterRef("seq"))
    events = RunEvent.objects.filter(Exists(newer), run__in=ended, kind__in=journal_events.replaced())
    yield Surplus(events.exclude(payload={}), _SIZE, {"payload": {}})
    clouds = RunEvent.objects.filter(run__in=ended, kind=Cloud.kind).order_by("run")
    numbers = clouds.values("run").annotate(number=Count("pk")).filter(number__gt=CLOUD_FRAMES)
    for run in numbers.values_list("run", flat=True):
        yield Surplus(_hidden_clouds(run), _POINTS_SIZE, {"payload": _FITTEST})


def _hidden_clouds(run: int) -> QuerySet[RunEvent]:
    """Populations that the run's page does not show, if they have more than the fittest mapping."""
    clouds = RunEvent.objects.filter(run=run, kind=Cloud.kind).order_by("seq")
    frames: list[tuple[int, int]] = []
    for frame in clouds.values_list("payload__generation", "pk"):
        append_step(frames, frame, itemgetter(0))
    displayed = [pk for _, pk in thinned(frames, CLOUD_FRAMES)]
    return clouds.exclude(pk__in=displayed).filter(payload__errors__1__isnull=False)


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
        lambda days: hidden_events(_ended_runs(days)),
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


def prune(row: Pruning, keep: Mapping[str, int] | None = None) -> Pruning:
    """Carry out a pruning, and store the report after each kind of data.

    It is idempotent, also in two processes at a time.

    Args:
        row: The pruning; a dry run only weighs.
        keep: {key: retention} that overrides the settings.
    """
    report = []
    for trace in TRACES:
        limit = {**settings.KEEP, **(keep or {})}[trace.key]
        if limit == FOREVER:
            continue
        weight = trace.weigh(limit) if row.dry else trace.remove(limit)
        line = {"key": trace.key, "title": trace.title, "keep": limit, "unit": trace.unit}
        report.append({**line, "rows": weight.rows, "size": weight.size})
        Pruning.objects.filter(pk=row.pk).update(report=report)
    Pruning.objects.filter(pk=row.pk).update(ended=timezone.now())
    row.refresh_from_db()
    return row


def request_pruning(user: Any, *, dry: bool) -> Pruning:
    """Request a pruning by a worker; returns a pending one of the same kind if there is one."""
    waiting = Pruning.objects.filter(dry=dry, started=None).first()
    return waiting or Pruning.objects.create(asked_by=user, dry=dry)


def is_due() -> bool:
    """Whether a pruning is pending; creates the nightly one if it is configured and due."""
    now = timezone.now()
    if settings.PRUNE_NIGHTLY and now.hour >= NIGHT_BEGINS:
        Pruning.objects.get_or_create(night=now.date())
    return _open().exists()


def claim() -> Pruning | None:
    """Claim the oldest pending pruning; None without one."""
    for row in _open().order_by("pk"):
        if _open().filter(pk=row.pk).update(started=timezone.now(), report=[]):
            row.refresh_from_db()
            _delete_oldest()
            return row
    return None


def _open() -> QuerySet[Pruning]:
    lost = Q(started__lt=timezone.now() - STALE_AFTER)
    return Pruning.objects.filter(Q(started=None) | lost, ended=None)


def _delete_oldest() -> None:
    surplus = Pruning.objects.filter(ended__isnull=False).order_by(F("pk").desc())[_MAX_PRUNINGS:]
    Pruning.objects.filter(pk__in=[row.pk for row in surplus]).delete()


@dataclass(frozen=True)
class TraceRow:
    """A kind of data with its retention (0: forever) and the newest dry run's result (None without one)."""

    trace: RetainedTrace
    keep: int
    rows: int | None
    size: int | None

    @property
    def variable(self) -> str:
        return f"PMWEB_KEEP_{self.trace.key.upper()}"


@dataclass(frozen=True)
class RetentionOverview:
    """All kinds of data; `look` is the newest finished dry run, `waiting` a pending pruning."""

    lines: list[TraceRow]
    look: Pruning | None
    waiting: Pruning | None
    prunings: list[Pruning]
    nightly: bool


def overview() -> RetentionOverview:
    """The overview (one query); a worker weighs the data, not this function."""
    newest = list(Pruning.objects.select_related("asked_by")[:_LISTED_PRUNINGS])
    look = next((row for row in newest if row.dry and row.ended), None)
    report = {line["key"]: line for line in look.report} if look else {}
    lines = []
    for trace in TRACES:
        keep = settings.KEEP[trace.key]
        line = report.get(trace.key, {}) if keep != FOREVER else {}
        lines.append(TraceRow(trace, keep, line.get("rows"), line.get("size")))
    return RetentionOverview(
        lines,
        look,
        next((row for row in newest if row.ended is None), None),
        [row for row in newest if row.ended and not row.dry],
        settings.PRUNE_NIGHTLY,
    )
