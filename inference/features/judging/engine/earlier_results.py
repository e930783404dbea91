"""What runs of earlier versions stored of a comparison, as tables: there are no arrays to make views of."""

from __future__ import annotations

from inference.core.protocols import Json
from inference.features.judging.engine.view_values import number
from inference.web.published_page import PublishedColumn, PublishedTable

_SCORES = (number("MAPE (%)"), number("Pearson r", 3), number("Kendall τ", 3))


def earlier_tables(result: Json) -> list[PublishedTable]:
    """The tables of a run's result, whichever kind of comparison it was; none for other results."""
    return [table for key, tables in _TABLES.items() if key in result for table in tables(result[key])]


def _of_columns(accuracy: Json) -> list[PublishedTable]:
    heads = (PublishedColumn("Column"), number("Answered", 0), number("Compared", 0), *_SCORES)
    rows = tuple(
        (one["name"], one["answered"], scores["n"], scores["mape"], scores["pearson"], scores["kendall"])
        for one in accuracy["columns"]
        for scores in [one["scores"]]
    )
    return [PublishedTable("columns", "Columns beside the reference", heads, rows)]


_TABLES = {"accuracy": _of_columns}
"""{key of a result: the tables of what it has there}."""
