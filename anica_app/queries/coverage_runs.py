"""What runs of kind `coverage` have found out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from inference.core.protocols import Json
from inference.models import Run

KIND = "coverage"
_LISTED = 20


@dataclass(frozen=True)
class CoverageRuns:
    """The runs over some campaigns: `shown` is the one to look at, where one is done."""

    done: tuple[Run, ...]
    working: tuple[Run, ...]
    failed: Run | None
    shown: Run | None

    @property
    def result(self) -> Json:
        """What the shown one has found; {} without one."""
        return {} if self.shown is None else dict(self.shown.result)


def coverage_runs(campaigns: Sequence[int], wanted: int | None = None) -> CoverageRuns:
    """Those over just these campaigns, newest first; `wanted`: the id of the one to look at (two queries)."""
    return _looked_up(Run.objects.filter(kind=KIND, config__campaigns=sorted(campaigns)), wanted)


def coverage_of_set(block_set: int, wanted: int | None = None) -> CoverageRuns:
    """Those over a basic-block set, of whatever campaigns (two queries)."""
    return _looked_up(Run.objects.filter(kind=KIND, config__block_set=block_set), wanted)


def _looked_up(rows: QuerySet[Run], wanted: int | None) -> CoverageRuns:
    rows = rows.order_by("-pk")
    runs = list(rows.defer("result", "note")[:_LISTED])
    done = [run for run in runs if run.state == Run.State.DONE]
    shown = next((run for run in done if wanted in (None, run.pk)), None)
    return CoverageRuns(
        tuple(done),
        tuple(run for run in runs if run.state not in Run.FINAL),
        runs[0] if runs and runs[0].state == Run.State.FAILED else None,
        None if shown is None else Run.objects.get(pk=shown.pk),
    )
