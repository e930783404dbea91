"""`manage.py block-sets`: basic-block sets in the shell: the list, one in numbers, new columns, accuracy."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandError

from inference.core.protocols import Json
from inference.features.asking.block_sets.columns import KIND, column_named
from inference.features.asking.block_sets.query import block_sets, columns_of, numbers_of
from inference.features.asking.predictors.modes import add_mode_option
from inference.features.asking.predictors.query import chosen
from inference.features.judging.column_accuracy.accuracy import accuracy_of, baseline_of
from inference.features.judging.engine.gate import DEFAULT_TOLERANCE, GatedCommand
from inference.features.judging.engine.tables import columns_table, shell_lines
from inference.formats.accuracy_baseline import AccuracyBaseline
from inference.models import BasicBlockSet, Run
from inference.runs import lifecycle
from inference.storage.names import by_name


class Command(GatedCommand):
    help = "List basic-block sets; of one, tell its columns, ask for more, or compare them with one of them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", nargs="?", metavar="NAME", help="of a set; without, all are listed")
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--ask",
            action="append",
            metavar="PREDICTOR",
            help="ask it about all blocks, which adds a column; names as `manage.py predictors` lists them",
        )
        what.add_argument("--accuracy", metavar="COLUMN", help="compare all columns with this one")
        add_mode_option(parser)
        _add_gate_options(parser)
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["name"] is None:
            if options["ask"] or options["accuracy"]:
                raise CommandError("name the set")
            _check_gate_options(options)
            return self._list(as_json=options["json"])
        _check_gate_options(options)
        row = by_name(BasicBlockSet, options["name"])
        if options["write_baseline"]:
            return self.write_baseline(_baseline(row, options["accuracy"], options["columns"]), options)
        if options["baseline"]:
            now = _baseline(row, options["accuracy"], [])
            return self.hold_against_baseline(now, options, options["columns"])
        if options["accuracy"]:
            return self._accuracy(row, options["accuracy"], as_json=options["json"])
        if options["ask"]:
            self.do_run(lambda: _asking(row, options["ask"], options["mode"]))
        return self._facts(row, as_json=options["json"])

    def _list(self, *, as_json: bool) -> None:
        listed: Iterable[Any] = block_sets().order_by("-id")  # with their `column_count`
        rows = [
            {"name": row.name, "blocks": row.size, "columns": row.column_count, "source": row.source}
            for row in listed
        ]
        if as_json:
            self.stdout.write(json.dumps({"block_sets": rows}, ensure_ascii=False))
            return
        width = max((len(row["name"]) for row in rows), default=0)
        for row in rows:
            told = f"{row['blocks']:>9,} blocks {row['columns']:>3} columns"
            self.stdout.write(f"{row['name']:<{width}} {told}  {row['source']}".rstrip())

    def _facts(self, row: BasicBlockSet, *, as_json: bool) -> None:
        found = [
            {
                "column": column.name,
                "predictor": None if column.predictor is None else column.predictor.name,
                "numbers": told.numbers,
                "failures": told.failures,
                "not_asked": told.nothing,
                "least": told.least,
                "most": told.most,
            }
            for column, told in numbers_of(row, columns_of(row))
        ]
        if as_json:
            told = {"name": row.name, "blocks": row.size, "columns": found, "report": row.report}
            self.stdout.write(json.dumps(told, ensure_ascii=False))
            return
        self.stdout.write(f"{row.name}: {row.size:,} blocks")
        for one in found:
            range_ = "" if one["least"] is None else f", {one['least']:g} to {one['most']:g} cycles"
            self.stdout.write(
                f"  {one['column']}: {one['numbers']:,} numbers, {one['failures']:,} failures{range_}"
            )

    def _accuracy(self, row: BasicBlockSet, reference: str, *, as_json: bool) -> None:
        found = accuracy_of(row, column_named(row, reference))
        if as_json:
            self.stdout.write(json.dumps(found, ensure_ascii=False))
            return
        numbers = f"a number above 0 for {found['numbers']:,} of {found['blocks']:,} blocks"
        for line in (f"{reference}: {numbers}", *shell_lines([columns_table(found)])):
            self.stdout.write(line)


def _baseline(row: BasicBlockSet, reference: str, only: list[str]) -> AccuracyBaseline:
    column = column_named(row, reference)
    return baseline_of(row, column, accuracy_of(row, column), only)


def _add_gate_options(parser: ArgumentParser) -> None:
    gate = parser.add_mutually_exclusive_group()
    gate.add_argument(
        "--write-baseline", metavar="FILE", default="", help="with --accuracy: keep the scores in a file"
    )
    gate.add_argument(
        "--baseline",
        metavar="FILE",
        default="",
        help="with --accuracy: exit with 2 where a column is worse than this file says, with 1 for errors",
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        metavar="POINTS",
        help=f"percentage points that a MAPE may grow by; default: {DEFAULT_TOLERANCE:g}",
    )
    parser.add_argument("--junit", metavar="FILE", default="", help="write the verdicts as JUnit XML, too")
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        dest="columns",
        metavar="NAME",
        help="keep, or judge, this column alone; may be repeated",
    )


def _check_gate_options(options: dict[str, Any]) -> None:
    """Raise `CommandError` where some of them are of no use together."""
    written, held = options["write_baseline"], options["baseline"]
    if (written or held) and not options["accuracy"]:
        raise CommandError("--write-baseline and --baseline need --accuracy with the column that judges")
    if (options["tolerance"] is not None or options["junit"]) and not held:
        raise CommandError("--tolerance and --junit need --baseline")
    if options["columns"] and not (written or held):
        raise CommandError("--column needs --write-baseline or --baseline")


def _asking(row: BasicBlockSet, names: list[str], mode: str) -> Run:
    rows = [chosen(name, may_choose=True) for name in names]
    config: Json = {"block_set": row.pk, "predictors": [one.pk for one in rows], "mode": mode}
    return lifecycle.submit(KIND, config, lifecycle.unused_name(f"{', '.join(names)} on {row.name}"[:180]))
