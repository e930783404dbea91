"""What an import made of a file, in one table: what was imported, left out or doubted, and why."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from inference.core.protocols import Json
from inference.isa.code.block import line_numbers
from inference.models import BasicBlockSet
from inference.web.published_page import CellKind, PublishedColumn, PublishedTable

_COLUMNS = (
    PublishedColumn("Outcome"),
    PublishedColumn("Rows", CellKind.NUMBER, 0),
    PublishedColumn("Why"),
)


def import_table(block_set: BasicBlockSet) -> PublishedTable:
    """A row per outcome and reason; without rows for sets that were not imported."""
    report = block_set.report or {}
    rows = tuple(_rows(block_set, report)) if report else ()
    return PublishedTable("import", "What was imported", _COLUMNS, rows)


def _rows(block_set: BasicBlockSet, report: Json) -> Iterator[tuple[str, int | None, str]]:
    yield "imported", block_set.size, block_set.source
    if duplicates := report.get("duplicates"):
        lines = report.get("duplicate_lines")
        yield (
            "imported again",
            duplicates,
            f"the same block as before: {line_numbers(lines)}" if lines else "",
        )
    if empty := report.get("empty"):
        yield "left out", empty, "without a block"
    yield from _left_out(report)
    for column, count in report.get("doubt_counts", {}).items():
        yield "doubted", count, f"faster than the processor allows: {column}"
    for note in (*report.get("notes", ()), *report.get("loops", ())):
        yield "note", None, note


def _left_out(report: Json) -> Iterator[tuple[str, int, str]]:
    """Rows with problems by what is wrong with them, the most frequent first."""
    problems = report.get("problems", ())
    counts = Counter(problem["message"] for problem in problems)
    lines: dict[str, list[int]] = defaultdict(list)
    for problem in problems:
        if problem["row"] is not None:
            lines[problem["message"]].append(problem["row"])
    for message, count in counts.most_common():
        place = f" ({line_numbers(lines[message])})" if lines[message] else ""
        yield "left out", count, f"{message}{place}"
    if unlisted := report.get("problem_count", 0) - len(problems):
        yield "left out", unlisted, "further problems, which are only counted"
