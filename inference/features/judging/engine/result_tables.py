"""What the result of a run says of a comparison, as tables: for pages and shells of runs of any version.

Runs of earlier versions have stored that alone, without the arrays of which views are made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from inference.core.protocols import Json
from inference.features.judging.engine.tables import number
from inference.isa.blocks import intel_or_digits
from inference.isa.targets import DEFAULT
from inference.web.published_page import CellKind, PublishedColumn, PublishedTable, Value

_COUNTS = (number("Answered", 0), number("Failures", 0), number("Compared", 0), number("MAPE (%)"))
_CORRELATIONS = (number("Pearson r", 3), number("Kendall τ", 3))


def result_tables(result: Json) -> list[PublishedTable]:
    """The tables of a result, whichever kind of comparison it was; none for other results."""
    tables = []
    if "accuracy" in result:
        tables.append(columns_table(result["accuracy"]))
    if "check" in result:
        tables += _of_check(result["check"])
    if "both" in result:
        tables.append(_matrix(result))
    return tables


def columns_table(accuracy: Json) -> PublishedTable:
    """The columns of a basic-block set beside one of them, a row each."""
    heads = (PublishedColumn("Column"), *_COUNTS, *_CORRELATIONS, number("MAPE by weight (%)"))
    rows = tuple(
        (*_counts(one), one["scores"]["pearson"], one["scores"]["kendall"], one["weighted"])
        for one in accuracy["columns"]
    )
    return PublishedTable("columns", "Columns beside the reference", heads, rows)


def check_table(check: Json) -> PublishedTable:
    """All that was asked in an accuracy check, a row each; first the measurement once more."""
    heads = (
        *(PublishedColumn("Predictor"), *_COUNTS, number("Median (%)"), *_CORRELATIONS),
        *(number("Within 10 %", 3), number("More than 3 % above", 3)),
        *(PublishedColumn("Verdict", CellKind.CHOICE), PublishedColumn("Why")),
    )
    rows = tuple(_check_row(one) for one in (check["again"], *check["predictors"]))
    title = f"{check['measured']:,} of {check['blocks']:,} blocks of {check['source']} on {check['machine']}"
    return PublishedTable("check", f"{title}, {check['mode']}", heads, rows)


def _check_row(one: Json) -> tuple[Value, ...]:
    scores, judgement = one["scores"], one.get("judgement") or {"grade": "", "reasons": ()}
    return (
        *(*_counts(one), one["median"], scores["pearson"], scores["kendall"], one["near"], one["above"]),
        *(judgement["grade"], "; ".join(judgement["reasons"])),
    )


def _counts(one: Json) -> tuple[Value, ...]:
    scores = one["scores"]
    return (one["name"], one["answered"], one["failed"], scores["n"], scores["mape"])


def _of_check(check: Json) -> Iterator[PublishedTable]:
    yield check_table(check)
    yield from _table("Left out", ("Predictor", "Reason"), check["unasked"].items())
    for one in check["predictors"]:
        by_bound = ((part["bound"], part["n"], part["mape"], part["median"]) for part in one["bounds"])
        titles = ("Largest bound", "Blocks", "MAPE (%)", "Median (%)")
        yield from _table(f"{one['name']}, by component", titles, by_bound)
        traits = (
            (f"{trait['kind']} {trait['name']}", trait["n"], trait["inside"], trait["outside"])
            for trait in one["traits"]["found"]
        )
        titles = ("Trait", "Blocks", "Median error (%)", "of the others (%)")
        yield from _table(f"{one['name']}, what goes with large errors", titles, traits)
        worst = ((_assembly(block), block["measured"], block["said"]) for block in one["worst"])
        yield from _table(f"Worst blocks of {one['name']}", ("Block", "Measured", "Says"), worst)


def _table(
    title: str, titles: tuple[str, ...], rows: Iterable[tuple[Value, ...]]
) -> Iterator[PublishedTable]:
    """One of texts, numbers behind the first column; none without rows."""
    found = tuple(rows)
    if found:
        kinds = (CellKind.NUMBER if isinstance(value, int | float) else CellKind.TEXT for value in found[0])
        heads = tuple(PublishedColumn(head, kind) for head, kind in zip(titles, kinds, strict=True))
        yield PublishedTable("details", title, heads, found)


def _assembly(block: Json) -> str:
    return "; ".join(intel_or_digits(bytes.fromhex(block["hex"]), block.get("isa", DEFAULT)))


def _matrix(result: Json) -> PublishedTable:
    names = [column["name"] for column in result["columns"]]
    counts = list(zip(result["differing"], result["both"], strict=True))
    rows = tuple(
        (
            name,
            *(
                100 * far / both if both and other != place else None
                for other, (far, both) in enumerate(zip(*counts[place], strict=True))
            ),
        )
        for place, name in enumerate(names)
    )
    heads = (PublishedColumn("Tool"), *(number(name, 1) for name in names))
    note = "Per cent of the blocks for which both have a number that they disagree about."
    return PublishedTable("matrix", "How often each two disagree", heads, rows, note)
