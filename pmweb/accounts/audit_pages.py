"""The pages of the audit log: its entries, filtered by the address, and the same as CSV."""

from __future__ import annotations

from datetime import date

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.dateparse import parse_date

from inference.web.file_answers import file_answer
from inference.web.paging import Order, page_of
from inference.web.validation import one_of
from pmweb.accounts.audit_query import COLUMNS, MOST_ROWS, VIA, AuditQuery
from pmweb.models import AuditEntry


def _wanted(request: HttpRequest) -> AuditQuery:
    """From the address; raises `BadRequest` for an unknown action. Days that are none ask for nothing."""
    return AuditQuery(
        request.GET.get("q", "").strip(),
        one_of(request, "action", tuple(AuditEntry.Action.values)),
        one_of(request, "via", VIA),
        _day(request.GET.get("since", "")),
        _day(request.GET.get("until", "")),
    )


def _day(text: str) -> date | None:
    try:
        found = parse_date(text)
    except ValueError:  # the 31st of February
        return None
    return found if found is not None and 1970 <= found.year < 9999 else None


def audit(request: HttpRequest) -> HttpResponse:
    wanted = _wanted(request)
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
    return file_answer(_wanted(request).csv(), "text/csv", "audit", "csv")
