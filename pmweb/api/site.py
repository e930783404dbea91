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
        description="Who may read, and how much somebody may have at a time.",
        examples=[{"Unfinished runs of a user": "at most 20"}],
    )
    computing: dict[str, str] = Field(examples=[{"Processors": "16 of this computer"}])
    containment: dict[str, str] = Field(
        description="What keeps predictors' programs from all else here.",
        examples=[{"Files": "closed by Landlock 7"}],
    )
    measuring: dict[str, str] = Field(examples=[{"Agent": "0.8.0, protocol 3"}])
    libraries: dict[str, str] = Field(examples=[{"numpy": "2.2.0"}])
    programs: list[ProgramOut]


@about_router.get("/about", response=AboutOut)
def get_about(request: HttpRequest) -> Any:
    """Versions, limits, and what this installation has or lacks, for whoever has an account."""
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

    q: Text = Field("", description="A text in who did it, what it was done to, or how.", examples=["ada"])
    action: ActionName = ""
    via: Way = ""
    since: date | None = Field(None, examples=["2026-11-01"])
    until: date | None = Field(None, examples=["2026-11-22"])

    def query(self) -> AuditQuery:
        """The filter as a query of the log."""
        return AuditQuery(self.q.strip(), self.action, self.via, self.since, self.until)


class AuditOut(RowOut):
    """An entry of the audit log; names are those of that time."""

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
    keep: int = Field(description="In `unit`; 0: for ever.", examples=[7])
    unit: str = Field(examples=["days"])
    variable: str = Field(
        description="Of the environment, that says so.", examples=["PMWEB_KEEP_CHECKPOINTS"]
    )
    rows: int | None = Field(examples=[12])
    size: int | None = Field(description="Bytes.", examples=[1_048_576])


class PruningOut(Schema):
    """A pruning, or a dry run of one; `rows` and `size` are of all kinds of data."""

    id: Id
    asked: Time
    asked_by: str | None = Field(description="Null: the night.", examples=["ada"])
    dry: bool = Field(examples=[True])
    started: Time | None
    ended: Time | None
    rows: int = Field(examples=[12])
    size: int = Field(description="Bytes.", examples=[1_048_576])


class StorageOut(Schema):
    """All kinds of old data, and the newest prunings."""

    nightly: bool = Field(description="Whether each night prunes.", examples=[False])
    traces: list[TraceOut]
    look: PruningOut | None = Field(description="The newest look that has ended.")
    waiting: PruningOut | None = Field(description="What a worker has been asked for and has not ended.")
    prunings: list[PruningOut]


class NewPruning(Input):
    """A pruning for a worker to do."""

    remove: bool = Field(
        False, description="Remove what is older than it is kept; without, only look what would go."
    )


@storage_router.get("/storage", response=StorageOut, auth=admin_access)
def get_storage(request: HttpRequest) -> Any:
    """What takes room, for how long it is kept, and what was removed lately."""
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
        "look": _pruning(storage.look),
        "waiting": _pruning(storage.waiting),
        "prunings": [_pruning(row) for row in storage.prunings],
    }


@storage_router.post("/storage/prunings", response={202: PruningOut}, auth=admin_access)
def ask_for_pruning(request: HttpRequest, data: NewPruning) -> Any:
    """Let a worker look what is older than it is kept, or remove it; `GET /storage` says what came of it."""
    row = request_pruning(request.user, dry=not data.remove)
    action = audit.Action.DELETED if data.remove else audit.Action.STARTED
    audit.record(request.user, action, row, detail="storage-prune")
    return Status(202, _pruning(row))


def _pruning(row: Pruning | None) -> dict[str, Any] | None:
    if row is None:
        return None
    names = ("id", "asked", "dry", "started", "ended", "rows", "size")
    by = None if row.asked_by is None else row.asked_by.get_username()
    return {**{name: getattr(row, name) for name in names}, "asked_by": by}
