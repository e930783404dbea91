"""What takes room and for how long it is kept, with what the newest look at it found."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from pmweb.models import Pruning
from pmweb.retention.policy import FOR_EVER, TRACES, policy, variable
from pmweb.retention.trace import Trace

_SHOWN = 20


@dataclass(frozen=True)
class Line:
    """A trace with how long it is kept, 0 for ever, and what the newest look found, None where none has."""

    trace: Trace
    keep: int
    variable: str
    rows: int | None
    size: int | None


@dataclass(frozen=True)
class Overview:
    """All traces; `look` is the newest that has ended, `waiting` what a worker was asked for."""

    lines: list[Line]
    look: Pruning | None
    waiting: Pruning | None
    prunings: list[Pruning]
    nightly: bool


def overview() -> Overview:
    """One query. Nothing is weighed here: a worker does that."""
    newest = list(Pruning.objects.select_related("asked_by")[:_SHOWN])
    look = next((row for row in newest if row.dry and row.ended), None)
    seen = {line["key"]: line for line in look.report} if look else {}
    kept = policy()
    return Overview(
        [_line(trace, kept[trace.key], seen.get(trace.key, {})) for trace in TRACES],
        look,
        next((row for row in newest if row.ended is None), None),
        [row for row in newest if row.ended and not row.dry],
        settings.PRUNE_NIGHTLY,
    )


def _line(trace: Trace, keep: int, found: dict[str, int]) -> Line:
    seen = found if keep != FOR_EVER else {}
    return Line(trace, keep, variable(trace.key), seen.get("rows"), seen.get("size"))
