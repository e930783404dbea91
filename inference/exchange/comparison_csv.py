"""A comparison of two port mappings as CSV: a row for every scheme that either describes.

    scheme,comparison,µops first,µops second,cycles first,cycles second,difference %

µops are written as on the pages, `2×[0,1] + 1×[5]`, both with the port names of the first mapping; cells are
empty where a mapping does not describe the scheme."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable

from inference.core.identity import ComparedScheme, Comparison
from inference.core.mapping import Uops, described

HEADER = (
    "scheme",
    "comparison",
    "µops first",
    "µops second",
    "cycles first",
    "cycles second",
    "difference %",
)


def write_comparison_csv(comparison: Comparison, rows: Iterable[ComparedScheme]) -> str:
    """Some schemes of a comparison, in the order given."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for row in rows:
        usages = [_usage(uops, comparison.ports) for uops in row.uops]
        cycles = [_number(value) for value in row.cycles]
        writer.writerow([row.scheme, row.kind.value, *usages, *cycles, _number(row.difference)])
    return out.getvalue()


def _usage(uops: Uops | None, ports: tuple[str, ...]) -> str:
    return "" if uops is None else described(uops, ports)


def _number(value: float | None) -> str:
    return "" if value is None or not math.isfinite(value) else repr(value)
