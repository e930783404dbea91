"""Prunings: for how long each trace is kept, what a worker was asked for, and what the newest look found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from pmweb.models import Pruning
from pmweb.retention.traces import TRACES, RetainedTrace

FOR_EVER = 0


def prune(row: Pruning, keep: Mapping[str, int] | None = None) -> Pruning:
    """Do what a row asks for, trace by trace; what was done is noted after each.

    `keep` replaces what the settings say. Doing it twice, or in two processes, removes nothing else.
    """
    report = []
    for trace in TRACES:
        limit = {**settings.KEEP, **(keep or {})}[trace.key]
        if limit == FOR_EVER:
            continue
        weight = trace.weigh(limit) if row.dry else trace.remove(limit)
        line = {"key": trace.key, "title": trace.title, "keep": limit, "unit": trace.unit}
        report.append({**line, "rows": weight.rows, "size": weight.size})
        Pruning.objects.filter(pk=row.pk).update(report=report)
    Pruning.objects.filter(pk=row.pk).update(ended=timezone.now())
    row.refresh_from_db()
    return row


NIGHT_BEGINS = 3
"""The hour, UTC, from which on the pruning of a night is due."""

GIVEN_UP_AFTER = timedelta(hours=1)
"""A pruning that has begun so long ago and has not ended has lost its process; another one does it again."""

_KEPT = 100


def ask(user: Any, *, dry: bool) -> Pruning:
    """Let a worker look or remove; one that waits for the same is enough."""
    waiting = Pruning.objects.filter(dry=dry, started=None).first()
    return waiting or Pruning.objects.create(asked_by=user, dry=dry)


def due() -> bool:
    """Whether a worker has something to do here; the night's pruning is asked for where that is wanted."""
    now = timezone.now()
    if settings.PRUNE_NIGHTLY and now.hour >= NIGHT_BEGINS:
        Pruning.objects.get_or_create(night=now.date())
    return _open().exists()


def claim() -> Pruning | None:
    """The oldest that nobody works on, from now on the caller's; None where there is none."""
    for row in _open().order_by("pk"):
        if _open().filter(pk=row.pk).update(started=timezone.now(), report=[]):
            row.refresh_from_db()
            _forget_the_oldest()
            return row
    return None


def _open() -> QuerySet[Pruning]:
    lost = Q(started__lt=timezone.now() - GIVEN_UP_AFTER)
    return Pruning.objects.filter(Q(started=None) | lost, ended=None)


def _forget_the_oldest() -> None:
    surplus = Pruning.objects.filter(ended__isnull=False).order_by(F("pk").desc())[_KEPT:]
    Pruning.objects.filter(pk__in=[row.pk for row in surplus]).delete()


_SHOWN = 20


@dataclass(frozen=True)
class TraceRow:
    """A trace with how long it is kept, 0 for ever, and what the newest look found, None where none has."""

    trace: RetainedTrace
    keep: int
    rows: int | None
    size: int | None

    @property
    def variable(self) -> str:
        """The environment's name for how long it is kept."""
        return f"PMWEB_KEEP_{self.trace.key.upper()}"


@dataclass(frozen=True)
class RetentionOverview:
    """All traces; `look` is the newest that has ended, `waiting` what a worker was asked for."""

    lines: list[TraceRow]
    look: Pruning | None
    waiting: Pruning | None
    prunings: list[Pruning]
    nightly: bool


def overview() -> RetentionOverview:
    """One query. Nothing is weighed here: a worker does that."""
    newest = list(Pruning.objects.select_related("asked_by")[:_SHOWN])
    look = next((row for row in newest if row.dry and row.ended), None)
    report = {line["key"]: line for line in look.report} if look else {}
    lines = []
    for trace in TRACES:
        keep = settings.KEEP[trace.key]
        line = report.get(trace.key, {}) if keep != FOR_EVER else {}
        lines.append(TraceRow(trace, keep, line.get("rows"), line.get("size")))
    return RetentionOverview(
        lines,
        look,
        next((row for row in newest if row.ended is None), None),
        [row for row in newest if row.ended and not row.dry],
        settings.PRUNE_NIGHTLY,
    )
