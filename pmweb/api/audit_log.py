"""For administrators: who did what."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Schema
from pydantic import Field

from inference.runs.request import OneOf
from inference.web.api.access import administering
from inference.web.api.document import FILE
from inference.web.api.paging import PageOf, Paging, listed
from inference.web.api.shapes import RowOut, Text, Time
from inference.web.file_answers import attachment
from inference.web.validation import Id
from pmweb.accounts import audit
from pmweb.accounts.audit_query import COLUMNS, VIA, AuditQuery
from pmweb.models import AuditEntry

router = Router()
ActionName = Annotated[str, OneOf(["", *AuditEntry.Action.values])]
Way = Annotated[str, OneOf(["", *VIA])]


class AuditFilter(Schema):
    """Which entries; days are both included, in UTC."""

    q: Text = Field("", description="A text in who did it, what it was done to, or how.", examples=["ada"])
    action: ActionName = ""
    via: Way = ""
    since: date | None = Field(None, examples=["2026-11-01"])
    until: date | None = Field(None, examples=["2026-11-22"])

    def wanted(self) -> AuditQuery:
        """As the page reads it."""
        return AuditQuery(self.q.strip(), self.action, self.via, self.since, self.until)


class AuditOut(RowOut):
    """One thing that somebody did; names are those of then."""

    id: Id
    at: Time
    who: str = Field(
        validation_alias="actor_name",
        description="Empty: a visitor who was not logged in.",
        examples=["ada"],
    )
    action: str = Field(examples=["started"])
    kind: str = Field(description="Of what it was done to.", examples=["run"])
    object_id: Id | None
    name: str = Field(examples=["PMEvo on pairs, seed 1"])
    detail: str = Field(examples=[""])
    via: str = Field(description="page, API or command.", examples=["API"])
    address: str = Field(examples=["192.0.2.7"])


@router.get("/audit", response=PageOf[AuditOut], auth=administering)
def list_audit_entries(request: HttpRequest, paging: Query[Paging], asked: Query[AuditFilter]) -> Any:
    """The audit log, newest first."""
    return listed(asked.wanted().rows(), COLUMNS, "-at", paging, list)


@router.get("/audit/export", response=str, auth=administering, openapi_extra={FILE: "text/csv"})
def export_audit_log(request: HttpRequest, asked: Query[AuditFilter]) -> HttpResponse:
    """The same entries as CSV, the newest 50,000 of them, oldest first."""
    text = asked.wanted().csv()
    audit.exported(request.user, detail="audit-csv")
    return attachment(text, "text/csv; charset=utf-8", "audit", "csv")
