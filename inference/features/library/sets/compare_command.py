"""`manage.py compare-sets`: do two sets of measurements say the same of the experiments that both have?"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from inference.features.library.sets.comparing import (
    CSV_WRITERS,
    TOLERANCES,
    SetReport,
    comparison_head,
)
from inference.features.library.sets.comparison_query import made_report, pairs_of
from inference.models import ExperimentSet
from inference.storage.names import by_name
from inference.web.data_command import DataCommand, write_file

LISTED = 10  # schemes, and experiments, that the output names


class Command(DataCommand):
    """Comparisons of sets in the shell; see the module."""

    help = (
        "Compare two experiment sets: what share of their common experiments repeats, by length and scheme."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("first", metavar="SET")
        parser.add_argument("second", metavar="SET", help="differences are of the first in per cent")
        parser.add_argument(
            "--within",
            type=float,
            choices=TOLERANCES,
            default=5.0,
            help="per cent that numbers may be apart to be the same (default: 5)",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument("--csv", type=Path, metavar="FILE", help="write a table to a file as well")
        parser.add_argument("--by", choices=list(CSV_WRITERS), default="schemes", help="rows of that table")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print how the sets compare."""
        first, second = (by_name(ExperimentSet, options[name]) for name in ("first", "second"))
        report = made_report(first, second)
        if options["csv"] is not None:
            text = CSV_WRITERS[options["by"]](report, comparison_head(first, second))
            write_file(options["csv"], text.encode())
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(first, second, report), ensure_ascii=False))
            return
        self._tell(first, second, report, options["within"])

    def _tell(self, first: ExperimentSet, second: ExperimentSet, report: SetReport, within: float) -> None:
        only = f"{report.only[0]} only in {first.name!r}, {report.only[1]} only in {second.name!r}"
        self.stdout.write(f"{report.n} experiments in both sets, {only}")
        share = report.share(within)
        if share is None:
            return
        self.stdout.write(
            f"  {share:.1f} % within {within:g} %, median difference {report.median:.2f} %, "
            f"mean {report.scores.mape:.2f} %"
        )
        for length in report.lengths:
            self.stdout.write(
                f"  of {length.length} instructions: {length.n}, {length.share(within):.1f} % within "
                f"{within:g} %, mean {length.mean:.2f} %"
            )
        self.stdout.write("schemes that differ most:")
        for scheme in report.schemes[:LISTED]:
            self.stdout.write(
                f"  {scheme.scheme}: {scheme.absolute:.1f} % on average ({scheme.signed:+.1f} %), "
                f"{scheme.n} experiments"
            )
        self.stdout.write("experiments that differ most:")
        for pair in pairs_of(first, second, report.listing.worst[:LISTED]):
            self.stdout.write(
                f"  {pair.experiment}: {pair.first:.3f} and {pair.second:.3f} ({pair.difference:+.1f} %)"
            )


def _as_json(first: ExperimentSet, second: ExperimentSet, report: SetReport) -> dict[str, Any]:
    return {
        "first": first.name,
        "second": second.name,
        "only_first": report.only[0],
        "only_second": report.only[1],
        **report.scores.as_json(),
        "median": report.median,
        "within": dict(zip(map(str, TOLERANCES), report.within, strict=True)),
        "lengths": {
            str(each.length): {"n": each.n, "mean": each.mean, "within": list(each.within)}
            for each in report.lengths
        },
        "schemes": [
            {"scheme": each.scheme, "n": each.n, "signed": each.signed, "absolute": each.absolute}
            for each in report.schemes
        ],
    }
