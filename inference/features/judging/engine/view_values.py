"""What a view is asked and what it gives: tables, whatever door they are shown at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from inference.core.judging.disagreement import DifferenceMetric
from inference.core.judging.sheet import ComparedPoints
from inference.core.protocols import Json
from inference.features.judging.engine.query import (
    EVERYTHING,
    ComparisonPart,
    key_of,
    points_of,
)
from inference.models import ComparedColumn, Comparison
from inference.web.published_page import PublishedTable


@dataclass(frozen=True)
class ViewQuestion:
    """What a view is asked: about which column, on which part; `threshold` and `metric` say when two sources
    disagree.
    """

    row: Comparison
    columns: Sequence[ComparedColumn]
    column: ComparedColumn
    part: ComparisonPart = EVERYTHING
    threshold: float = 0.5
    metric: str = DifferenceMetric.RELATIVE.value

    @property
    def points(self) -> ComparedPoints:
        """The column beside the reference."""
        return points_of(key_of(self.row), self.column.position, self.part)

    @property
    def reference(self) -> str:
        """The name of what the column is held against."""
        if self.part.against is not None:
            return self.columns[self.part.against].name
        return self.row.reference or "measured"


@dataclass(frozen=True)
class ComparisonView:
    """A view.

    `suits`: whether it has anything to say of a comparison with these columns. `has_page`: its tables fill a
    tab.
    """

    name: str
    label: str
    help: str
    tables: Callable[[ViewQuestion], list[PublishedTable]]
    suits: Callable[[Sequence[ComparedColumn]], bool] = lambda columns: True
    has_page: bool = True


def view_json(view: ComparisonView, question: ViewQuestion, selected: int) -> Json:
    """A view as API and shell give it; `selected`: how many items are looked at."""
    return {
        "run": question.row.run_id,
        "view": view.name,
        "items": question.row.item_kind,
        "source": question.row.source,
        "reference": question.reference,
        "column": question.column.name,
        "n": question.row.n,
        "selected": selected,
        "tables": [
            {
                "key": table.key,
                "title": table.title,
                "note": table.note,
                "columns": [column.title for column in table.columns],
                "rows": [list(row) for row in table.rows],
            }
            for table in view.tables(question)
        ],
    }
