"""For administrators: what takes room, for how long it is kept, and letting it go."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema, Status
from pydantic import Field

from inference.web.api.access import administering
from inference.web.api.shapes import Input, Time
from inference.web.validation import Id
from pmweb.accounts import audit
from pmweb.models import Pruning
from pmweb.retention.pruning import ask, overview

router = Router()


class TraceOut(Schema):
    """Something that takes room. `rows` and `size`: what is older than it is kept, by the newest look."""

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
    """A look at what is old (`dry`), or its removal; `rows` and `size` are of all traces."""

    id: Id
    asked: Time
    asked_by: str | None = Field(description="Null: the night.", examples=["ada"])
    dry: bool = Field(examples=[True])
    started: Time | None
    ended: Time | None
    rows: int = Field(examples=[12])
    size: int = Field(description="Bytes.", examples=[1_048_576])


class StorageOut(Schema):
    """All traces of old work, and the newest prunings."""

    nightly: bool = Field(description="Whether each night prunes.", examples=[False])
    traces: list[TraceOut]
    look: PruningOut | None = Field(description="The newest look that has ended.")
    waiting: PruningOut | None = Field(description="What a worker has been asked for and has not ended.")
    prunings: list[PruningOut]


class NewPruning(Input):
    """What a worker shall do."""

    remove: bool = Field(
        False, description="Remove what is older than it is kept; without, only look what would go."
    )


@router.get("/storage", response=StorageOut, auth=administering)
def get_storage(request: HttpRequest) -> Any:
    """What takes room, for how long it is kept, and what was removed lately."""
    seen = overview()
    return {
        "nightly": seen.nightly,
        "traces": [
            {
                "key": line.trace.key,
                "title": line.trace.title,
                "unit": line.trace.unit,
                **{name: getattr(line, name) for name in ("keep", "variable", "rows", "size")},
            }
            for line in seen.lines
        ],
        "look": _pruning(seen.look),
        "waiting": _pruning(seen.waiting),
        "prunings": [_pruning(row) for row in seen.prunings],
    }


@router.post("/storage/prunings", response={202: PruningOut}, auth=administering)
def ask_for_pruning(request: HttpRequest, data: NewPruning) -> Any:
    """Let a worker look what is older than it is kept, or remove it; `GET /storage` says what came of it."""
    row = ask(request.user, dry=not data.remove)
    action = audit.Action.DELETED if data.remove else audit.Action.STARTED
    audit.record(request.user, action, row, detail="storage-prune")
    return Status(202, _pruning(row))


def _pruning(row: Pruning | None) -> dict[str, Any] | None:
    if row is None:
        return None
    names = ("id", "asked", "dry", "started", "ended", "rows", "size")
    by = None if row.asked_by is None else row.asked_by.get_username()
    return {**{name: getattr(row, name) for name in names}, "asked_by": by}
