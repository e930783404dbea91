"""API operations on the installation, the audit log and storage."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Schema, Status
from pydantic import Field

from inference.runs.request import AllowedTexts
from inference.web.api.access import admin_access
from inference.web.api.document import FILE
from inference.web.api.errors import ProblemError
from inference.web.api.paging import PageOf, Paging, list_answer
from inference.web.api.shapes import Input, RowOut, Text, Time
from inference.web.file_answers import attachment
from inference.web.validation import Id
from pmweb import installation
from pmweb.accounts import audit
from pmweb.accounts.audit import COLUMNS, VIA, AuditQuery
from pmweb.models import AuditEntry, Pruning
from pmweb.retention import overview, request_pruning

about_router = Router()


audit_router = Router()
ActionName = Annotated[str, AllowedTexts(["", *AuditEntry.Action.values])]
Way = Annotated[str, AllowedTexts(["", *VIA])]
storage_router = Router()


class ProgramOut(Schema):
    """An optional program, and the executables found on this host."""

    program: str = Field(examples=["llvm-mca"])
    found: dict[str, str] = Field(
        description="Path and version.", examples=[{"/usr/bin/llvm-mca-22": "22.1.0"}]
    )


class AboutOut(Schema):
    """The installation; labels and values are for people."""

    facts: dict[str, str] = Field(examples=[{"pmweb": "0.8.0", "Python": "3.11.7"}])
    access: dict[str, str] = Field(
        description="Access for visitors, and limits per account.",
        examples=[{"Unfinished runs of a user": "at most 20"}],
    )
    computing: dict[str, str] = Field(examples=[{"Processors": "16 of this computer"}])
    containment: dict[str, str] = Field(
        description="How predictors' programs are isolated.",
        examples=[{"Files": "closed by Landlock 7"}],
    )
    measuring: dict[str, str] = Field(examples=[{"Agent": "0.8.0, protocol 3"}])
    libraries: dict[str, str] = Field(examples=[{"numpy": "2.2.0"}])
    programs: list[ProgramOut]


@about_router.get("/about", response=AboutOut)
def get_about(request: HttpRequest) -> Any:
    """Versions, limits, and installed or missing components. Needs an account, of any role."""
    if not request.user.is_authenticated:
        raise ProblemError(
            403, "This is for those who have an account", where="header Authorization", right="a token"
        )
    return {
        **{name: dict(lines) for name, lines in installation.sections().items()},
        "programs": [
            {
                "program": program.name,
                "found": {file.path: file.version for file in files},
            }
            for program, files in installation.find_programs()
        ],
    }


class AuditFilter(Schema):
    """Filter of entries; both days are included, in UTC."""

    q: Text = Field("", description="Text in the account, the object or the action.", examples=["ada"])
    action: ActionName = ""
    via: Way = ""
    since: date | None = Field(None, examples=["2026-11-01"])
    until: date | None = Field(None, examples=["2026-11-22"])

    def query(self) -> AuditQuery:
        """The filter as a query of the log."""
        return AuditQuery(self.q.strip(), self.action, self.via, self.since, self.until)


class AuditOut(RowOut):
    """An entry of the audit log, with names as of its time."""

    id: Id
    at: Time
    who: str = Field(
        validation_alias="actor_name",
        description="Account; empty for a visitor.",
        examples=["ada"],
    )
    action: str = Field(examples=["started"])
    kind: str = Field(description="Kind of the object.", examples=["run"])
    object_id: Id | None
    name: str = Field(examples=["PMEvo on pairs, seed 1"])
    detail: str = Field(examples=[""])
    via: str = Field(description="Origin of the action: page, API or command.", examples=["API"])
    address: str = Field(examples=["192.0.2.7"])


@audit_router.get("/audit", response=PageOf[AuditOut], auth=admin_access)
def list_audit_entries(request: HttpRequest, paging: Query[Paging], conditions: Query[AuditFilter]) -> Any:
    """The audit log, newest first."""
    return list_answer(conditions.query().rows(), COLUMNS, "-at", paging, list)


@audit_router.get("/audit/export", response=str, auth=admin_access, openapi_extra={FILE: "text/csv"})
def export_audit_log(request: HttpRequest, conditions: Query[AuditFilter]) -> HttpResponse:
    """The same entries as CSV, the newest 50,000 of them, oldest first."""
    text = conditions.query().csv()
    audit.record_export(request.user, detail="audit-csv")
    return attachment(text, "text/csv; charset=utf-8", "audit", "csv")


class TraceOut(Schema):
    """A kind of old data. `rows` and `size` exceed the retention, by the newest dry run."""

    key: str = Field(examples=["checkpoints"])
    title: str = Field(examples=["Checkpoints of ended runs"])
    keep: int = Field(description="Retention in `unit`; 0: forever.", examples=[7])
    unit: str = Field(examples=["days"])
    variable: str = Field(
        description="Environment variable that sets the retention.", examples=["PMWEB_KEEP_CHECKPOINTS"]
    )
    rows: int | None = Field(examples=[12])
    size: int | None = Field(description="Bytes.", examples=[1_048_576])


class PruningOut(Schema):
    """A pruning, or a dry run of one; `rows` and `size` are of all kinds of data."""

    id: Id
    asked: Time
    asked_by: str | None = Field(
        description="Account that requested it; null for the nightly pruning.", examples=["ada"]
    )
    dry: bool = Field(examples=[True])
    started: Time | None
    ended: Time | None
    rows: int = Field(examples=[12])
    size: int = Field(description="Bytes.", examples=[1_048_576])


class StorageOut(Schema):
    """All kinds of old data, and the newest prunings."""

    nightly: bool = Field(description="Whether pruning runs every night.", examples=[False])
    traces: list[TraceOut]
    look: PruningOut | None = Field(description="The newest finished dry run.")
    waiting: PruningOut | None = Field(description="Requested prunings that have not finished.")
    prunings: list[PruningOut]


class NewPruning(Input):
    """A pruning for a worker to do."""

    remove: bool = Field(
        False, description="true removes data older than its retention; false only lists it."
    )


@storage_router.get("/storage", response=StorageOut, auth=admin_access)
def get_storage(request: HttpRequest) -> Any:
    """Size and retention of each kind of old data, and the newest prunings."""
    storage = overview()
    return {
        "nightly": storage.nightly,
        "traces": [
            {
                "key": line.trace.key,
                "title": line.trace.title,
                "unit": line.trace.unit,
                **{name: getattr(line, name) for name in ("keep", "variable", "rows", "size")},
            }
            for line in storage.lines
        ],
        "look": _pruning_json(storage.look),
        "waiting": _pruning_json(storage.waiting),
        "prunings": [_pruning_json(row) for row in storage.prunings],
    }


@storage_router.post("/storage/prunings", response={202: PruningOut}, auth=admin_access)
def ask_for_pruning(request: HttpRequest, data: NewPruning) -> Any:
    """Have a worker list, or remove, data older than its retention; `GET /storage` has the outcome."""
    row = request_pruning(request.user, dry=not data.remove)
    action = audit.Action.DELETED if data.remove else audit.Action.STARTED
    audit.record(request.user, action, row, detail="storage-prune")
    return Status(202, _pruning_json(row))


def _pruning_json(row: Pruning | None) -> dict[str, Any] | None:
    if row is None:
        return None
    names = ("id", "asked", "dry", "started", "ended", "rows", "size")
    by = None if row.asked_by is None else row.asked_by.get_username()
    return {**{name: getattr(row, name) for name in names}, "asked_by": by}
