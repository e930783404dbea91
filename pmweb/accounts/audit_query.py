"""Which entries of the audit log a page, an operation or a file has, and these as CSV."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from django.db.models import Q, QuerySet

from inference.formats.quoting import written
from pmweb.models import AuditEntry

COLUMNS = {"at": "id"}
VIA = ("page", "API", "command")
MOST_ROWS = 50_000
"""Rows of a CSV file; the newest."""
_HEADER = ("at", "who", "action", "kind", "id", "name", "detail", "via", "address")


@dataclass(frozen=True)
class AuditQuery:
    """Entries with a text, of an action, by a way, from a day to another one, both included."""

    q: str = ""
    action: str = ""
    via: str = ""
    since: date | None = None
    until: date | None = None

    def rows(self) -> QuerySet[AuditEntry]:
        """The entries, in no order."""
        rows = AuditEntry.objects.all()
        if self.q:
            rows = rows.filter(
                Q(actor_name__icontains=self.q) | Q(name__icontains=self.q) | Q(detail__icontains=self.q)
            )
        if self.action:
            rows = rows.filter(action=self.action)
        if self.via:
            rows = rows.filter(via=self.via)
        if self.since:
            rows = rows.filter(at__gte=_midnight(self.since))
        if self.until:
            rows = rows.filter(at__lte=datetime.combine(self.until, time.max, UTC))
        return rows

    def csv(self) -> str:
        """The newest `MOST_ROWS` of them, oldest first."""
        newest = list(self.rows().order_by("-id")[:MOST_ROWS])
        rows = (
            (
                entry.at.isoformat(timespec="seconds"),
                entry.actor_name,
                entry.action,
                entry.kind,
                entry.object_id,
                entry.name,
                entry.detail,
                entry.via,
                entry.address,
            )
            for entry in reversed(newest)
        )
        return written(_HEADER, rows)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
