"""What depends on a basic-block set, and what becomes of it when that is deleted."""

from __future__ import annotations

from anica_app.models import BasicBlockSet
from inference.models import Run
from inference.web.naming import ENDED, GONE, NEEDED, Dependent, counted


def of_block_set(row: BasicBlockSet) -> list[Dependent]:
    """Its blocks and columns go with it; a run that works on it forbids its deletion."""
    runs = Run.objects.filter(config__block_set=row.pk)
    ended = runs.filter(state__in=Run.FINAL).count()
    return [
        *counted(row.size, "block", GONE),
        *counted(row.columns.count(), "column with its answers", GONE, "columns with their answers"),
        *counted(runs.count() - ended, "unfinished run", NEEDED, blocks=True),
        *counted(ended, "run", ENDED),
    ]
