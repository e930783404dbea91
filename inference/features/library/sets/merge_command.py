"""`manage.py merge-sets`: merges several experiment sets into a new one."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from inference.features.library.sets.merging import TOLERANCE, Conflicts, log_line, plan_merging, store_merged
from inference.models import ExperimentSet
from inference.storage.names import by_name, check_name_free
from inference.web.data_command import DataCommand


class Command(DataCommand):
    help = "Merge several experiment sets into a new one; they stay unchanged."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="name of the new set")
        parser.add_argument("sets", metavar="SET", nargs="+", help="sets in order of priority")
        parser.add_argument(
            "--conflicts",
            choices=[rule.value for rule in Conflicts],
            default=Conflicts.FIRST.value,
            help="if times contradict each other: "
            + "; ".join(f"{rule.value}: {rule.label}" for rule in Conflicts),
        )
        parser.add_argument(
            "--tolerance",
            type=float,
            default=TOLERANCE,
            metavar="PERCENT",
            help=f"maximum difference that is no contradiction (default: {TOLERANCE:g})",
        )
        parser.add_argument("--note", default="", help="free text")

    def handle(self, *args: Any, **options: Any) -> None:
        conflicts = Conflicts(options["conflicts"])
        sets = [by_name(ExperimentSet, name) for name in options["sets"]]
        check_name_free(ExperimentSet, options["name"])
        merging = plan_merging(sets, conflicts, options["tolerance"])
        merged = store_merged(
            options["name"], sets, merging, conflicts, options["tolerance"], note=options["note"]
        )
        self.stdout.write(log_line(conflicts, merging))
        self.stdout.write(f"experiment set {merged.name!r}: {merged.measurements.count()} measurements")
