"""`manage.py conflicts`: who competes with whom in a set of experiments."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from inference.core.pair_conflicts import CONFLICT
from inference.features.judging.conflicts.api import conflicts_json
from inference.features.judging.conflicts.query import SetConflicts, conflicts_in, write_pairs_csv
from inference.features.judging.conflicts.request import ConflictsBy, ConflictsRequest
from inference.formats.provenance import head_of
from inference.models import ExperimentSet
from inference.storage.names import by_name
from inference.web.data_command import DataCommand

NAMED = 4
"""Schemes of a class that are named."""


class Command(DataCommand):
    """Conflicts in the shell; see the module."""

    help = "Who competes with whom, from schemes alone and in pairs; no port mapping is needed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("set", metavar="SET", help="a set of experiments")
        parser.add_argument(
            "--schemes", metavar="FILTER", default="", help="only these, as they are searched"
        )
        parser.add_argument("--classes", action="store_true", help="with --json: rows of classes")
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--csv", action="store_true", help="print all pairs as CSV")
        how.add_argument("--json", action="store_true", help="print the matrix as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the classes, and which of them compete."""
        by = ConflictsBy.CLASSES if options["classes"] else ConflictsBy.SCHEMES
        asked = ConflictsRequest(q=options["schemes"], by=by)
        row = by_name(ExperimentSet, options["set"])
        found = conflicts_in(row, asked)
        if options["json"]:
            self.stdout.write(json.dumps(conflicts_json(row, found, asked), ensure_ascii=False))
        elif options["csv"]:
            head = head_of(**{"experiment set": row.name})
            self.stdout.write(head + write_pairs_csv(found), ending="")
        else:
            self._print(row, found)

    def _print(self, row: ExperimentSet, found: SetConflicts) -> None:
        pairs = len(found.conflicts.pairs)
        self.stdout.write(f"{row.name}: {found.conflicts.competing:,} of {pairs:,} pairs compete")
        classes, shares = found.rows(ConflictsBy.CLASSES)
        for number, (members, line) in enumerate(zip(classes, shares.tolist(), strict=True), 1):
            more = f" and {len(members) - NAMED} more" if len(members) > NAMED else ""
            self.stdout.write(f"{number}: {'; '.join(members[:NAMED])}{more}")
            others = [
                f"{other} ({100 * share:.0f} %)"
                for other, share in enumerate(line, 1)
                if other != number and share >= CONFLICT
            ]
            if others:
                self.stdout.write(f"  competes with {', '.join(others)}")
