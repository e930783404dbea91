"""`manage.py block-sets`: list basic-block sets, print one, add columns, and compare columns."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandError

from inference.core.protocols import Json
from inference.features.asking.block_sets.columns import KIND, column_named
from inference.features.asking.block_sets.query import block_sets, columns_of, import_table, numbers_of
from inference.features.asking.predictors.modes import add_mode_option
from inference.features.asking.predictors.query import predictor_row
from inference.features.judging.column_accuracy.accuracy import accuracy_of, baseline_of
from inference.features.judging.engine.gate import DEFAULT_TOLERANCE, GatedCommand
from inference.features.judging.engine.tables import columns_table, shell_lines
from inference.formats.accuracy_baseline import AccuracyBaseline
from inference.models import BasicBlockSet, Run
from inference.runs import lifecycle
from inference.storage.names import by_name


class Command(GatedCommand):
    help = "List basic-block sets; for one set, print, add or compare its columns."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", nargs="?", metavar="NAME", help="a set (default: list all)")
        actions = parser.add_mutually_exclusive_group()
        actions.add_argument(
            "--ask",
            action="append",
            metavar="PREDICTOR",
            help="add a column with its predictions; names as `manage.py predictors` lists them",
        )
        actions.add_argument("--accuracy", metavar="COLUMN", help="compare all columns with this one")
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
            return self.check_against_baseline(now, options, options["columns"])
        if options["accuracy"]:
            return self._accuracy(row, options["accuracy"], as_json=options["json"])
        if options["ask"]:
            self.do_run(lambda: _submit_columns(row, options["ask"], options["mode"]))
        return self._facts(row, as_json=options["json"])

    def _list(self, *, as_json: bool) -> None:
        listed: Iterable[Any] = block_sets().order_by("-id")  # with their `column_count`
        rows = [
            {"name": row.name, "blocks": row.size, "columns": row.column_count, "source": row.source}
            for row in listed
        ]
        width = max((len(row["name"]) for row in rows), default=0)
        lines = (
            f"{row['name']:<{width}} {row['blocks']:>9,} blocks {row['columns']:>3} columns  {row['source']}"
            for row in rows
        )
        self.print_answer({"block_sets": rows}, map(str.rstrip, lines), as_json=as_json)

    def _facts(self, row: BasicBlockSet, *, as_json: bool) -> None:
        columns = [
            {
                "column": column.name,
                "predictor": None if column.predictor is None else column.predictor.name,
                "numbers": counts.numbers,
                "failures": counts.failures,
                "not_asked": counts.nothing,
                "least": counts.least,
                "most": counts.most,
            }
            for column, counts in numbers_of(row, columns_of(row))
        ]
        if as_json:
            counts = {"name": row.name, "blocks": row.size, "columns": columns, "report": row.report}
            self.stdout.write(json.dumps(counts, ensure_ascii=False))
            return
        self.stdout.write(f"{row.name}: {row.size:,} blocks")
        for column_facts in columns:
            range_ = (
                ""
                if column_facts["least"] is None
                else f", {column_facts['least']:g} to {column_facts['most']:g} cycles"
            )
            self.stdout.write(
                f"  {column_facts['column']}: {column_facts['numbers']:,} numbers, "
                f"{column_facts['failures']:,} failures{range_}"
            )
        table = import_table(row)
        for line in shell_lines([table]) if table.rows else ():
            self.stdout.write(line)

    def _accuracy(self, row: BasicBlockSet, reference: str, *, as_json: bool) -> None:
        accuracy = accuracy_of(row, column_named(row, reference))
        numbers = f"a number above 0 for {accuracy['numbers']:,} of {accuracy['blocks']:,} blocks"
        lines = (f"{reference}: {numbers}", *shell_lines([columns_table(accuracy)]))
        self.print_answer(accuracy, lines, as_json=as_json)


def _baseline(row: BasicBlockSet, reference: str, only: list[str]) -> AccuracyBaseline:
    column = column_named(row, reference)
    return baseline_of(row, column, accuracy_of(row, column), only)


def _add_gate_options(parser: ArgumentParser) -> None:
    gate = parser.add_mutually_exclusive_group()
    gate.add_argument(
        "--write-baseline", metavar="FILE", default="", help="with --accuracy: write the scores to a file"
    )
    gate.add_argument(
        "--baseline",
        metavar="FILE",
        default="",
        help="with --accuracy: exit with status 2 if a column is worse than in this file, with 1 for errors",
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        metavar="POINTS",
        help=f"percentage points that a MAPE may grow by; default: {DEFAULT_TOLERANCE:g}",
    )
    parser.add_argument("--junit", metavar="FILE", default="", help="also write the verdicts as JUnit XML")
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        dest="columns",
        metavar="NAME",
        help="write or judge only this column; repeatable",
    )


def _check_gate_options(options: dict[str, Any]) -> None:
    """Raises `CommandError` for options that do not fit together."""
    new_baseline, baseline = options["write_baseline"], options["baseline"]
    if (new_baseline or baseline) and not options["accuracy"]:
        raise CommandError("--write-baseline and --baseline need --accuracy with the reference column")
    if (options["tolerance"] is not None or options["junit"]) and not baseline:
        raise CommandError("--tolerance and --junit need --baseline")
    if options["columns"] and not (new_baseline or baseline):
        raise CommandError("--column needs --write-baseline or --baseline")


def _submit_columns(row: BasicBlockSet, names: list[str], mode: str) -> Run:
    rows = [predictor_row(name, may_choose=True) for name in names]
    config: Json = {"block_set": row.pk, "predictors": [predictor.pk for predictor in rows], "mode": mode}
    return lifecycle.submit(KIND, config)
