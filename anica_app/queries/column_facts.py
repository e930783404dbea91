"""What the columns of a basic-block set hold, in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Max, Min

from anica_app.models import BasicBlockSet, BlockColumn, Prediction


@dataclass(frozen=True)
class ColumnNumbers:
    """Of `blocks`, how many it has a number for, how many its tool failed on; the range of the numbers."""

    blocks: int
    numbers: int
    failures: int
    least: float | None
    most: float | None

    @property
    def nothing(self) -> int:
        """Blocks that the tool was not asked about."""
        return self.blocks - self.numbers - self.failures

    @property
    def share(self) -> float | None:
        """The share of the blocks for which there is a number."""
        return self.numbers / self.blocks if self.blocks else None


def numbers_of(
    block_set: BasicBlockSet, columns: Sequence[BlockColumn]
) -> list[tuple[BlockColumn, ColumnNumbers]]:
    """Each column with its numbers (one query, over an index alone)."""
    rows = Prediction.objects.filter(column__in=[column.pk for column in columns]).order_by()
    counted = rows.values("column").annotate(
        n=Count("pk"), numbers=Count("cycles"), least=Min("cycles"), most=Max("cycles")
    )
    found = {row["column"]: row for row in counted}
    size = block_set.size
    return [(column, _numbers(size, found.get(column.pk))) for column in columns]


def _numbers(size: int, row: dict[str, float] | None) -> ColumnNumbers:
    if row is None:
        return ColumnNumbers(size, 0, 0, None, None)
    numbers = int(row["numbers"])
    return ColumnNumbers(size, numbers, int(row["n"]) - numbers, row["least"], row["most"])
