"""A comparison of two experiment sets as CSV: by scheme, or by number of instructions.

scheme,experiments,mean difference %,mean absolute difference %
instructions,experiments,mean absolute difference %,within 0.5 %,…
"""

from __future__ import annotations

from inference.exchange.csv_cells import written
from inference.exchange.provenance import provenance_of
from inference.exchange.set_comparing import TOLERANCES, SetReport
from inference.models import ExperimentSet


def write_schemes_csv(report: SetReport, head: str = "") -> str:
    """A row per scheme, the largest mean absolute difference first."""
    header = ("scheme", "experiments", "mean difference %", "mean absolute difference %")
    return written(header, ((e.scheme, e.n, e.signed, e.absolute) for e in report.schemes), head)


def write_lengths_csv(report: SetReport, head: str = "") -> str:
    """A row per number of instructions, with the shares within each tolerance in per cent."""
    within = (f"within {tolerance:g} %" for tolerance in TOLERANCES)
    header = ("instructions", "experiments", "mean absolute difference %", *within)
    rows = (
        (each.length, each.n, each.mean, *(round(each.share(tolerance), 4) for tolerance in TOLERANCES))
        for each in report.lengths
    )
    return written(header, rows, head)


def comparison_head(first: ExperimentSet, second: ExperimentSet) -> str:
    """Lines of comments: which is which, and who made them."""
    both = (("first", first), ("second", second))
    return "".join(f"# {which}\n{provenance_of(row).commented('#')}" for which, row in both)
