"""`manage.py compare-latencies`: sets of latencies side by side."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from inference.features.judging.comparing.latencies import (
    USUAL_ORDER,
    chosen_latencies,
    compared_json,
    comparison_of_latencies,
    pairs_table,
)
from inference.features.judging.engine.tables import shell_lines
from inference.models import LatencySet
from inference.storage.names import by_name
from inference.web.data_command import DataCommand
from inference.web.paging import Order


class Command(DataCommand):
    """The counts, then the schemes that differ, the largest differences first; see the module."""

    help = "Compare sets of latencies, pair of operands by pair of operands."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("sets", metavar="SET", nargs="+")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print how the sets compare."""
        names = options["sets"]
        rows = [by_name(LatencySet, name) for name in names]
        compared = comparison_of_latencies(*rows)
        counts = compared.counts()
        schemes = chosen_latencies(compared, rows[0].isa_id, Order.of(USUAL_ORDER), different=True)
        if options["json"]:
            answer = {"sets": names, **counts, "only": compared.only, "differences": compared_json(schemes)}
            self.stdout.write(json.dumps(answer))
            return
        only = (f"{n} only in {name!r}" for name, n in zip(names, compared.only, strict=True))
        shared = "both" if len(rows) == 2 else "several"
        self.stdout.write(
            f"{counts['shared']} schemes in {shared}: {counts['same']} the same, "
            f"{counts['different']} different, {counts['unknown']} not comparable; {', '.join(only)}"
        )
        for line in shell_lines([pairs_table(schemes, names)]):
            self.stdout.write(line)
