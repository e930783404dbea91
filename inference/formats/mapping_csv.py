"""The schemes of a port mapping as CSV, for spreadsheets and scripts; see docs/formats.md.

    scheme,µops,number of µops,slots,cycles measured,cycles by the mapping,difference %,witnesses,…

Lines that begin with `#` come first and say what this is. Cells are empty where there is no such number:
of slots, where the mapping has no issue width. `hidden` says which µops no experiment can show.
"""

from __future__ import annotations

from collections.abc import Iterator

from inference.core.mapping import described
from inference.formats.csv_cells import written
from inference.formats.exported import ExportedMapping

HEADER = (
    "scheme",
    "µops",
    "number of µops",
    "slots",
    "cycles measured",
    "cycles by the mapping",
    "difference %",
    "witnesses",
    "µops counted",
    "doubts",
    "hidden",
)


def write_mapping_csv(mapping: ExportedMapping) -> str:
    """A row for every scheme, in the order of the instruction set."""
    return written(HEADER, _rows(mapping), mapping.provenance.commented("#"))


def _rows(mapping: ExportedMapping) -> Iterator[list[object]]:
    for scheme in mapping.schemes:
        known = scheme.evidence
        difference = (
            None if not known.measured else 100 * (scheme.predicted - known.measured) / known.measured
        )
        yield [
            scheme.text,
            described(scheme.uops, mapping.value.ports),
            scheme.count,
            None if mapping.value.issue_width is None else scheme.slots,
            known.measured,
            scheme.predicted,
            None if difference is None else round(difference, 4),
            known.witnesses,
            known.counted,
            "; ".join((*known.doubts, *known.conflicts)),
            "" if scheme.hidden is None else str(scheme.hidden),
        ]
