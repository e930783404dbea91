"""`manage.py matrix`: how often each two tools disagree about the same basic blocks (Figure 8.1)."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from anica_app.core.search.interestingness import ABSOLUTE, RELATIVE
from anica_app.features.matrices.job import DEFAULT_BLOCKS, DEFAULT_LENGTH, KIND
from inference.core.protocols import Json
from inference.features.asking.block_sets.columns import column_named
from inference.features.asking.predictors.modes import add_mode_option
from inference.features.asking.predictors.query import predictor_row
from inference.models import BasicBlockSet, Run
from inference.runs import lifecycle
from inference.storage.names import by_name
from inference.web.run_command import RunCommand


class Command(RunCommand):
    help = "Ask tools for the same basic blocks, and count how often each two of them disagree."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--predictor",
            action="append",
            default=[],
            dest="predictors",
            metavar="NAME",
            help="as `manage.py predictors` lists them",
        )
        parser.add_argument("--set", metavar="NAME", dest="block_set", help="a basic-block set")
        parser.add_argument(
            "--column", action="append", default=[], dest="columns", metavar="NAME", help="of the set"
        )
        parser.add_argument(
            "--blocks",
            type=int,
            default=DEFAULT_BLOCKS,
            metavar="N",
            help=f"random ones where there is no --set; default: {DEFAULT_BLOCKS:,}",
        )
        parser.add_argument(
            "--length", type=int, default=DEFAULT_LENGTH, metavar="L", help="instructions of random blocks"
        )
        parser.add_argument("--metric", choices=(RELATIVE, ABSOLUTE), default=RELATIVE)
        parser.add_argument("--threshold", type=float, default=0.5, metavar="D", help="default: 0.5")
        add_mode_option(parser)
        parser.add_argument("--json", action="store_true", help="end with one line of JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        run = self.do_run(lambda: _submit(options))
        if options["json"]:
            self.stdout.write(json.dumps({"run": run.pk, **run.result}, ensure_ascii=False))
            return
        names = [column["name"] for column in run.result["columns"]]
        for second, name in enumerate(names):
            for first in range(second):
                both, differing = run.result["both"][second][first], run.result["differing"][second][first]
                share = f"{100 * differing / both:.1f} %" if both else "no block in common"
                self.stdout.write(f"{names[first]} | {name}: {share} ({differing:,} of {both:,} blocks)")


def _submit(options: dict[str, Any]) -> Run:
    row = by_name(BasicBlockSet, options["block_set"]) if options["block_set"] else None
    if row is None and options["columns"]:
        raise CommandError("--column needs --set")
    columns = [] if row is None else [column_named(row, name).pk for name in options["columns"]]
    predictors = [predictor_row(name, may_choose=True).pk for name in options["predictors"]]
    config: Json = {
        "predictors": predictors,
        "block_set": None if row is None else row.pk,
        "columns": columns,
        "blocks": options["blocks"],
        "length": options["length"],
        "mode": options["mode"],
        "interest": {"metric": options["metric"], "threshold": options["threshold"]},
    }
    return lifecycle.submit(KIND, config)
