"""Traces whose rows go as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.sessions.models import Session
from django.db.models import Count, QuerySet, Sum
from django.db.models.expressions import Combinable
from django.db.models.functions import Length

from inference.models import AnswerCache, Predictor, Run, RunCheckpoint, Upload
from inference.models.upload import UNDECIDED
from pmweb.models import AuditEntry
from pmweb.retention.trace import DAYS, Weight, breathe, days_ago

_AT_A_TIME = 200


@dataclass(frozen=True)
class OldRows:
    """Rows that are older than a moment; `old` finds them, `size` is the length of what is bulky in one."""

    key: str
    title: str
    goes: str
    stays: str
    old: Callable[[datetime], QuerySet[Any]]
    size: Combinable
    unit: str = DAYS

    def weigh(self, keep: int) -> Weight:
        """See `Trace`."""
        return weight_of(self.old(days_ago(keep)), self.size)

    def remove(self, keep: int) -> Weight:
        """See `Trace`."""
        return remove_all(self.old(days_ago(keep)), self.size)


@dataclass(frozen=True)
class OldAnswers:
    """Remembered answers beyond so many of each predictor, the oldest first: they have numbers, no date."""

    key: str = "answers"
    title: str = "Remembered answers of predictors"
    goes: str = "the oldest beyond this number of each predictor; they would be asked for again"
    stays: str = "every answer that a campaign, a set or a comparison has stored"
    unit: str = "answers per predictor"

    def weigh(self, keep: int) -> Weight:
        """See `Trace`."""
        return sum((weight_of(rows, _ANSWER) for rows in self._surplus(keep)), Weight())

    def remove(self, keep: int) -> Weight:
        """See `Trace`."""
        return sum((remove_all(rows, _ANSWER) for rows in self._surplus(keep)), Weight())

    def _surplus(self, keep: int) -> list[QuerySet[AnswerCache]]:
        found = []
        for pk in Predictor.objects.order_by("pk").values_list("pk", flat=True):
            rows = AnswerCache.objects.filter(predictor=pk)
            newest_that_goes = rows.order_by("-id").values_list("id", flat=True)[keep : keep + 1].first()
            if newest_that_goes is not None:
                found.append(rows.filter(id__lte=newest_that_goes))
        return found


def weight_of(rows: QuerySet[Any], size: Combinable) -> Weight:
    """How much these rows are, in one query."""
    found = rows.order_by().aggregate(number=Count("pk"), size=Sum(size))
    return Weight(found["number"], found["size"] or 0)


def remove_all(rows: QuerySet[Any], size: Combinable) -> Weight:
    """Delete these rows, a few at a time."""
    gone = Weight()
    while pks := list(rows.order_by("pk").values_list("pk", flat=True)[:_AT_A_TIME]):
        some = rows.model._default_manager.filter(pk__in=pks)
        gone += weight_of(some, size)
        some.defer(*(each for each in ("content", "data") if _has(rows.model, each))).delete()
        breathe()
    return gone


def _has(model: Any, column: str) -> bool:
    return any(field.name == column for field in model._meta.fields)


_ANSWER = Length("block") + Length("detail")

CHECKPOINTS = OldRows(
    "checkpoints",
    "Checkpoints of runs that have ended",
    "the place where the run could have gone on; a run that has ended does not",
    "the run with its journal, and everything it has made",
    lambda before: RunCheckpoint.objects.filter(run__state__in=Run.FINAL, run__finished__lt=before),
    Length("data"),
)
SESSIONS = OldRows(
    "sessions",
    "Log-ins that have run out",
    "sessions that let nobody in any more",
    "accounts, and who logged in when in the audit log",
    lambda before: Session.objects.filter(expire_date__lt=before),
    Length("session_data"),
)
UPLOADS = OldRows(
    "uploads",
    "Uploaded files that nobody has imported",
    "files whose preview was left at that",
    "everything that was imported",
    lambda before: Upload.objects.filter(UNDECIDED, created__lt=before),
    Length("content"),
)
AUDIT = OldRows(
    "audit",
    "The audit log",
    "entries; take them away as CSV before",
    "newer entries",
    lambda before: AuditEntry.objects.filter(at__lt=before),
    Length("actor_name") + Length("name") + Length("detail"),
)
ANSWERS = OldAnswers()
