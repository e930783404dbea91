"""`manage.py compare-sets`: do two sets of measurements say the same of the experiments that both have?"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from inference.core.protocols import Json
from inference.features.judging.comparing.sets import (
    OF_FORMER_FILES,
    ComparedSets,
    compared_sets,
    counts_within,
)
from inference.features.judging.comparing.tables import head_of_pair
from inference.features.judging.engine.differences_view import TOLERANCES
from inference.features.judging.engine.tables import csv_of, shell_lines
from inference.features.judging.engine.views import VIEWS
from inference.models import ExperimentSet
from inference.storage.names import by_name
from inference.web.data_command import DataCommand, write_file

LISTED = 10  # rows of each table that the output has


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
        parser.add_argument("--by", choices=OF_FORMER_FILES, default="schemes", help="rows of that table")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print how the sets compare."""
        compared = compared_sets(
            *(by_name(ExperimentSet, options[name]) for name in ("first", "second")), at_once=True
        )
        assert compared is not None, "it is made at once"
        if options["csv"] is not None:
            (table,) = VIEWS[OF_FORMER_FILES[options["by"]]].tables(compared.question)
            write_file(options["csv"], csv_of(table, head_of_pair(compared.first, compared.second)).encode())
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(compared), ensure_ascii=False))
            return
        names = (compared.first.name, compared.second.name)
        only = ", ".join(f"{n} only in {name!r}" for name, n in zip(names, compared.only, strict=True))
        self.stdout.write(f"{compared.n} experiments in both sets, {only}")
        if compared.closeness is not None:
            within, median = options["within"], compared.agreement.median
            self.stdout.write(
                f"  {compared.closeness.share(within):.1f} % within {within:g} %, median difference "
                f"{median:.2f} %, mean {compared.closeness.mean:.2f} %"
            )
        views = ("within", "differences", "worst")
        for line in shell_lines((VIEWS[name].tables(compared.question)[0] for name in views), LISTED):
            self.stdout.write(line)


def _as_json(compared: ComparedSets) -> Json:
    return {
        "first": compared.first.name,
        "second": compared.second.name,
        **compared.figures(),
        "within": {str(tolerance): n for tolerance, n in counts_within(compared.closeness)},
        "lengths": {
            str(length): {"n": close.n, "mean": close.mean, "within": list(close.within)}
            for length, close in compared.lengths.items()
        },
        "schemes": [asdict(scheme) for scheme in compared.schemes],
    }
