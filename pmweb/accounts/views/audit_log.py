"""For administrators: who did what, filtered, and the same as CSV."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.dateparse import parse_date

from inference.exchange.csv_cells import written
from inference.queries.paging import Order, page_of
from inference.views.address import one_of
from pmweb.models import AuditEntry

COLUMNS = {"at": "id"}
VIA = ("page", "API", "command")
MOST_ROWS = 50_000
"""Rows of a CSV file; the newest."""

_HEADER = ("at", "who", "action", "kind", "id", "name", "detail", "via", "address")


@dataclass(frozen=True)
class Wanted:
    """What the address asks for; `since` and `until` are days, both included."""

    q: str
    action: str
    via: str
    since: str
    until: str

    @classmethod
    def read(cls, request: HttpRequest) -> Wanted:
        """From the address; raises `BadRequest` for an unknown action. Days that are none ask for nothing."""
        return cls(
            request.GET.get("q", "").strip(),
            one_of(request, "action", tuple(AuditEntry.Action.values)),
            one_of(request, "via", VIA),
            _day(request.GET.get("since", "")),
            _day(request.GET.get("until", "")),
        )

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
            rows = rows.filter(at__lt=_midnight(self.until) + timedelta(days=1))
        return rows


def _day(text: str) -> str:
    try:
        found = parse_date(text)
    except ValueError:  # the 31st of February
        return ""
    return found.isoformat() if found is not None and 1970 <= found.year < 9999 else ""


def _midnight(day: str) -> datetime:
    return datetime.combine(datetime.fromisoformat(day), time(), UTC)


def audit(request: HttpRequest) -> HttpResponse:
    """The newest first."""
    wanted = Wanted.read(request)
    order = Order("at", descending=True)
    context = {
        "wanted": wanted,
        "page": page_of(wanted.rows(), order, COLUMNS, request.GET.get("page", "")),
        "actions": AuditEntry.Action.choices,
        "ways": VIA,
        "most_rows": MOST_ROWS,
    }
    return render(request, "pmweb/audit.html", context)


def audit_csv(request: HttpRequest) -> HttpResponse:
    """The same entries, the newest `MOST_ROWS` of them, oldest first."""
    newest = list(Wanted.read(request).rows().order_by("-id")[:MOST_ROWS])
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
    response = HttpResponse(written(_HEADER, rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="audit.csv"'
    return response
