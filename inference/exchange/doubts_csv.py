"""The doubts of a port mapping as CSV: a row for every doubt of every scheme.

    kind,scheme,µops,other µops,why

µops are written as on the pages, `2×[0,1] + 1×[5]`, several possibilities joined by " or "; cells are empty
where there are none."""

from __future__ import annotations

from inference.core.doubting import LABELS, Doubts
from inference.core.mapping import described
from inference.exchange.csv_cells import written
from inference.exchange.provenance import provenance_of
from inference.models import PortMapping

HEADER = ("kind", "scheme", "µops", "other µops", "why")


def write_doubts_csv(doubts: Doubts, head: str = "") -> str:
    """All of them, in their order, below the lines of `head`."""
    rows = (
        (
            LABELS[each.kind],
            each.scheme,
            "" if each.here is None else described(each.here, doubts.ports),
            " or ".join(described(uops, doubts.ports) for uops in each.others),
            each.words,
        )
        for each in doubts.rows
    )
    return written(HEADER, rows, head)


def doubts_head(row: PortMapping, other: PortMapping | None) -> str:
    """Lines of comments: whose doubts, and what it was held against."""
    head = provenance_of(row).commented("#")
    return head if other is None else f"{head}# held against\n{provenance_of(other).commented('#')}"
