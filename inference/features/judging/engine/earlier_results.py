"""What runs of earlier versions stored of a comparison, as tables: there are no arrays to make views of."""

from __future__ import annotations

from inference.core.protocols import Json
from inference.features.judging.engine.view_values import number
from inference.isa.blocks.listing import intel_or_digits
from inference.isa.targets import DEFAULT
from inference.web.published_page import CellKind, PublishedColumn, PublishedTable, Value

_SCORES = (number("MAPE (%)"), number("Pearson r", 3), number("Kendall τ", 3))


def earlier_tables(result: Json) -> list[PublishedTable]:
    """The tables of a run's result, whichever kind of comparison it was; none for other results."""
    if "both" in result:
        return [_of_matrix(result)]
    return [table for key, tables in _TABLES.items() if key in result for table in tables(result[key])]


def _of_matrix(result: Json) -> PublishedTable:
    names = [column["name"] for column in result["columns"]]
    rows = tuple(
        (name, *(None if not both else 100 * far / both for far, both in zip(*counts, strict=True)))
        for name, counts in zip(names, zip(result["differing"], result["both"], strict=True), strict=True)
    )
    heads = (PublishedColumn("Tool"), *(number(name, 1) for name in names))
    note = "Per cent of the blocks for which both have a number that they disagree about."
    return PublishedTable("matrix", "How often each two disagree", heads, rows, note)


def _of_columns(accuracy: Json) -> list[PublishedTable]:
    heads = (PublishedColumn("Column"), number("Answered", 0), number("Compared", 0), *_SCORES)
    rows = tuple(
        (one["name"], one["answered"], scores["n"], scores["mape"], scores["pearson"], scores["kendall"])
        for one in accuracy["columns"]
        for scores in [one["scores"]]
    )
    return [PublishedTable("columns", "Columns beside the reference", heads, rows)]


def _of_check(check: Json) -> list[PublishedTable]:
    heads = (
        *(PublishedColumn("Predictor"), number("Answered", 0), number("Compared", 0), *_SCORES),
        *(number("Median (%)"), PublishedColumn("Verdict"), PublishedColumn("Why")),
    )
    checked = [check["again"], *check["predictors"]]
    rows = tuple(_check_row(one) for one in checked)
    reasons = tuple(check["unasked"].items())
    tables = [PublishedTable("check", f"Measured on {check['machine']}", heads, rows)]
    if reasons:
        titles = (PublishedColumn("Predictor"), PublishedColumn("Reason"))
        tables.append(PublishedTable("unasked", "Left out", titles, reasons))
    return tables + [_of_worst(one) for one in checked if one["worst"]]


def _check_row(one: Json) -> tuple[Value, ...]:
    scores, judgement = one["scores"], one.get("judgement") or {}
    return (
        *(one["name"], one["answered"], scores["n"], scores["mape"], scores["pearson"], scores["kendall"]),
        *(one["median"], judgement.get("grade"), "; ".join(judgement.get("reasons", ()))),
    )


def _of_worst(one: Json) -> PublishedTable:
    heads = (PublishedColumn("Block", CellKind.CODE), number("Measured"), number("Says"))
    rows = tuple((_assembly(block), block["measured"], block["said"]) for block in one["worst"])
    return PublishedTable("worst", f"Worst blocks of {one['name']}", heads, rows)


def _assembly(block: Json) -> str:
    return "; ".join(intel_or_digits(bytes.fromhex(block["hex"]), block.get("isa", DEFAULT)))


_TABLES = {"accuracy": _of_columns, "check": _of_check}
"""{key of a result: the tables of what it has there}."""
