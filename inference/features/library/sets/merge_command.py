"""`manage.py merge-sets`: several experiment sets become one."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from inference.features.library.sets.merging import TOLERANCE, Conflicts, plan_merging, said_of, store_merged
from inference.models import ExperimentSet
from inference.storage.names import by_name, free_or_refuse
from inference.web.data_command import DataCommand


class Command(DataCommand):
    """Merging in the shell; see the module."""

    help = "Make a new experiment set of several; they stay as they are."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="of the new set")
        parser.add_argument("sets", metavar="SET", nargs="+", help="in the order in which they count")
        parser.add_argument(
            "--conflicts",
            choices=[each.value for each in Conflicts],
            default=Conflicts.FIRST.value,
            help="where their numbers contradict each other: "
            + "; ".join(f"{each.value}: {each.label}" for each in Conflicts),
        )
        parser.add_argument(
            "--tolerance",
            type=float,
            default=TOLERANCE,
            metavar="PERCENT",
            help=f"numbers may be so far apart without being a contradiction (default: {TOLERANCE:g})",
        )
        parser.add_argument("--note", default="", help="free text kept with it")

    def handle(self, *args: Any, **options: Any) -> None:
        """Merge, and print what was found."""
        conflicts = Conflicts(options["conflicts"])
        sets = [by_name(ExperimentSet, name) for name in options["sets"]]
        free_or_refuse(ExperimentSet, options["name"])
        merging = plan_merging(sets, conflicts, options["tolerance"])
        made = store_merged(
            options["name"], sets, merging, conflicts, options["tolerance"], note=options["note"]
        )
        self.stdout.write(said_of(conflicts, merging))
        self.stdout.write(f"experiment set {made.name!r}: {made.measurements.count()} measurements")
