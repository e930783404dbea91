"""A comparison of two port mappings as CSV: a row for every scheme that either describes.

    scheme,comparison,µops first,µops second,cycles first,cycles second,difference %,differs in hidden

µops are written as on the pages, `2×[0,1] + 1×[5]`, both with the port names of the first mapping; cells are
empty where a mapping does not describe the scheme. `differs in hidden` is 1 where only µops differ that no
experiment can show, 0 where others do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from inference.core.identity import ComparedScheme, Comparison, Kind
from inference.core.mapping import Uops, described
from inference.exchange.csv_cells import written
from inference.exchange.provenance import provenance_of
from inference.models import PortMapping

HEADER = (
    "scheme",
    "comparison",
    "µops first",
    "µops second",
    "cycles first",
    "cycles second",
    "difference %",
    "differs in hidden",
)


def write_comparison_csv(comparison: Comparison, rows: Iterable[ComparedScheme], head: str = "") -> str:
    """Some schemes of a comparison, in the order given, below the lines of `head`."""
    return written(HEADER, (_cells(comparison, row) for row in rows), head)


def comparison_head(first: PortMapping, second: PortMapping) -> str:
    """Lines of comments: which is which, and who made them."""
    both = (("first", first), ("second", second))
    return "".join(f"# {which}\n{provenance_of(row).commented('#')}" for which, row in both)


def _cells(comparison: Comparison, row: ComparedScheme) -> list[object]:
    usages = [_usage(uops, comparison.ports) for uops in row.uops]
    cycles = [_finite(value) for value in row.cycles]
    hidden = int(row.differs_in_hidden) if row.kind is Kind.DIFFERENT else None
    return [row.scheme, row.kind.value, *usages, *cycles, _finite(row.difference), hidden]


def _usage(uops: Uops | None, ports: tuple[str, ...]) -> str:
    return "" if uops is None else described(uops, ports)


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value
