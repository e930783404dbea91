"""The measurements that contain a scheme as CSV, the shortest experiments first, in the format of uploads.

    experiment,cycles,note

The note has the set and the state of a measurement. Failed ones have no cycles and are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from inference.core.experiment import Measured
from inference.formats.provenance import head_of
from inference.formats.quoting import csv_text

HEADER = ("experiment", "cycles", "note")


def write_scheme_csv(scheme: str, isa: str, total: int, rows: Sequence[tuple[str, Measured]]) -> str:
    """Measurements of a scheme as CSV.

    Args:
        scheme: Its text.
        isa: Name of the instruction set.
        total: Number of all measurements with it, of which `rows` may be a part.
        rows: (name of the set, measurement), the shortest experiments first.
    """
    extent = "all" if total <= len(rows) else f"the {len(rows):,} shortest"
    remark = f"# measured experiments with {scheme} ({isa}): {total:,}, here {extent} of them\n"
    cells = ((str(value.experiment), value.cycles, f"{name}, {value.state.value}") for name, value in rows)
    return csv_text(HEADER, cells, head_of() + remark)
