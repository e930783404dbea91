"""`manage.py block-sets`: basic-block sets in the shell: the list, one in numbers, new columns, accuracy."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from inference.core.protocols import Json
from inference.features.asking.block_sets.columns import KIND, column_named
from inference.features.asking.block_sets.query import block_sets, columns_of, numbers_of
from inference.features.asking.predictors.modes import add_mode_option
from inference.features.asking.predictors.query import chosen
from inference.features.judging.column_accuracy.accuracy import accuracy_of
from inference.features.judging.column_accuracy.gate_options import (
    WORSE,
    add_gate_options,
    baseline_now,
    check_gate_options,
    exit_as_error,
    gate_lines,
    held_against,
)
from inference.formats.accuracy_baseline import write_baseline
from inference.models import BasicBlockSet, Run
from inference.runs import lifecycle
from inference.storage.names import by_name
from inference.web.data_command import write_file
from inference.web.run_command import RunCommand


class Command(RunCommand):
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
        add_gate_options(parser)
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["name"] is None:
            if options["ask"] or options["accuracy"]:
                raise CommandError("name the set")
            check_gate_options(options)
            return self._list(as_json=options["json"])
        check_gate_options(options)
        row = by_name(BasicBlockSet, options["name"])
        if options["write_baseline"]:
            return self._write_baseline(row, options)
        if options["baseline"]:
            return self._hold_against(row, options)
        if options["accuracy"]:
            return self._accuracy(row, options["accuracy"], as_json=options["json"])
        if options["ask"]:
            self.do_run(lambda: _asking(row, options["ask"], options["mode"]))
        return self._facts(row, as_json=options["json"])

    def create_parser(self, prog_name: str, subcommand: str, **options: Any) -> CommandParser:
        """As usual, but for the exit status of a wrong option: 2 is for columns that are worse."""
        parser = super().create_parser(prog_name, subcommand, **options)
        parser.exit = partial(exit_as_error, parser.exit)  # type: ignore[method-assign]  # argparse has no other way
        return parser

    def _write_baseline(self, row: BasicBlockSet, options: dict[str, Any]) -> None:
        made = baseline_now(row, options)
        write_file(Path(options["write_baseline"]), write_baseline(made).encode())
        if options["json"]:
            self.stdout.write(json.dumps(made.model_dump(), ensure_ascii=False))
        else:
            self.stdout.write(
                f"{options['write_baseline']}: {len(made.columns)} columns beside {made.reference}"
            )

    def _hold_against(self, row: BasicBlockSet, options: dict[str, Any]) -> None:
        found = held_against(row, options)
        if options["junit"]:
            write_file(Path(options["junit"]), found.as_junit().encode())
        if options["json"]:
            self.stdout.write(json.dumps(found.as_json(), ensure_ascii=False))
        else:
            for line in gate_lines(found):
                self.stdout.write(line)
        if found.worse:
            names = ", ".join(one.name for one in found.worse)
            raise CommandError(f"worse than {options['baseline']}: {names}", returncode=WORSE)

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
            self.stdout.write(json.dumps(found.as_json(), ensure_ascii=False))
            return
        self.stdout.write(f"{reference}: a number above 0 for {found.numbers:,} of {found.blocks:,} blocks")
        for one in found.columns:
            scores = one.scores
            weighted = "" if one.weighted is None else f" ({one.weighted:.2f} % by weight)"
            self.stdout.write(
                f"  {one.name}: {one.answered:,} numbers, {one.failed:,} failures; {scores.n:,} compared, "
                f"MAPE {_told(scores.mape, 2)} %{weighted}, r {_told(scores.pearson, 3)}, "
                f"τ {_told(scores.kendall, 3)}"
            )


def _asking(row: BasicBlockSet, names: list[str], mode: str) -> Run:
    rows = [chosen(name, may_choose=True) for name in names]
    config: Json = {"block_set": row.pk, "predictors": [one.pk for one in rows], "mode": mode}
    return lifecycle.submit(KIND, config, lifecycle.unused_name(f"{', '.join(names)} on {row.name}"[:180]))


def _told(value: float | None, places: int) -> str:
    return "–" if value is None else f"{value:.{places}f}"
